// A cross-entropy over classes that ranks divide has the digits of the whole one, however large the logits are: both
// beside the formula in f64.
#include "tests/differential/PassList.h"
#include "tests/reference/GlobalInterpreter.h"
#include "tests/reference/tests/Fixture.h"

#include <cmath>

namespace splitcast::differential {
namespace {

using reference::GlobalInterpreter;
using reference::Tensor;

constexpr int64_t kRows = 6, kClasses = 6;

/// The weights are the identity, so that the logits are %x.
constexpr const char *kModule = R"(
sbp.variable @w : tensor<6x6xf32, #sbp.nd<#sbp.placement<"cpu", [tp = 3]>, [S(1)]>>
func.func @f(%x: tensor<6x6xf32>, %labels: tensor<6xi64>, %g: tensor<6xf32>) -> (tensor<6xf32>, tensor<6x6xf32>) {
  %w = sbp.read @w : tensor<6x6xf32>
  %logits = nn.matmul %x, %w : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
  %loss = nn.softmax_cross_entropy %logits, %labels : (tensor<6x6xf32>, tensor<6xi64>) -> tensor<6xf32>
  %slope = nn.softmax_cross_entropy_grad %g, %logits, %labels : (tensor<6xf32>, tensor<6x6xf32>, tensor<6xi64>) -> tensor<6x6xf32>
  return %loss, %slope : tensor<6xf32>, tensor<6x6xf32>
})";

const std::vector<double> kLogits = {0.5,     -1,       2,        0,     1.5,       -3,     //
                                     1e4,     9999,     9998,     10001, 9999,      1e4,    //
                                     -1e4,    -9999,    -9998,    -1e4,  -9997,     -1e4,   //
                                     1e6,     1e6,      999998.5, 1e6,   999999.25, 999999, //
                                     16384,   16384,    16384,    16384, 16384,     0,      //
                                     0x1p100, -0x1p100, 0x1p100,  0,     1,         0x1p99};
/// The label of row 4 is far below the others.
const std::vector<double> kLabels = {3, 3, 1, 4, 5, 2};

class SplitClassesTest : public testing::Test {
protected:
  void expectFormula(mlir::ModuleOp module) {
    const auto type = [&](const char *text) {
      return mlir::cast<mlir::RankedTensorType>(mlir::parseType(text, context.get()));
    };
    Tensor weights = Tensor::zeros(type("tensor<6x6xf32>")), logits = weights,
           labels = Tensor::zeros(type("tensor<6xi64>")), gradient = Tensor::zeros(type("tensor<6xf32>"));
    for (int64_t i = 0; i < kClasses; ++i)
      weights.floats[i * kClasses + i] = 1;
    logits.floats = kLogits;
    labels.integers.assign(kLabels.begin(), kLabels.end());
    gradient.floats.assign(kRows, 1);
    absl::StatusOr<GlobalInterpreter> interpreter = GlobalInterpreter::create(module);
    ASSERT_TRUE(interpreter.ok()) << interpreter.status();
    interpreter->variables()["w"] = weights;
    absl::StatusOr<std::vector<Tensor>> results = interpreter->run("f", {logits, labels, gradient});
    ASSERT_TRUE(results.ok()) << results.status();
    for (int64_t row = 0; row < kRows; ++row) {
      const double *of = &kLogits[row * kClasses], most = *std::max_element(of, of + kClasses);
      double sum = 0;
      for (int64_t i = 0; i < kClasses; ++i)
        sum += std::exp(of[i] - most);
      const auto label = static_cast<int64_t>(kLabels[row]);
      const double loss = most - of[label] + std::log(sum);
      EXPECT_NEAR((*results)[0].floats[row], loss, 1e-6 * (1 + loss)) << "loss of row " << row;
      for (int64_t i = 0; i < kClasses; ++i)
        EXPECT_NEAR((*results)[1].floats[row * kClasses + i], std::exp(of[i] - most) / sum - (i == label ? 1 : 0), 1e-6)
            << "gradient of row " << row << ", class " << i;
    }
  }

  std::unique_ptr<mlir::MLIRContext> context = createContext();
};

TEST_F(SplitClassesTest, LargeLogitsKeepTheirDigits) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(kModule, context.get());
  ASSERT_TRUE(module);
  expectFormula(*module);
  ASSERT_TRUE(runPass(*module, "nn-split-classes").ok());
  ASSERT_EQ(textOf(*module).find("nn.softmax_cross_entropy %"), std::string::npos) << textOf(*module);
  expectFormula(*module);
}

} // namespace
} // namespace splitcast::differential
