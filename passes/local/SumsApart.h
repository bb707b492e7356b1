//===- SumsApart.h - Sums over rows in kernels of their own ----------------------------------------===//
#ifndef SPLITCAST_PASSES_LOCAL_SUMSAPART_H
#define SPLITCAST_PASSES_LOCAL_SUMSAPART_H

#include "passes/local/DeviceTraits.h"

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseSet.h"

namespace splitcast {

/// Where a device does not sum over rows in the walk that makes them (DeviceTraits::sumsBesideRows): the elementwise
/// ops that only such sums use, of each of which the sum's kernel makes an element when it adds it, so that none lies
/// in memory. They and the sums move down before the next op that is part of no kernel, as a product: what else can be
/// made in the walk over the rows is then made before, and is not kept apart by them.
llvm::DenseSet<mlir::Operation *> sumsApart(mlir::Block &block, const DeviceTraits &traits);

} // namespace splitcast

#endif // SPLITCAST_PASSES_LOCAL_SUMSAPART_H
