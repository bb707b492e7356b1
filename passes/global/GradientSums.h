//===- GradientSums.h - The sum of the gradients that the users of a value contribute ------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_GRADIENTSUMS_H
#define SPLITCAST_PASSES_GLOBAL_GRADIENTSUMS_H

#include "dialects/nn/Nn.h"

#include "llvm/ADT/SetVector.h"

namespace splitcast {

/// The sum of gradients of one value and type, in the order in which they are added. Concatenations along one
/// dimension, such as the gradients of slices with zeros around them, are merged into one concatenation, if pieces at
/// the same place have equal lengths, or the longer one is zeros. So the gradient of a value that is cut into slices is
/// written once, and not once per slice.
class GradientSum {
public:
  /// Adds a gradient. Concatenations that were merged into another one are inserted into `joined`.
  void add(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value gradient,
           llvm::SetVector<mlir::Operation *> &joined);
  /// Returns the sum; null if no gradient was added.
  mlir::Value get(mlir::OpBuilder &builder, mlir::Location loc);

  /// Erases those of `joined` that have no users.
  static void erase(llvm::ArrayRef<mlir::Operation *> joined);

private:
  /// A piece of a concatenation, along its dimension.
  struct Piece {
    int64_t extent;
    mlir::Value value; ///< null: zeros
  };
  using Pieces = llvm::SmallVector<Piece>;

  static Pieces piecesOf(nn::ConcatOp concat);
  bool join(mlir::OpBuilder &builder, mlir::Location loc, Pieces others);
  void addPieces(mlir::OpBuilder &builder, mlir::Location loc);

  mlir::Value sum;
  nn::ConcatOp first; ///< the first concatenation that is not in `sum` yet
  bool isJoined = false;
  Pieces pieces; ///< the pieces of all concatenations that are not in `sum` yet
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_GRADIENTSUMS_H
