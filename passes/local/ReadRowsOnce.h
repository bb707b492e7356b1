//===- ReadRowsOnce.h - Ops that read a tensor along its rows, one behind the other ----------===//
#ifndef SPLITCAST_PASSES_LOCAL_READROWSONCE_H
#define SPLITCAST_PASSES_LOCAL_READROWSONCE_H

#include "passes/local/DeviceTraits.h"

#include "mlir/IR/Block.h"

namespace splitcast {

/// The last op to read a tensor along its rows moves up behind the one before that does, if its other operands are
/// there already, or can be and are an element per row at most: a kernel then reads the rows once for both, as those of
/// the logits for a loss and its gradient. Casts of its results go with it. What is stored of them takes the tensor's
/// place in memory; an op that stores more bytes, or whose tensor somebody else reads in between or later, is left
/// where it is.
void readRowsOnce(mlir::Block &block, const DeviceTraits &traits);

} // namespace splitcast

#endif // SPLITCAST_PASSES_LOCAL_READROWSONCE_H
