#include "examples/common/ExactSum.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

namespace splitcast {
namespace {

double sumOf(const std::vector<double> &addends) {
  ExactSum sum;
  for (double addend : addends)
    sum.add(addend);
  return sum.value();
}

TEST(ExactSum, SingleAddendsComeBack) {
  constexpr double kMax = std::numeric_limits<double>::max(), kTiny = std::numeric_limits<double>::denorm_min();
  for (double x :
       {0.0, 1.0, -1.0, 0.1, -1e300, 1e-300, kMax, -kMax, kTiny, -kTiny, 1e-310, 4503599627370497.5, 0x1p-1022})
    EXPECT_EQ(sumOf({x}), x);
}

// What plain addition loses.
TEST(ExactSum, NothingIsLost) {
  EXPECT_EQ(sumOf({1e300, 1.0, -1e300}), 1.0);
  EXPECT_EQ(sumOf({1.0, 1e-300, -1.0}), 1e-300);
  EXPECT_EQ(sumOf({0.1, 0.2, -0.3}), 0x1p-55 * 1.0);
  EXPECT_EQ(sumOf({-5e-324, -5e-324}), -1e-323);
}

// Halves go to even; anything beyond a half goes up, however small and far below it is.
TEST(ExactSum, RoundsOnceToEven) {
  EXPECT_EQ(sumOf({1.0, 0x1p-53}), 1.0);
  EXPECT_EQ(sumOf({1.0, 0x1p-53, 0x1p-1074}), 1.0 + 0x1p-52);
  EXPECT_EQ(sumOf({1.0 + 0x1p-52, 0x1p-53}), 1.0 + 0x1p-51);
  EXPECT_EQ(sumOf({-1.0, -0x1p-53, -0x1p-200}), -1.0 - 0x1p-52);
  EXPECT_EQ(sumOf({2.0, -0x1p-54}), 2.0);
  EXPECT_EQ(sumOf({2.0, -0x1p-53, -0x1p-300}), 2.0 - 0x1p-52);
}

TEST(ExactSum, OverflowAndNan) {
  constexpr double kMax = std::numeric_limits<double>::max(), kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(sumOf({kMax, kMax}), kInfinity);
  EXPECT_EQ(sumOf({kMax, kMax, -kMax}), kMax);
  EXPECT_EQ(sumOf({-kMax, -kMax}), -kInfinity);
  EXPECT_TRUE(std::isnan(sumOf({1.0, kInfinity})));
  EXPECT_TRUE(std::isnan(sumOf({std::nan("")})));
}

// Every order and every division over ranks gives the same; against __int128, in which these addends are integers.
TEST(ExactSum, OrderAndDivisionDoNotMatter) {
  std::mt19937_64 random(7);
  std::vector<double> addends;
  __int128 exact = 0;
  for (int i = 0; i < 10'000; ++i) {
    int64_t integer = static_cast<int64_t>(random()) >> (random() % 60);
    integer = static_cast<int64_t>(static_cast<double>(integer >> 11)) * 2048;
    addends.push_back(static_cast<double>(integer));
    exact += integer;
  }
  const double expected = sumOf(addends);
  // Conversion of a 128-bit integer rounds to nearest even, too.
  EXPECT_EQ(expected, static_cast<double>(exact));
  for (size_t ranks : {2, 3, 7}) {
    std::shuffle(addends.begin(), addends.end(), random);
    std::vector<ExactSum> parts(ranks);
    for (size_t i = 0; i < addends.size(); ++i)
      parts[i % ranks].add(addends[i]);
    ExactSum sum;
    for (const ExactSum &part : parts)
      sum.add(ExactSum::decode(part.encode()));
    EXPECT_EQ(sum.value(), expected);
  }
}

TEST(ExactSum, DamagedTextIsNan) {
  EXPECT_TRUE(std::isnan(ExactSum::decode("").value()));
  EXPECT_TRUE(std::isnan(ExactSum::decode("0 1 2").value()));
  EXPECT_EQ(ExactSum::decode(ExactSum().encode()).value(), 0.0);
}

} // namespace
} // namespace splitcast
