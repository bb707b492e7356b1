//===- Sizes.h - Sizes by checked arithmetic, and their alignment ----------===//
//
// Elements and bytes are counted in int64_t. Verifiers compute sizes that follow from a user's input with these
// functions, which return nothing when a size is more than 2^63 - 1. Later code need not check again: a rank's piece is
// no larger than its tensor, and a slot ends within its bucket.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_SBP_ALGEBRA_SIZES_H
#define SPLITCAST_DIALECTS_SBP_ALGEBRA_SIZES_H

#include "dialects/sbp/algebra/Signature.h"

#include <optional>

namespace splitcast::sbp {

/// The largest size, for messages.
inline constexpr char kMostBytesText[] = "2^63 - 1 bytes";

inline std::optional<int64_t> checkedSum(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}

inline std::optional<int64_t> checkedProduct(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}

/// For reports, which add up verified sizes: a result that does not fit becomes INT64_MAX. Operands are not negative.
inline int64_t cappedSum(int64_t a, int64_t b) { return checkedSum(a, b).value_or(INT64_MAX); }
inline int64_t cappedProduct(int64_t a, int64_t b) { return checkedProduct(a, b).value_or(INT64_MAX); }

/// Returns the least multiple of `alignment` that is not less than `value`. `alignment` is positive, `value` not
/// negative.
inline std::optional<int64_t> checkedAlignUp(int64_t value, int64_t alignment) {
  std::optional<int64_t> most = checkedSum(value, alignment - 1);
  return most ? std::optional(*most / alignment * alignment) : std::nullopt;
}

/// The same for a value that is known to be no larger than memory.
inline int64_t alignUp(int64_t value, int64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

/// Every buffer, slot and chunk starts at a multiple of this: the size of a cache line and of an AVX-512 vector.
inline constexpr int64_t kAlignmentBytes = 64;

/// Returns the bytes of a tensor whose extents are not negative, or nothing if they are too many. A dimension of extent
/// 0 makes a tensor empty, but counts as 1 for this limit, because the strides of the other dimensions are computed,
/// too.
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
