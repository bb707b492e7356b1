// Sizes on both sides of 2^63 - 1.
#include "dialects/sbp/algebra/Sizes.h"

#include "gtest/gtest.h"

#include <limits>

namespace splitcast::sbp {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

TEST(Sizes, SumsAndProducts) {
  EXPECT_EQ(checkedSum(kMost - 1, 1), kMost);
  EXPECT_EQ(checkedSum(kMost, 1), std::nullopt);
  EXPECT_EQ(checkedProduct(int64_t{1} << 31, int64_t{1} << 31), int64_t{1} << 62);
  EXPECT_EQ(checkedProduct(int64_t{1} << 32, int64_t{1} << 31), std::nullopt);
  EXPECT_EQ(checkedProduct(kMost, 1), kMost);
}

TEST(Sizes, AlignUp) {
  EXPECT_EQ(checkedAlignUp(0, 64), 0);
  EXPECT_EQ(checkedAlignUp(1, 64), 64);
  EXPECT_EQ(checkedAlignUp(64, 64), 64);
  EXPECT_EQ(checkedAlignUp(kMost - 63, 64), kMost - 63);
  EXPECT_EQ(checkedAlignUp(kMost - 62, 64), std::nullopt);
}

TEST(Sizes, Bytes) {
  EXPECT_EQ(checkedBytes({}, 4), 4);
  EXPECT_EQ(checkedBytes({2, 3}, 8), 48);
  EXPECT_EQ(checkedBytes({(int64_t{1} << 61) - 1}, 4), kMost - 3);
  EXPECT_EQ(checkedBytes({int64_t{1} << 61}, 4), std::nullopt);
  // 2^64 elements, which wrap to none.
  EXPECT_EQ(checkedBytes({4, int64_t{1} << 62}, 1), std::nullopt);
  // Empty, but its strides would wrap.
  EXPECT_EQ(checkedBytes({0, 7}, 4), 0);
  EXPECT_EQ(checkedBytes({0, 4, int64_t{1} << 62}, 1), std::nullopt);
  EXPECT_EQ(checkedBytes({int64_t{1} << 62, 0, 4}, 1), std::nullopt);
}

TEST(AlignUpTest, SmallestMultipleNotBelow) {
  for (int64_t alignment : {1, 3, 64})
    for (int64_t value = 0; value < 200; ++value) {
      int64_t aligned = alignUp(value, alignment);
      EXPECT_EQ(aligned % alignment, 0);
      EXPECT_TRUE(aligned >= value && aligned < value + alignment);
    }
}

} // namespace
} // namespace splitcast::sbp
