//===- ReadRowsOnce.h - Ops that read a tensor along its rows, one behind the other ----------===//
#ifndef SPLITCAST_PASSES_LOCAL_READROWSONCE_H
#define SPLITCAST_PASSES_LOCAL_READROWSONCE_H

#include "passes/local/DeviceTraits.h"

#include "mlir/IR/Block.h"

namespace splitcast {

/// The last op to read a tensor along its rows moves up behind the one before that does, if its other operands are
/// there already: a kernel then reads the rows once for both, as those of the logits for a loss and its gradient. A
/// result that is as large as the tensor takes its place in memory, no more; larger ones are left where they are.
void readRowsOnce(mlir::Block &block, const DeviceTraits &traits);

} // namespace splitcast

#endif // SPLITCAST_PASSES_LOCAL_READROWSONCE_H
