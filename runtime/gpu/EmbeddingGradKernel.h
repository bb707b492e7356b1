//===- EmbeddingGradKernel.h - Rows that a table's rows get, added ---------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_GPU_EMBEDDINGGRADKERNEL_H
#define SPLITCAST_RUNTIME_GPU_EMBEDDINGGRADKERNEL_H

#include "runtime/api/ElementType.h"

#include <cstdint>
#include <string>

namespace splitcast::runtime {

/// The kernel @embedding_grad (gradient [rows, width], ids [rows], table [vocabulary, width]): each row of the table is
/// the sum of those of the gradient that have its number, in their order; small floats are added in f32, and rounded
/// once. Sizes are at least 1.
///
/// A block makes 64 rows of the table. It goes through the indices twice, in parts of a warp each: to count those that
/// name its rows, and to list them in order. Then a warp goes through the list for each row, with the sums of up to
/// 1,024 columns in registers. Where more occur than a list holds (4,096), a warp goes through all indices instead:
/// right, and slow.
struct EmbeddingGradKernel {
  int64_t rows = 0, vocabulary = 0, width = 0;
  ElementType type = ElementType::F32, index = ElementType::I64;

  std::string module() const;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_GPU_EMBEDDINGGRADKERNEL_H
