// Rows that are a block's and not a warp's (GpuKernelEmitter.h): after every pass, and as a plan whose kernels threads
// run, what the interpreter gives.
#include "tests/differential/EveryPass.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>
#include <random>

namespace splitcast::differential {
namespace {

/// Sums and elements of rows of one kernel, some rows of few elements beside them, and sums that are made along two
/// dimensions.
constexpr const char *kModule = R"(
#p = #sbp.placement<"cuda", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
func.func @rows(%x: tensor<3xNxf32, #S0>, %y: tensor<3xi64, #S0>, %g: tensor<3xf32, #S0>, %w: tensor<Nxf32, #B>,
                %z: tensor<3x2xNxf32, #S0>)
    -> (tensor<3xf32, #S0>, tensor<3xNxf32, #S0>, tensor<3xNxf32, #S0>, tensor<3xf32, #S0>, tensor<3xf32, #S0>) {
  %e = nn.softmax_cross_entropy %x, %y {classes = 4000 : i64} : (tensor<3xNxf32, #S0>, tensor<3xi64, #S0>) -> tensor<3xf32, #S0>
  %d = nn.softmax_cross_entropy_grad %g, %x, %y {classes = 4000 : i64} : (tensor<3xf32, #S0>, tensor<3xNxf32, #S0>, tensor<3xi64, #S0>) -> tensor<3xNxf32, #S0>
  %n = nn.layer_norm %x, %w, %w {epsilon = 1.0e-5 : f64} : (tensor<3xNxf32, #S0>, tensor<Nxf32, #B>, tensor<Nxf32, #B>) -> tensor<3xNxf32, #S0>
  %r = nn.reduce_sum %n {dims = array<i64: 1>} : (tensor<3xNxf32, #S0>) -> tensor<3xf32, #S0>
  %s = nn.reduce_sum %z {dims = array<i64: 1, 2>} : (tensor<3x2xNxf32, #S0>) -> tensor<3xf32, #S0>
  return %e, %d, %n, %r, %s : tensor<3xf32, #S0>, tensor<3xNxf32, #S0>, tensor<3xNxf32, #S0>, tensor<3xf32, #S0>, tensor<3xf32, #S0>
})";

Tensor randomTensor(const sbp::Shape &shape, mlir::MLIRContext &context) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Tensor tensor = Tensor::zeros(shape, mlir::Float32Type::get(&context));
  for (double &value : tensor.floats)
    value = static_cast<float>(uniform(random));
  return tensor;
}

/// The longest row of a warp, the shortest of a block, and some that take more rounds than a thread keeps in registers,
/// the last one with whole vectors or not.
class LongRowsTest : public testing::TestWithParam<int64_t> {};

TEST_P(LongRowsTest, AreWhatTheInterpreterGives) {
  const int64_t extent = GetParam();
  std::unique_ptr<mlir::MLIRContext> context = createContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      absl::StrReplaceAll(kModule, {{"xNx", absl::StrCat("x", extent, "x")}, {"<Nx", absl::StrCat("<", extent, "x")}}),
      context.get());
  ASSERT_TRUE(module);
  Tensor labels = Tensor::zeros({3}, mlir::IntegerType::get(context.get(), 64));
  labels.integers = {0, 3999, 1234};
  Experiment experiment;
  experiment.calls.push_back({"rows",
                              {randomTensor({3, extent}, *context), labels, randomTensor({3}, *context),
                               randomTensor({extent}, *context), randomTensor({3, 2, extent}, *context)}});
  absl::StatusOr<LevelOutcomes> outcomes = checkEveryPass(*module, experiment, {}, {});
  EXPECT_TRUE(outcomes.ok()) << outcomes.status();
  EXPECT_TRUE(outcomes.ok() && outcomes->plan);
}

INSTANTIATE_TEST_SUITE_P(Extents, LongRowsTest, testing::Values(4096, 4097, 18'436, 18'437));

} // namespace
} // namespace splitcast::differential
