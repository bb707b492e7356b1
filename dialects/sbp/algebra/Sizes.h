//===- Sizes.h - Sizes by checked arithmetic, and their alignment ----------===//
//
// Elements and bytes are counted in int64_t. A size that follows from what a user wrote is computed here, by those that
// verify, and is nothing when it is more than 2^63 - 1. What they let pass needs no check again: a rank's piece is no
// larger than its tensor, and a slot ends within its bucket.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_SBP_ALGEBRA_SIZES_H
#define SPLITCAST_DIALECTS_SBP_ALGEBRA_SIZES_H

#include "dialects/sbp/algebra/Signature.h"

#include <optional>

namespace splitcast::sbp {

/// In messages: what a size may be.
inline constexpr char kMostBytesText[] = "2^63 - 1 bytes";

inline std::optional<int64_t> checkedSum(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}

inline std::optional<int64_t> checkedProduct(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}

/// For reports, which add up sizes that are right: what does not fit is the largest that does. Of what is not negative.
inline int64_t cappedSum(int64_t a, int64_t b) { return checkedSum(a, b).value_or(INT64_MAX); }
inline int64_t cappedProduct(int64_t a, int64_t b) { return checkedProduct(a, b).value_or(INT64_MAX); }

/// The least multiple of `alignment`, which is positive, that is not less than `value`, which is not negative.
inline std::optional<int64_t> checkedAlignUp(int64_t value, int64_t alignment) {
  std::optional<int64_t> most = checkedSum(value, alignment - 1);
  return most ? std::optional(*most / alignment * alignment) : std::nullopt;
}

/// The same of a value that is known to be no larger than memory.
inline int64_t alignUp(int64_t value, int64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

/// Every buffer, slot and chunk starts at a multiple of this: a cache line, and a vector of AVX-512.
inline constexpr int64_t kAlignmentBytes = 64;

/// Bytes of a tensor whose extents are not negative. A dimension of extent 0 makes a tensor empty, but not small: the
/// strides of the others are computed too. So it counts as 1 for what is too large.
inline std::optional<int64_t> checkedBytes(const Shape &shape, int64_t elementBytes) {
  std::optional<int64_t> bytes = elementBytes;
  bool isEmpty = false;
  for (int64_t extent : shape) {
    isEmpty |= extent == 0;
    if (bytes && extent > 0)
      bytes = checkedProduct(*bytes, extent);
  }
  return bytes && isEmpty ? 0 : bytes;
}

} // namespace splitcast::sbp

#endif // SPLITCAST_DIALECTS_SBP_ALGEBRA_SIZES_H
