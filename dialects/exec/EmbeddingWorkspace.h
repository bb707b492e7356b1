//===- EmbeddingWorkspace.h - Scratch memory of an embedding's gradient -----------===//
//
// The compiler gives a call this much memory, and the code that runs the call lays it out: both use this file.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_EXEC_EMBEDDINGWORKSPACE_H
#define SPLITCAST_DIALECTS_EXEC_EMBEDDINGWORKSPACE_H

#include "dialects/sbp/algebra/Sizes.h"

#include <cstdint>
#include <optional>

namespace splitcast::exec {

/// Returns the bytes of the workspace in runtime/host/calls, or nothing if they are more than 2^63 - 1. For 16-bit
/// floats it has, per row of the table, the first of the rows that are added to it, and, per row, the next one for the
/// same row of the table, both as an int64_t; and one row of sums in f32. For other types it is empty.
inline std::optional<int64_t> hostEmbeddingGradWorkspace(int64_t rows, int64_t vocabulary, int64_t width,
                                                         int64_t elementBytes) {
  constexpr int64_t kSmallFloat = 2, kFloat = 4, kInteger = 8;
  if (elementBytes > kSmallFloat)
    return 0;
  const std::optional<int64_t> integers = sbp::checkedSum(rows, vocabulary);
  const std::optional<int64_t> chain = integers ? sbp::checkedProduct(*integers, kInteger) : std::nullopt,
                               sums = sbp::checkedProduct(width, kFloat);
  const std::optional<int64_t> bytes = chain && sums ? sbp::checkedSum(*chain, *sums) : std::nullopt;
  return bytes ? sbp::checkedAlignUp(*bytes, sbp::kAlignmentBytes) : std::nullopt;
}

/// Returns the bytes of the workspace on a device that launches threads, or nothing if an i32 cannot count them. It has
/// three i32 for each index (its row of the table, and, sorted, the position and the row), and an i32 for each row of
/// the table and one after the last: where the row's indices begin among the sorted ones.
inline std::optional<int64_t> deviceEmbeddingGradWorkspace(int64_t rows, int64_t vocabulary) {
  constexpr int64_t kWord = 4;
  if (rows >= INT32_MAX || vocabulary >= INT32_MAX)
    return std::nullopt;
  return kWord * (3 * rows + vocabulary + 1);
}

} // namespace splitcast::exec

#endif // SPLITCAST_DIALECTS_EXEC_EMBEDDINGWORKSPACE_H
