//===- ReadRowsOnce.h - Moves ops that read a tensor along its rows next to each other ----------===//
#ifndef SPLITCAST_PASSES_LOCAL_READROWSONCE_H
#define SPLITCAST_PASSES_LOCAL_READROWSONCE_H

#include "passes/local/DeviceTraits.h"

#include "mlir/IR/Block.h"

namespace splitcast {

/// Moves the last op that reads a tensor along its rows up behind the previous op that does, if its other operands
/// exist there already, or can be moved there and have at most one element per row. A kernel then reads the rows once
/// for both, for example the logits for a loss and its gradient. Casts of its results move with it. Its stored results
/// take the tensor's place in memory; an op that stores more bytes, or whose tensor another op reads in between or
/// later, does not move.
void readRowsOnce(mlir::Block &block, const DeviceTraits &traits);

} // namespace splitcast

#endif // SPLITCAST_PASSES_LOCAL_READROWSONCE_H
