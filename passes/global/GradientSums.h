//===- GradientSums.h - The sum of the gradients that the users of a value contribute ------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_GRADIENTSUMS_H
#define SPLITCAST_PASSES_GLOBAL_GRADIENTSUMS_H

#include "dialects/nn/Nn.h"

#include "llvm/ADT/SetVector.h"

namespace splitcast {

/// The sum of gradients of one value and type, in the order in which they are added. Concatenations along one
/// dimension, such as the gradients of slices with zeros around them, are merged into one concatenation, if pieces at
/// the same place have equal lengths, or the longer one is zeros. So the gradient of a value that is cut into slices is
/// written once, and not once per slice. Products of few rows, such as the gradients of a recurrent cell's weights at
/// each step in time, become one product of all rows, if the rows have no more elements than adding would move:
///
///   before   %0 = nn.matmul %a, %b {transpose_a}    a: 4x512, b: 4x128
///            %1 = nn.matmul %c, %d {transpose_a}
///            %2 = nn.add %0, %1
///   after    %0 = nn.concat %c, %a    as 4x2x512, then 8x512
///            %1 = nn.concat %d, %b    as 4x2x128, then 8x128
///            %2 = nn.matmul %0, %1 {transpose_a}
///
/// Rows stay with the sample that has them: samples may be divided among ranks and micro-batches.
class GradientSum {
public:
  /// Adds a gradient. Ops that were merged into another one are inserted into `joined`. Products are joined if
  /// `joinsProducts`.
  void add(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value gradient,
           llvm::SetVector<mlir::Operation *> &joined, bool joinsProducts = false);
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
  void addProducts(mlir::OpBuilder &builder, mlir::Location loc);

  mlir::Value sum;
  nn::ConcatOp first; ///< the first concatenation that is not in `sum` yet
  bool isJoined = false;
  Pieces pieces;                            ///< the pieces of all concatenations that are not in `sum` yet
  llvm::SmallVector<nn::MatmulOp> products; ///< of equal types; not in `sum` yet
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_GRADIENTSUMS_H
