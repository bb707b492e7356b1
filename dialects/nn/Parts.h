//===- Parts.h - Indexed dimensions that are divided among ranks ------------------------===//
//
// Common code of the ops of NnIndexed.td: a rank's part of the indexed dimension begins at `first`, and the whole
// dimension has `places` elements.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_NN_PARTS_H
#define SPLITCAST_DIALECTS_NN_PARTS_H

#include "dialects/nn/Nn.h"

namespace splitcast::nn {

/// Verifies that either both `first` and `places` are present, and the part of `extent` places lies within all, or
/// neither is. Emits an error on the op, in which `what` says what the places are (rows, classes).
mlir::LogicalResult verifyPart(mlir::Operation *op, llvm::StringRef what, int64_t extent, std::optional<int64_t> first,
                               std::optional<int64_t> places);

/// Sets `first` and `places` for a piece that begins at offsets[dim] of dimension `dim` of a tensor of `shape`, unless
/// the piece has the whole dimension.
template <typename Op>
void setPiece(Op op, int64_t dim, int64_t extent, llvm::ArrayRef<int64_t> offsets, llvm::ArrayRef<int64_t> shape) {
  if (shape[dim] == extent)
    return;
  op.setFirst(op.getFirst().value_or(0) + offsets[dim]);
  if (!op.getPlaces())
    op.setPlaces(shape[dim]);
}

/// Builds the element of a tensor at these indices; in dimension `dim` the tensor begins at index `first`. The result
/// is 0 where the tensor has no such element.
mlir::Value elementOfPart(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value tensor,
                          llvm::SmallVector<mlir::Value> at, int64_t dim, int64_t first);

} // namespace splitcast::nn

#endif // SPLITCAST_DIALECTS_NN_PARTS_H
