//===- EmbeddingGradKernel.h - The kernel for the gradient of an embedding table -------------------------------===//
#ifndef SPLITCAST_RUNTIME_GPU_EMBEDDINGGRADKERNEL_H
#define SPLITCAST_RUNTIME_GPU_EMBEDDINGGRADKERNEL_H

#include "runtime/api/ElementType.h"

#include <cstdint>
#include <string>

namespace splitcast::runtime {

/// Makes the kernel @embedding_grad. Its arguments are gradient [rows, width], ids [rows], table [vocabulary, width],
/// and a workspace of i32 [workspaceWords]. Each row of the table becomes the sum of the rows of the gradient whose id
/// names it. bf16 and f16 are added in f32 and rounded once. All sizes are at least 1.
///
/// The kernel first sorts the indices: it counts for each those that come before it. This takes rows^2 comparisons; a
/// GPU makes 16,384^2 of them in some 40 us. Then one warp adds the rows of the gradient for a row of the table, in
/// their order, if there are at most kMostAlone of them. If there are more, kPieces warps add one piece each, in order,
/// and the sums of the pieces are added in order. So the order is the same on every rank and in every part of a table.
struct EmbeddingGradKernel {
  int64_t rows = 0, vocabulary = 0, width = 0;
  int64_t first = 0; ///< where the table begins in a larger table; indices outside of this table add nothing
  ElementType type = ElementType::F32, index = ElementType::I64;

  static constexpr int64_t kMostAlone = 64, kPieces = 16;

  int64_t workspaceWords() const { return 3 * rows + vocabulary + 1; }
  /// Returns the kernel as the text of an MLIR module.
  std::string module() const;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_GPU_EMBEDDINGGRADKERNEL_H
