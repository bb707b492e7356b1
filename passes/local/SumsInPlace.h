//===- SumsInPlace.h - Sums that stay in their bucket ---------------------===//
//
// A reduce-scatter sums in its operand. As a rule the result, this rank's block, is put outside of the bucket, so that
// the bucket's bytes are free afterwards. The block stays in the bucket if, until it has been read for the last time,
// only updates (and scalars) are computed and at most one other sum starts: the bucket is then live for some kernels
// longer, and the block takes no other bytes while the reduction is under way.
//
//   %a = ccl.reduce_scatter "w" %bucket
//   %x = nn.matmul ...
//   %1 = ccl.wait %a                        the block of %bucket; else bytes of its own, from the start on
//   %2 = nn.fusion(%w, %1) { nn.sub }       an update
//   ccl.assign @w, %2
//   %y = nn.matmul ...                      here %bucket is free
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_LOCAL_SUMSINPLACE_H
#define SPLITCAST_PASSES_LOCAL_SUMSINPLACE_H

#include "mlir/IR/Block.h"

#include "llvm/ADT/DenseSet.h"

namespace splitcast {

class SumsInPlace {
public:
  /// Analyzes a function's only block, with the fences of its phases.
  explicit SumsInPlace(mlir::Block &block);

  /// Whether the collective's result stays in its operand.
  bool contains(mlir::Operation *collective) const { return found.contains(collective); }

private:
  llvm::DenseSet<mlir::Operation *> found;
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_LOCAL_SUMSINPLACE_H
