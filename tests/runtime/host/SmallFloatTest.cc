// bf16 and f16: every number there is, and what lies between neighbours.
#include "runtime/api/SmallFloat.h"

#include <cmath>
#include <gtest/gtest.h>

namespace splitcast::runtime {
namespace {

/// What the bits stand for, from IEEE 754's formula.
template <int kExponentBits> double valueOf(uint16_t bits) {
  constexpr int fractionBits = 15 - kExponentBits, bias = (1 << (kExponentBits - 1)) - 1;
  const int exponent = (bits & 0x7fff) >> fractionBits, fraction = bits & ((1 << fractionBits) - 1);
  const double magnitude = exponent == 0 ? std::ldexp(fraction, 1 - bias - fractionBits)
                                         : std::ldexp(fraction + (1 << fractionBits), exponent - bias - fractionBits);
  return bits & 0x8000 ? -magnitude : magnitude;
}

template <typename Small, int kExponentBits> void checkAll() {
  constexpr int infinity = ((1 << kExponentBits) - 1) << (15 - kExponentBits);
  for (int sign : {0, 0x8000})
    for (int magnitude = 0; magnitude < infinity; ++magnitude) {
      const auto bits = static_cast<uint16_t>(sign | magnitude);
      const float value = Small::widen(bits);
      ASSERT_EQ(value, valueOf<kExponentBits>(bits)) << bits;
      ASSERT_EQ(std::signbit(value), sign != 0) << bits;
      ASSERT_EQ(Small::round(value), bits);
      // The next one would be infinity's place, where this is the largest: numbers from halfway on are infinite.
      const auto halfway = static_cast<float>((valueOf<kExponentBits>(bits) + valueOf<kExponentBits>(bits + 1)) / 2);
      const float away = sign ? -INFINITY : INFINITY;
      ASSERT_EQ(Small::round(halfway), magnitude % 2 == 0 ? bits : bits + 1) << bits;
      ASSERT_EQ(Small::round(std::nextafter(halfway, 0.0F)), bits);
      ASSERT_EQ(Small::round(std::nextafter(halfway, away)), bits + 1) << bits;
    }
  EXPECT_EQ(Small::widen(infinity), INFINITY);
  EXPECT_EQ(Small::round(-INFINITY), 0x8000 | infinity);
  for (float nan : {std::nanf(""), floatOf(0x7f800001), floatOf(0xffffffff)})
    EXPECT_TRUE(std::isnan(Small::widen(Small::round(nan))));
  EXPECT_TRUE(std::isnan(Small::widen(infinity + 1)));
}

TEST(SmallFloatTest, BF16) { checkAll<BFloat16, 8>(); }
TEST(SmallFloatTest, F16) { checkAll<Float16, 5>(); }

} // namespace
} // namespace splitcast::runtime
