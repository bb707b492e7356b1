//===- EmbeddingGradKernel.h - Rows that a table's rows get, added ---------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_GPU_EMBEDDINGGRADKERNEL_H
#define SPLITCAST_RUNTIME_GPU_EMBEDDINGGRADKERNEL_H

#include "runtime/api/ElementType.h"

#include <cstdint>
#include <string>

namespace splitcast::runtime {

/// The kernel @embedding_grad (gradient [rows, width], ids [rows], table [vocabulary, width], positions [rows], which
/// are i32): each row of the table is the sum of those of the gradient that have its number, in their order; small
/// floats are added in f32, and rounded once. Sizes are at least 1.
///
/// A block makes 64 rows of the table. Its threads go through the indices twice, a row and a fourth of the indices
/// each: to count, and to list the positions of each row, in order; the lists of all blocks together are one sort of
/// the indices, in `positions`. Then a warp adds what is listed for a row, up to 1,024 columns at once.
struct EmbeddingGradKernel {
  int64_t rows = 0, vocabulary = 0, width = 0;
  int64_t first = 0; ///< of a larger table, where the rows begin; indices elsewhere are nobody's
  ElementType type = ElementType::F32, index = ElementType::I64;

  std::string module() const;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_GPU_EMBEDDINGGRADKERNEL_H
