//===- GradientSums.h - The sum of what users of a value give as its gradient ------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_GRADIENTSUMS_H
#define SPLITCAST_PASSES_GLOBAL_GRADIENTSUMS_H

#include "dialects/nn/Nn.h"

#include "llvm/ADT/SetVector.h"

namespace splitcast {

/// Gradients of one value and type, added in the order in which they come; but concatenations along one dimension, as
/// those of slices are with zeros around, become one, where two of their pieces that meet are equally long, or the
/// longer is of zeros. So the gradient of what is cut into slices is written once, and not once per slice.
class GradientSum {
public:
  /// `joined` is given the concatenations that are part of another one.
  void add(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value gradient,
           llvm::SetVector<mlir::Operation *> &joined);
  /// Null where there was none.
  mlir::Value get(mlir::OpBuilder &builder, mlir::Location loc);

  /// Erases those that nothing uses.
  static void erase(llvm::ArrayRef<mlir::Operation *> joined);

private:
  /// Of a concatenation, along its dimension.
  struct Piece {
    int64_t extent;
    mlir::Value value; ///< null: zeros
  };
  using Pieces = llvm::SmallVector<Piece>;

  static Pieces piecesOf(nn::ConcatOp concat);
  bool join(mlir::OpBuilder &builder, mlir::Location loc, Pieces others);
  void addPieces(mlir::OpBuilder &builder, mlir::Location loc);

  mlir::Value sum;
  nn::ConcatOp first; ///< of those that are not in `sum` yet
  bool isJoined = false;
  Pieces pieces; ///< of all of these
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_GRADIENTSUMS_H
