//===- EmbeddingGradKernel.h - Rows that a table's rows get, added ---------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_GPU_EMBEDDINGGRADKERNEL_H
#define SPLITCAST_RUNTIME_GPU_EMBEDDINGGRADKERNEL_H

#include "runtime/api/ElementType.h"

#include <cstdint>
#include <string>

namespace splitcast::runtime {

/// The kernel @embedding_grad (gradient [rows, width], ids [rows], table [vocabulary, width], workspace
/// [workspaceWords], of i32): each row of the table is the sum of those of the gradient that have its number; small
/// floats are added in f32, and rounded once. Sizes are at least 1.
///
/// Indices are sorted first, by a count of those that come before each: rows^2 comparisons, of which a GPU makes
/// 16,384^2 in some 40 us. Then a warp adds up to kMostAlone rows in their order. Of a row of the table that gets more,
/// each of kPieces warps adds a piece, in order, and the pieces' sums are added in order: the same order on every rank
/// and in every part of a table.
struct EmbeddingGradKernel {
  int64_t rows = 0, vocabulary = 0, width = 0;
  int64_t first = 0; ///< of a larger table, where the rows begin; indices elsewhere are nobody's
  ElementType type = ElementType::F32, index = ElementType::I64;

  static constexpr int64_t kMostAlone = 64, kPieces = 16;

  int64_t workspaceWords() const { return 3 * rows + vocabulary + 1; }
  std::string module() const;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_GPU_EMBEDDINGGRADKERNEL_H
