#include "runtime/host/communicator/TreeSum.h"

#include "runtime/api/SmallFloat.h"

#include <algorithm>
#include <cstring>

namespace splitcast::runtime {
namespace {

/// How many elements go through the tree at a time if partial sums need memory:
/// 2 KiB of f64.
constexpr int64_t kBlockElements = 256;

int64_t largestPowerOfTwoBelow(int64_t count) {
  int64_t power = 1;
  while (2 * power < count)
    power *= 2;
  return power;
}

// In the loops below, element i of `out` depends only on element i of the
// addends. The pragma says so. Without it, the compiler would not vectorize
// where `out` is one of the addends.

template <typename T> void sumTwo(T *out, const T *a, const T *b, int64_t elements) {
#pragma clang loop vectorize(assume_safety) interleave(enable)
  for (int64_t i = 0; i < elements; ++i)
    out[i] = a[i] + b[i];
}

template <typename T> void sumThree(T *out, const T *a, const T *b, const T *c, int64_t elements) {
#pragma clang loop vectorize(assume_safety) interleave(enable)
  for (int64_t i = 0; i < elements; ++i)
    out[i] = (a[i] + b[i]) + c[i];
}

template <typename T> void sumFour(T *out, const T *a, const T *b, const T *c, const T *d, int64_t elements) {
#pragma clang loop vectorize(assume_safety) interleave(enable)
  for (int64_t i = 0; i < elements; ++i)
    out[i] = (a[i] + b[i]) + (c[i] + d[i]);
}

/// Returns the address of element `begin` of addend `index`.
template <typename T> const T *addend(const void *const *addends, int64_t index, int64_t begin) {
  return static_cast<const T *>(addends[index]) + begin;
}

/// Sums at most four addends, from their element `begin` on.
template <typename T> void sumFew(T *out, const void *const *addends, int64_t count, int64_t begin, int64_t elements) {
  const T *a = addend<T>(addends, 0, begin);
  if (count == 1) {
    if (out != a)
      std::memcpy(out, a, elements * sizeof(T));
    return;
  }
  const T *b = addend<T>(addends, 1, begin);
  if (count == 2)
    return sumTwo(out, a, b, elements);
  const T *c = addend<T>(addends, 2, begin);
  if (count == 3)
    return sumThree(out, a, b, c, elements);
  sumFour(out, a, b, c, addend<T>(addends, 3, begin), elements);
}

/// Sums any number of addends, for at most kBlockElements elements. Both
/// subtrees are complete before `out`, which may be an addend, is written.
template <typename T>
void sumBlock(T *out, const void *const *addends, int64_t count, int64_t begin, int64_t elements) {
  if (count <= 4)
    return sumFew(out, addends, count, begin, elements);
  alignas(64) T left[kBlockElements], right[kBlockElements];
  int64_t leftCount = largestPowerOfTwoBelow(count);
  sumBlock(left, addends, leftCount, begin, elements);
  sumBlock(right, addends + leftCount, count - leftCount, begin, elements);
  sumTwo(out, left, right, elements);
}

template <typename T> void sumAll(T *out, const void *const *addends, int64_t count, int64_t elements) {
  if (count <= 4)
    return sumFew(out, addends, count, 0, elements);
  for (int64_t begin = 0; begin < elements; begin += kBlockElements)
    sumBlock(out + begin, addends, count, begin, std::min(kBlockElements, elements - begin));
}

/// Sums bf16 or f16 without rounding, for at most kBlockElements elements.
template <typename Small>
void sumWidened(float *out, const void *const *addends, int64_t count, int64_t begin, int64_t elements) {
  if (count == 1) {
    const uint16_t *from = addend<uint16_t>(addends, 0, begin);
    for (int64_t i = 0; i < elements; ++i)
      out[i] = Small::widen(from[i]);
    return;
  }
  alignas(64) float right[kBlockElements];
  int64_t leftCount = largestPowerOfTwoBelow(count);
  sumWidened<Small>(out, addends, leftCount, begin, elements);
  sumWidened<Small>(right, addends + leftCount, count - leftCount, begin, elements);
  sumTwo(out, out, right, elements);
}

template <typename Small> void sumSmall(uint16_t *out, const void *const *addends, int64_t count, int64_t elements) {
  for (int64_t begin = 0; begin < elements; begin += kBlockElements) {
    alignas(64) float sums[kBlockElements];
    const int64_t length = std::min(kBlockElements, elements - begin);
    sumWidened<Small>(sums, addends, count, begin, length);
    for (int64_t i = 0; i < length; ++i)
      out[begin + i] = Small::round(sums[i]);
  }
}

} // namespace

void treeSum(ElementType type, void *out, const void *const *addends, int64_t count, int64_t elements) {
  switch (type) {
  case ElementType::F64:
    return sumAll(static_cast<double *>(out), addends, count, elements);
  case ElementType::BF16:
    return sumSmall<BFloat16>(static_cast<uint16_t *>(out), addends, count, elements);
  case ElementType::F16:
    return sumSmall<Float16>(static_cast<uint16_t *>(out), addends, count, elements);
  default:
    return sumAll(static_cast<float *>(out), addends, count, elements);
  }
}

} // namespace splitcast::runtime
