//===- Parts.h - Places that indices name, divided among ranks ------------------------===//
//
// What the ops of NnIndexed.td have in common: a rank's part of the places begins at `first`, of `places` in all.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_NN_PARTS_H
#define SPLITCAST_DIALECTS_NN_PARTS_H

#include "dialects/nn/Nn.h"

namespace splitcast::nn {

/// Error on the op unless both are there, and the part of `extent` places (rows, classes: `what`) lies within all; or
/// neither is.
mlir::LogicalResult verifyPart(mlir::Operation *op, llvm::StringRef what, int64_t extent, std::optional<int64_t> first,
                               std::optional<int64_t> places);

/// Sets them to a piece of dimension `dim` that begins at offsets[dim] of a tensor of `shape`, unless it is all of it.
template <typename Op>
void setPiece(Op op, int64_t dim, int64_t extent, llvm::ArrayRef<int64_t> offsets, llvm::ArrayRef<int64_t> shape) {
  if (shape[dim] == extent)
    return;
  op.setFirst(op.getFirst().value_or(0) + offsets[dim]);
  if (!op.getPlaces())
    op.setPlaces(shape[dim]);
}

/// The element of a tensor at these indices, of which that of dimension `dim` counts from `first` on; 0 where the
/// tensor has no such place.
mlir::Value elementOfPart(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value tensor,
                          llvm::SmallVector<mlir::Value> at, int64_t dim, int64_t first);

} // namespace splitcast::nn

#endif // SPLITCAST_DIALECTS_NN_PARTS_H
