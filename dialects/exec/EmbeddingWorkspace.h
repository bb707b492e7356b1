//===- EmbeddingWorkspace.h - Scratch memory of an embedding's gradient -----------===//
//
// The compiler gives a call as much, and what runs the call lays it out: both read it here.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_EXEC_EMBEDDINGWORKSPACE_H
#define SPLITCAST_DIALECTS_EXEC_EMBEDDINGWORKSPACE_H

#include "dialects/sbp/algebra/Sizes.h"

#include <cstdint>
#include <optional>

namespace splitcast::exec {

/// Bytes in runtime/host/calls: of small floats, the first of the rows that a row of the table gets, for each of these
/// the next, both as an int64_t, and a row of sums in f32; else none. Nothing: more than 2^63 - 1.
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

/// Bytes of the workspace on a device that launches threads: for each index three i32 (its row, and sorted the position
/// and the row), and for each row of the table, and behind the last, where its indices begin among the sorted ones, an
/// i32. Nothing: more than can be counted so.
inline std::optional<int64_t> deviceEmbeddingGradWorkspace(int64_t rows, int64_t vocabulary) {
  constexpr int64_t kWord = 4;
  if (rows >= INT32_MAX || vocabulary >= INT32_MAX)
    return std::nullopt;
  return kWord * (3 * rows + vocabulary + 1);
}

} // namespace splitcast::exec

#endif // SPLITCAST_DIALECTS_EXEC_EMBEDDINGWORKSPACE_H
