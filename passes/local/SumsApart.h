//===- SumsApart.h - Sums over rows as separate kernels ----------------------------------------===//
#ifndef SPLITCAST_PASSES_LOCAL_SUMSAPART_H
#define SPLITCAST_PASSES_LOCAL_SUMSAPART_H

#include "passes/local/DeviceTraits.h"

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseSet.h"

namespace splitcast {

/// For a device that does not sum over rows in the walk that makes them (DeviceTraits::sumsBesideRows), returns the
/// elementwise ops that only such sums use. The sum's kernel computes each of their elements when it adds it, so that
/// their results never lie in memory. These ops and the sums move down to before the next op that is part of no kernel,
/// such as a product: other results of the walk over the rows are then made before them, and the sums do not split that
/// walk.
llvm::DenseSet<mlir::Operation *> sumsApart(mlir::Block &block, const DeviceTraits &traits);

} // namespace splitcast

#endif // SPLITCAST_PASSES_LOCAL_SUMSAPART_H
