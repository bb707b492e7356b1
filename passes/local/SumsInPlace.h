//===- SumsInPlace.h - Sums that a rank reads where they were made ---------------------===//
//
// A reduce-scatter adds up in its operand. What the rank keeps, its block of it, leaves the bucket as a rule, so that
// the rest of the bucket is free. Where nothing but updates (and scalars) runs, and no more than one other sum starts,
// until the block has been read for the last time, it stays: the bucket lives some kernels longer, and no bytes are
// taken for the block while the reduction is under way.
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
  /// Of a function's only block, with the fences of its phases.
  explicit SumsInPlace(mlir::Block &block);

  /// Whether what the collective keeps stays in its operand.
  bool contains(mlir::Operation *collective) const { return found.contains(collective); }

private:
  llvm::DenseSet<mlir::Operation *> found;
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_LOCAL_SUMSINPLACE_H
