#include "tests/reference/Rounding.h"
#include "tests/reference/tests/Fixture.h"

#include "llvm/ADT/APFloat.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace splitcast::reference {
namespace {

double byApFloat(double value, const llvm::fltSemantics &semantics) {
  llvm::APFloat number(value);
  bool losesInfo;
  number.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToDouble();
}

/// Doubles of all sizes about the formats' limits, and every tie between two neighbours.
std::vector<double> samples() {
  std::vector<double> values = {0.0, -0.0, 65504.0, 65519.99, 65520.0, 3.3895313892515355e38, 3.4e38, 1e300};
  uint64_t state = 1;
  for (int i = 0; i < 200000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    double significand = 1.0 + static_cast<double>(state >> 12) / 4503599627370496.0;
    if (i % 3 == 0) // few bits: ties
      significand = 1.0 + std::floor((significand - 1.0) * 4096) / 4096;
    int exponent = static_cast<int>((state >> 3) % 300) - 150;
    values.push_back(std::ldexp(state % 2 ? significand : -significand, exponent));
  }
  return values;
}

TEST(RoundingTest, AgreesWithLlvmForEveryFormat) {
  for (double value : samples()) {
    ASSERT_EQ(roundTo(Format::BF16, value), byApFloat(value, llvm::APFloat::BFloat())) << value;
    ASSERT_EQ(roundTo(Format::F16, value), byApFloat(value, llvm::APFloat::IEEEhalf())) << value;
    ASSERT_EQ(roundTo(Format::F32, value), byApFloat(value, llvm::APFloat::IEEEsingle())) << value;
    ASSERT_EQ(roundTo(Format::F64, value), value);
  }
  EXPECT_TRUE(std::signbit(roundTo(Format::BF16, -0.0)));
  EXPECT_TRUE(std::isnan(roundTo(Format::F16, std::numeric_limits<double>::quiet_NaN())));
}

TEST(RoundingTest, ExtendsIntegers) {
  EXPECT_EQ(signExtend(0xFFFFFFFF, 32), -1);
  EXPECT_EQ(signExtend(int64_t{1} << 32, 32), 0);
  EXPECT_EQ(signExtend(1, 1), -1);
  EXPECT_EQ(signExtend(-5, 64), -5);
  EXPECT_EQ(zeroExtend(-1, 32), 0xFFFFFFFFu);
  EXPECT_EQ(zeroExtend(-1, 64), ~uint64_t{0});
}

} // namespace
} // namespace splitcast::reference
