// Sums that no order changes, which blocks of a whole device add up (GpuKernelEmitter.h): after every pass, and as a
// plan whose kernels threads run, what the interpreter gives.
#include "tests/differential/EveryPass.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace splitcast::differential {
namespace {

constexpr const char *kModule = R"(
#p = #sbp.placement<"cuda", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
#B = #sbp.nd<#p, [B]>
func.func @norm(%x: tensor<2xNxf32, #S0>, %y: tensor<5xf32, #B>) -> (tensor<28xf64>, tensor<f64>) {
  %a = nn.square_parts %x : (tensor<2xNxf32, #S0>) -> tensor<28xf64>
  %b = nn.square_parts %y : (tensor<5xf32, #B>) -> tensor<28xf64>
  %c = nn.sum_parts %a, %b : (tensor<28xf64>, tensor<28xf64>) -> tensor<28xf64>
  %t = nn.total_of_parts %c : (tensor<28xf64>) -> tensor<f64>
  return %c, %t : tensor<28xf64>, tensor<f64>
}
func.func @nonfinite(%x: tensor<2xNxf32, #S0>) -> tensor<f64> {
  %n = nn.nonfinite %x : (tensor<2xNxf32, #S0>) -> tensor<f64>
  return %n : tensor<f64>
})";

class ExactSumsTest : public testing::TestWithParam<int64_t> {};

TEST_P(ExactSumsTest, AreWhatTheInterpreterGives) {
  const int64_t extent = GetParam();
  std::unique_ptr<mlir::MLIRContext> context = createContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      absl::StrReplaceAll(kModule, {{"xNx", absl::StrCat("x", extent, "x")}}), context.get());
  ASSERT_TRUE(module);
  std::mt19937 random(11);
  std::uniform_real_distribution<double> exponents(-30, 20);
  Tensor x = Tensor::zeros({2, extent}, mlir::Float32Type::get(context.get()));
  for (double &value : x.floats)
    value = static_cast<float>(std::exp2(exponents(random)));
  Tensor y = Tensor::zeros({5}, mlir::Float32Type::get(context.get()));
  y.floats = {1, -2, 3, 0, 0.5};
  Experiment experiment;
  experiment.calls.push_back({"norm", {x, y}});
  x.floats[7] = std::numeric_limits<double>::infinity();
  experiment.calls.push_back({"norm", {x, y}});
  x.floats[extent] = x.floats.back() = std::numeric_limits<double>::quiet_NaN();
  experiment.calls.push_back({"nonfinite", {x}});
  absl::StatusOr<LevelOutcomes> outcomes = checkEveryPass(*module, experiment, {}, {});
  EXPECT_TRUE(outcomes.ok()) << outcomes.status();
  EXPECT_TRUE(outcomes.ok() && outcomes->plan);
}

// Too few addends on a rank, just enough, and several blocks whose shares do not come out even.
INSTANTIATE_TEST_SUITE_P(Extents, ExactSumsTest, testing::Values(4095, 4096, 12'291));

} // namespace
} // namespace splitcast::differential
