// What initializers make of small floats, on ranks that each hold a part: the doubles of the same seed and name,
// rounded once, and within what the initializer says.
#include "tests/differential/SessionRun.h"

#include "tests/reference/Rounding.h"

#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

namespace splitcast::differential {
namespace {

/// Every variable that is read trains, so that stage 3 stores it split, and Adam keeps state of its type.
constexpr const char *kModule = R"(
#p = #sbp.placement<"cpu", [dp = 3]>
#B = #sbp.nd<#p, [B]>
sbp.variable @constant : tensor<7xTYPE, #B> init #sbp.constant<0.3>
sbp.variable @infinite : tensor<5xTYPE, #B> init #sbp.constant<0x7FF0000000000000 : f64> frozen
sbp.variable @large : tensor<5xTYPE, #B> init #sbp.constant<1.0e300> frozen
sbp.variable @normal : tensor<100x31xTYPE, #B> init #sbp.normal<mean = 0.5, stddev = 2.0>
sbp.variable @uniform : tensor<20000xTYPE, #B> init #sbp.uniform<0.3, 1.0>
func.func @read() -> tensor<f32> {
  %c = sbp.read @constant : tensor<7xTYPE>
  %n = sbp.read @normal : tensor<100x31xTYPE>
  %u = sbp.read @uniform : tensor<20000xTYPE>
  %0 = nn.reduce_sum %c {dims = array<i64: 0>} : (tensor<7xTYPE>) -> tensor<TYPE>
  %1 = nn.reduce_sum %n {dims = array<i64: 0, 1>} : (tensor<100x31xTYPE>) -> tensor<TYPE>
  %2 = nn.reduce_sum %u {dims = array<i64: 0>} : (tensor<20000xTYPE>) -> tensor<TYPE>
  %3 = nn.add %0, %1 : (tensor<TYPE>, tensor<TYPE>) -> tensor<TYPE>
  %4 = nn.add %3, %2 : (tensor<TYPE>, tensor<TYPE>) -> tensor<TYPE>
  %5 = nn.cast %4 : (tensor<TYPE>) -> tensor<f32>
  nn.minimize %5 : tensor<f32> with #nn.adam<lr = 0.01, beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-8>
  return %5 : tensor<f32>
})";

class InitializersTest : public testing::TestWithParam<std::pair<const char *, reference::Format>> {
protected:
  Variables initialOf(const std::string &type) {
    std::string text = kModule;
    for (size_t at = text.find("TYPE"); at != std::string::npos; at = text.find("TYPE"))
      text.replace(at, 4, type);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    EXPECT_TRUE(module);
    Configuration configuration;
    configuration.stage = 3;
    absl::StatusOr<SessionOutcome> run = runSessions(*module, {}, configuration, testing::TempDir() + "/objects");
    EXPECT_TRUE(run.ok()) << run.status();
    return run.ok() ? run->initial : Variables();
  }

  std::unique_ptr<mlir::MLIRContext> context = createContext();
};

TEST_P(InitializersTest, SmallFloatsAreTheDoublesRoundedOnce) {
  auto [type, format] = GetParam();
  Variables wide = initialOf("f64"), small = initialOf(type);
  ASSERT_EQ(wide.size(), 5U);
  ASSERT_EQ(small.size(), 5U);
  int64_t below = 0;
  for (const auto &[name, doubles] : wide)
    for (size_t i = 0; i < doubles.floats.size(); ++i) {
      const double rounded = reference::roundTo(format, doubles.floats[i]), actual = small[name].floats[i];
      if (name != "uniform" || (rounded >= 0.3 && rounded < 1.0)) {
        ASSERT_EQ(actual, rounded) << name << ", element " << i;
        continue;
      }
      ++below; // else an end that is not of the interval would be reached
      ASSERT_GE(actual, 0.3) << i;
      ASSERT_LT(actual, 1.0) << i;
      ASSERT_NEAR(actual, rounded, 0.005) << i;
    }
  EXPECT_GT(below, 0);
}

INSTANTIATE_TEST_SUITE_P(Types, InitializersTest,
                         testing::Values(std::pair("bf16", reference::Format::BF16),
                                         std::pair("f16", reference::Format::F16)));

} // namespace
} // namespace splitcast::differential
