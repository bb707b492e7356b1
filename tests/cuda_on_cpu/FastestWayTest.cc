// What is chosen is faster, and has the first way's bits.
#include "runtime/cuda/FastestWay.h"

#include "absl/status/status.h"

#include <gtest/gtest.h>
#include <vector>

namespace splitcast::runtime {
namespace {

constexpr int64_t kBytes = (int64_t{16} << 20) + 5; // more than is compared at once

/// Writes `times` times, the last time `value`; into the last byte `last`.
Way writes(int times, int value, int last) {
  return [=](void *result, cudaStream_t stream) {
    for (int i = 0; i < times; ++i)
      if (cudaMemsetAsync(result, i + 1 == times ? value : 99, kBytes - 1, stream) != cudaSuccess)
        return absl::InternalError("not written");
    return cudaMemsetAsync(static_cast<char *>(result) + kBytes - 1, last, 1, stream) == cudaSuccess
               ? absl::OkStatus()
               : absl::InternalError("not written");
  };
}
Way fails() {
  return [](void *, cudaStream_t) { return absl::UnimplementedError("not for these sizes"); };
}

TEST(FastestWayTest, IsFasterAndHasTheFirstsBits) {
  const Way slow = writes(40, 7, 1);
  EXPECT_EQ(*fastestOfSameBits({slow, writes(1, 7, 1)}, kBytes), 1U);
  EXPECT_EQ(*fastestOfSameBits({slow, writes(1, 7, 2), fails(), writes(10, 7, 1), writes(1, 8, 1)}, kBytes), 3U);
}

TEST(FastestWayTest, ElseItIsTheFirst) {
  EXPECT_EQ(*fastestOfSameBits({writes(40, 7, 1), writes(1, 7, 2)}, kBytes), 0U);
  EXPECT_EQ(*fastestOfSameBits({writes(1, 7, 1), writes(40, 7, 1)}, kBytes), 0U);
  EXPECT_EQ(*fastestOfSameBits({fails()}, kBytes), 0U);
  EXPECT_FALSE(fastestOfSameBits({fails(), writes(1, 7, 1)}, kBytes).ok());
}

TEST(FastestWayTest, WithoutMemoryItIsTheFirst) {
  EXPECT_EQ(*fastestOfSameBits({writes(40, 7, 1), writes(1, 7, 1)}, int64_t{1} << 60), 0U);
}

} // namespace
} // namespace splitcast::runtime
