// The gradient of every differentiable op against central differences of its own meaning, both in f64.
#include "tests/reference/GlobalInterpreter.h"
#include "tests/reference/tests/Fixture.h"
#include "tests/reference/tests/UnaryFunctions.h"

#include <cmath>
#include <set>

namespace splitcast::reference {
namespace {

struct GradientCase {
  std::string op, attributes;
  std::vector<std::string> operands;
  std::string result;
  bool positive = false;  ///< operands must be: logarithms, roots
  int64_t indexLimit = 1; ///< integer operands are below it
};

/// Of a gradient's elements, relative to the larger of the element and 1. Central differences of step 1e-5 are off by
/// 1e-10 times the third derivative, and by rounding, 1e-11.
constexpr double kTolerance = 1e-6;
constexpr double kStep = 1e-5;

/// Functions of one number by themselves: of positive numbers, and of others where they have values there.
std::vector<GradientCase> unaryCases(mlir::MLIRContext &context) {
  std::vector<GradientCase> cases;
  for (std::string shape : {"2x3xf64", "f64", "0x2xf64", "5xf32"}) {
    std::string type = "tensor<" + shape + ">";
    for (const std::string &op : nn::unaryFunctions(context)) {
      cases.push_back({op, "", {type}, type, /*positive=*/true});
      if (op != "nn.log" && op != "nn.sqrt")
        cases.push_back({op, "", {type}, type});
    }
    for (std::string op : {"scale", "shift"})
      cases.push_back({"nn." + op, "value = -1.75 : f64", {type}, type});
    cases.push_back({"nn.gelu", "", {type}, type});
    cases.push_back({"nn.gelu", "tanh", {type}, type});
  }
  for (auto [from, to] : {std::pair("f32", "f64"), {"f64", "f32"}, {"bf16", "f32"}, {"f16", "f16"}})
    cases.push_back({"nn.cast", "", {std::string("tensor<3x") + from + ">"}, std::string("tensor<3x") + to + ">"});
  return cases;
}

/// Conditions are not 0 here: that 0 takes the other, generated graphs have (tests/property).
std::vector<GradientCase> selectCases() {
  const std::vector<std::vector<std::string>> shapes = {{"2x3xf64", "2x3xf64", "2x3xf64", "2x3xf64"},
                                                        {"f64", "2x3xf64", "3xf64", "2x3xf64"},
                                                        {"2x1xf64", "3xf64", "1x1xf64", "2x3xf64"},
                                                        {"f32", "4xf32", "4xf32", "4xf32"},
                                                        {"0x3xf64", "1x3xf64", "0x3xf64", "0x3xf64"}};
  std::vector<GradientCase> cases;
  for (const auto &shape : shapes) {
    const auto type = [&](size_t i) { return "tensor<" + shape[i] + ">"; };
    cases.push_back({"nn.select", "", {type(0), type(1), type(2)}, type(3)});
  }
  return cases;
}

std::vector<GradientCase> binaryCases() {
  const char *shapes[][3] = {{"2x3xf64", "2x3xf64", "2x3xf64"},
                             {"2x3xf64", "3xf64", "2x3xf64"},
                             {"3xf64", "2x3xf64", "2x3xf64"},
                             {"2x1xf64", "1x3xf64", "2x3xf64"},
                             {"f64", "2x2xf64", "2x2xf64"},
                             {"2x2xf64", "f64", "2x2xf64"},
                             {"f64", "f64", "f64"},
                             {"1x1xf64", "1x1xf64", "1x1xf64"},
                             {"2x1x3xf64", "4x1xf64", "2x4x3xf64"},
                             {"1xf64", "3x1xf64", "3x1xf64"},
                             {"0x3xf64", "1x3xf64", "0x3xf64"},
                             {"2x3xf32", "3xf32", "2x3xf32"}};
  std::vector<GradientCase> cases;
  for (std::string op : {"add", "sub", "mul", "div"})
    for (const auto &[lhs, rhs, result] : shapes)
      cases.push_back({"nn." + op,
                       "",
                       {std::string("tensor<") + lhs + ">", std::string("tensor<") + rhs + ">"},
                       std::string("tensor<") + result + ">"});
  return cases;
}

std::vector<GradientCase> shapeCases() {
  return {
      {"nn.reshape", "", {"tensor<2x6xf64>"}, "tensor<3x4xf64>"},
      {"nn.reshape", "", {"tensor<f64>"}, "tensor<1x1xf64>"},
      {"nn.broadcast", "dims = array<i64: 0>", {"tensor<3xf64>"}, "tensor<2x3xf64>"},
      {"nn.broadcast", "dims = array<i64: 0, 2>", {"tensor<2xf64>"}, "tensor<3x2x4xf64>"},
      {"nn.broadcast", "dims = array<i64>", {"tensor<2xf64>"}, "tensor<2xf64>"},
      {"nn.broadcast", "dims = array<i64: 1>", {"tensor<2xf64>"}, "tensor<2x0xf64>"},
      {"nn.slice", "dim = 0 : i64, start = 0 : i64", {"tensor<4xf64>"}, "tensor<4xf64>"},
      {"nn.slice", "dim = 0 : i64, start = 1 : i64", {"tensor<4xf64>"}, "tensor<2xf64>"},
      {"nn.slice", "dim = 1 : i64, start = 2 : i64", {"tensor<2x4x2xf64>"}, "tensor<2x2x2xf64>"},
      {"nn.slice", "dim = 0 : i64, start = 3 : i64", {"tensor<4xf64>"}, "tensor<0xf64>"},
      {"nn.transpose", "permutation = array<i64>", {"tensor<f64>"}, "tensor<f64>"},
      {"nn.transpose", "permutation = array<i64: 1, 0>", {"tensor<2x3xf64>"}, "tensor<3x2xf64>"},
      {"nn.transpose", "permutation = array<i64: 2, 0, 1>", {"tensor<2x3x4xf64>"}, "tensor<4x2x3xf64>"},
      {"nn.transpose", "permutation = array<i64: 1, 3, 0, 2>", {"tensor<2x1x3x2xf64>"}, "tensor<1x2x2x3xf64>"},
      {"nn.transpose", "permutation = array<i64: 1, 0>", {"tensor<0x3xf64>"}, "tensor<3x0xf64>"},
      {"nn.concat", "dim = 0 : i64", {"tensor<2x2xf64>"}, "tensor<2x2xf64>"},
      {"nn.concat", "dim = 1 : i64", {"tensor<2x1xf64>", "tensor<2x3xf64>", "tensor<2x0xf64>"}, "tensor<2x4xf64>"},
      {"nn.reduce_sum", "dims = array<i64>", {"tensor<2xf64>"}, "tensor<2xf64>"},
      {"nn.reduce_sum", "dims = array<i64: 0>", {"tensor<2x3xf64>"}, "tensor<3xf64>"},
      {"nn.reduce_sum", "dims = array<i64: 1>", {"tensor<2x3x2xf64>"}, "tensor<2x2xf64>"},
      {"nn.reduce_sum", "dims = array<i64: 0, 1>", {"tensor<2x3xf64>"}, "tensor<f64>"},
      {"nn.reduce_sum", "dims = array<i64: 0>", {"tensor<0x3xf64>"}, "tensor<3xf64>"},
  };
}

std::vector<GradientCase> productCases() {
  std::vector<GradientCase> cases;
  for (auto [batch, m, n, k] : {std::tuple("", "2", "3", "4"),
                                {"", "1", "1", "1"},
                                {"", "3", "2", "0"},
                                {"3x", "2", "1", "4"},
                                {"2x1x2x", "1", "2", "3"},
                                {"0x", "2", "2", "2"}})
    for (bool ta : {false, true})
      for (bool tb : {false, true}) {
        auto matrix = [batch = batch](std::string rows, std::string columns, bool isTransposed) {
          return std::string("tensor<") + batch + (isTransposed ? columns + "x" + rows : rows + "x" + columns) +
                 "xf64>";
        };
        std::string attributes =
            std::string(ta ? "transpose_a" : "") + (ta && tb ? ", " : "") + (tb ? "transpose_b" : "");
        cases.push_back({"nn.matmul", attributes, {matrix(m, k, ta), matrix(k, n, tb)}, matrix(m, n, false)});
      }
  cases.push_back({"nn.embedding", "", {"tensor<4x3xf64>", "tensor<5xi64>"}, "tensor<5x3xf64>", false, 4});
  cases.push_back({"nn.embedding", "", {"tensor<2x1xf64>", "tensor<2x3xi32>"}, "tensor<2x3x1xf64>", false, 2});
  cases.push_back({"nn.embedding", "", {"tensor<3x2xf64>", "tensor<i32>"}, "tensor<2xf64>", false, 3});
  std::string loss = "nn.softmax_cross_entropy";
  cases.push_back({loss, "", {"tensor<3x5xf64>", "tensor<3xi64>"}, "tensor<3xf64>", false, 5});
  cases.push_back({loss, "", {"tensor<2x2x3xf64>", "tensor<2x2xi32>"}, "tensor<2x2xf64>", false, 3});
  cases.push_back({loss, "", {"tensor<4xf64>", "tensor<i64>"}, "tensor<f64>", false, 4});
  cases.push_back({loss, "", {"tensor<2x1xf64>", "tensor<2xi64>"}, "tensor<2xf64>", false, 1});
  // About every third row is ignored: by a label that is no class, and by one that is.
  cases.push_back({loss, "ignored = 2 : i64", {"tensor<9x2xf64>", "tensor<9xi32>"}, "tensor<9xf64>", false, 3});
  cases.push_back({loss, "ignored = 1 : i64", {"tensor<3x4x3xf64>", "tensor<3x4xi64>"}, "tensor<3x4xf64>", false, 3});
  cases.push_back({loss, "ignored = 0 : i64", {"tensor<2x3xf64>", "tensor<2xi64>"}, "tensor<2xf64>", false, 1});
  return cases;
}

std::vector<GradientCase> rowCases() {
  std::vector<GradientCase> cases;
  for (std::string rows : {"", "4x", "2x1x3x", "0x"})
    for (std::string columns : {"1", "5", "18"}) {
      std::string all = "tensor<" + rows + columns + "xf64>", row = "tensor<" + columns + "xf64>";
      cases.push_back({"nn.softmax", "", {all}, all});
      cases.push_back({"nn.log_sum_exp", "", {all}, rows.empty() ? "tensor<f64>" : "tensor<" + rows + "f64>"});
      cases.push_back({"nn.layer_norm", "epsilon = 0.125 : f64", {all, row, row}, all});
    }
  cases.push_back({"nn.layer_norm",
                   "epsilon = 1.0e-5 : f64",
                   {"tensor<3x7xf64>", "tensor<7xf64>", "tensor<7xf64>"},
                   "tensor<3x7xf64>"});
  cases.push_back({"nn.softmax", "", {"tensor<3x0xf64>"}, "tensor<3x0xf64>"});
  for (std::string rate : {"0.0", "0.25", "0.5"})
    for (std::string shape : {"f64", "40xf64", "3x1x4xf64", "0x2xf64"}) {
      std::string type = "tensor<" + shape + ">";
      cases.push_back({"nn.dropout", "rate = " + rate + " : f64", {type, "tensor<i64>"}, type, false, 1000});
    }
  std::string place = "rate = 0.5 : f64, offsets = array<i64: 2, 1>, global_shape = array<i64: 5, 9>";
  cases.push_back({"nn.dropout", place, {"tensor<3x4xf64>", "tensor<i64>"}, "tensor<3x4xf64>", false, 1000});
  return cases;
}

std::vector<GradientCase> attentionCases() {
  std::vector<GradientCase> cases;
  struct Sizes {
    const char *query, *key, *mask;
  };
  for (Sizes sizes : {Sizes{"2x3x2x2", "2x3x2x2", "2x3"},
                      {"1x2x1x3", "1x4x1x3", "1x4"},
                      {"2x4x1x2", "2x2x1x2", "2x2"},
                      {"1x1x1x1", "1x1x1x1", "1x1"},
                      {"2x2x1x2", "2x0x1x2", "2x0"},
                      {"0x2x1x2", "0x2x1x2", "0x2"}})
    for (bool causal : {false, true})
      for (const char *mask : {"", "i32", "i64"}) {
        std::string query = std::string("tensor<") + sizes.query + "xf64>",
                    key = std::string("tensor<") + sizes.key + "xf64>";
        std::vector<std::string> operands = {query, key, key};
        if (*mask)
          operands.push_back(std::string("tensor<") + sizes.mask + "x" + mask + ">");
        cases.push_back({"nn.attention", std::string(causal ? "causal, " : "") + "scale = 0.75 : f64", operands, query,
                         false, /*indexLimit=*/2});
      }
  return cases;
}

/// Each window of nn.max_pool covers an element: -infinity has no differences. Of random reals no two are equal.
std::vector<GradientCase> windowCases() {
  std::vector<GradientCase> cases;
  const char *plain = "strides = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>";
  const char *apart = "strides = array<i64: 2, 1>, padding = array<i64: 1, 2>, dilation = array<i64: 1, 2>";
  struct Sizes {
    const char *input, *weight, *output, *attributes;
  };
  for (Sizes sizes : {Sizes{"2x2x3x4", "3x2x2x2", "2x3x2x3", plain},
                      {"1x2x4x5", "2x2x3x2", "1x2x2x7", apart},
                      {"2x4x3x2", "6x2x2x2", "2x6x2x1", plain}, // groups
                      {"1x2x2x3", "2x1x1x2", "1x2x2x5", apart},
                      {"1x0x2x2", "2x0x2x2", "1x2x1x1", plain},
                      {"0x1x2x2", "2x1x2x2", "0x2x1x1", plain}}) {
    const auto type = [](const char *shape) { return std::string("tensor<") + shape + "xf64>"; };
    const std::string input = type(sizes.input), weight = type(sizes.weight), output = type(sizes.output);
    cases.push_back({"nn.convolution", sizes.attributes, {input, weight}, output});
    cases.push_back({"nn.convolution_data_grad", sizes.attributes, {output, weight}, input});
    cases.push_back({"nn.convolution_weight_grad", sizes.attributes, {output, input}, weight});
  }
  const std::string two = "kernel = array<i64: 2, 2>, ", wide = "kernel = array<i64: 3, 2>, ";
  cases.push_back({"nn.max_pool", two + plain, {"tensor<2x3x4xf64>"}, "tensor<2x2x3xf64>"});
  cases.push_back({"nn.max_pool", wide + apart, {"tensor<1x2x4x5xf64>"}, "tensor<1x2x2x7xf64>"});
  cases.push_back({"nn.max_pool", two + plain, {"tensor<3x3xf32>"}, "tensor<2x2xf32>"});
  cases.push_back({"nn.max_pool", two + plain, {"tensor<0x2x2xf64>"}, "tensor<0x1x1xf64>"});
  return cases;
}

std::vector<GradientCase> allCases(mlir::MLIRContext &context) {
  std::vector<GradientCase> cases = unaryCases(context);
  for (std::vector<GradientCase> family :
       {binaryCases(), selectCases(), shapeCases(), productCases(), rowCases(), attentionCases(), windowCases()})
    cases.insert(cases.end(), family.begin(), family.end());
  return cases;
}

class GradientsTest : public ReferenceTest {
protected:
  /// At least 0.3 from zero, where relu has a kink and division a pole.
  double nextReal(bool positive) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    double magnitude = 0.3 + 1.4 * (static_cast<double>(state >> 11) / 9007199254740992.0);
    return positive || (state >> 9) % 2 ? magnitude : -magnitude;
  }

  Tensor random(const std::string &typeText, bool positive, int64_t indexLimit) {
    Tensor result = Tensor::zeros(type(typeText));
    for (double &element : result.floats)
      element = nextReal(positive);
    for (int64_t &element : result.integers)
      element = static_cast<int64_t>(nextReal(true) * 1e6) % indexLimit;
    return result;
  }

  /// @gradient: operands and the result's gradient to the gradients of the operands with `needed`.
  mlir::func::FuncOp addGradient(mlir::ModuleOp module, llvm::ArrayRef<bool> needed) {
    auto function = mlir::cast<mlir::func::FuncOp>(module.lookupSymbol("forward")->clone());
    function.setSymName("gradient");
    module.push_back(function);
    mlir::Operation *op = &function.front().front(), *exit = function.front().getTerminator();
    mlir::Value weights = function.front().addArgument(op->getResult(0).getType(), op->getLoc());
    mlir::OpBuilder builder(exit);
    llvm::SmallVector<mlir::Value> gradients =
        mlir::cast<nn::GradientOpInterface>(op).buildGradient(builder, weights, needed);
    llvm::SmallVector<mlir::Value> asked;
    EXPECT_EQ(gradients.size(), op->getNumOperands());
    for (size_t i = 0; i < gradients.size(); ++i) {
      EXPECT_EQ(static_cast<bool>(gradients[i]), needed[i]) << "gradient " << i;
      if (gradients[i])
        asked.push_back(gradients[i]);
    }
    exit->setOperands(asked);
    function.setType(builder.getFunctionType(function.front().getArgumentTypes(), mlir::ValueRange(asked).getTypes()));
    return function;
  }

  std::vector<Tensor> evaluate(mlir::ModuleOp module, const std::string &function, std::vector<Tensor> inputs) {
    InterpreterOptions options;
    options.precision = Precision::F64;
    absl::StatusOr<GlobalInterpreter> interpreter = GlobalInterpreter::create(module, options);
    EXPECT_TRUE(interpreter.ok()) << interpreter.status();
    if (!interpreter.ok())
      return {};
    absl::StatusOr<std::vector<Tensor>> results = interpreter->run(function, std::move(inputs));
    EXPECT_TRUE(results.ok()) << results.status();
    return results.ok() ? *results : std::vector<Tensor>();
  }

  /// The gradient of sum(op(x) * weights) for operand `index`.
  std::vector<double> differences(GlobalInterpreter &interpreter, const std::vector<Tensor> &inputs, size_t index,
                                  const Tensor &weights) {
    std::vector<double> gradient;
    for (size_t element = 0; element < inputs[index].floats.size(); ++element) {
      double change = 0;
      for (double step : {kStep, -kStep}) {
        std::vector<Tensor> moved = inputs;
        moved[index].floats[element] += step;
        absl::StatusOr<std::vector<Tensor>> results = interpreter.run("forward", moved);
        EXPECT_TRUE(results.ok()) << results.status();
        if (!results.ok())
          return {};
        for (size_t i = 0; i < weights.floats.size(); ++i)
          change += (step > 0 ? 1 : -1) * results->front().floats[i] * weights.floats[i];
      }
      gradient.push_back(change / (2 * kStep));
    }
    return gradient;
  }

  /// Checks the gradients of the operands with `needed`.
  void check(const GradientCase &testCase, llvm::ArrayRef<bool> needed) {
    auto module = parse(functionOf("forward", testCase.op, testCase.attributes, testCase.operands, testCase.result));
    ASSERT_TRUE(module);
    std::vector<Tensor> inputs;
    for (const std::string &operand : testCase.operands)
      inputs.push_back(random(operand, testCase.positive, testCase.indexLimit));
    std::vector<Tensor> withWeights = inputs;
    withWeights.push_back(random(testCase.result, false, 1));
    addGradient(*module, needed);
    std::vector<Tensor> gradients = evaluate(*module, "gradient", withWeights);
    InterpreterOptions options;
    options.precision = Precision::F64;
    absl::StatusOr<GlobalInterpreter> interpreter = GlobalInterpreter::create(*module, options);
    ASSERT_TRUE(interpreter.ok()) << interpreter.status();
    size_t next = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!needed[i])
        continue;
      ASSERT_LT(next, gradients.size());
      const Tensor &found = gradients[next++];
      EXPECT_EQ(found.shape, inputs[i].shape);
      EXPECT_EQ(found.elementType, inputs[i].elementType);
      std::vector<double> expected = differences(*interpreter, inputs, i, withWeights.back());
      ASSERT_EQ(found.floats.size(), expected.size());
      for (size_t element = 0; element < expected.size(); ++element)
        EXPECT_NEAR(found.floats[element], expected[element], kTolerance * std::max(1.0, std::abs(expected[element])))
            << "operand " << i << ", element " << element;
    }
  }

  std::vector<bool> differentiable(const GradientCase &testCase) {
    std::vector<bool> result;
    for (const std::string &operand : testCase.operands)
      result.push_back(mlir::isa<mlir::FloatType>(type(operand).getElementType()));
    return result;
  }

  uint64_t state = 88172645463325252u;
};

TEST_F(GradientsTest, EqualCentralDifferences) {
  for (const GradientCase &testCase : allCases(context)) {
    SCOPED_TRACE(testCase.op + " {" + testCase.attributes + "} " + testCase.operands.front() + " -> " +
                 testCase.result);
    std::vector<bool> all = differentiable(testCase);
    check(testCase, llvm::SmallVector<bool>(all.begin(), all.end()));
    if (std::count(all.begin(), all.end(), true) < 2)
      continue;
    // Each alone: what was not asked for stays null.
    for (size_t i = 0; i < all.size(); ++i) {
      llvm::SmallVector<bool> one(all.size(), false);
      one[i] = all[i];
      check(testCase, one);
    }
  }
}

// A new differentiable op without a case fails here.
TEST_F(GradientsTest, EveryDifferentiableOpIsChecked) {
  std::set<std::string> covered;
  for (const GradientCase &testCase : allCases(context))
    covered.insert(testCase.op);
  std::vector<std::string> ops = opsWith<nn::GradientOpInterface>(context, "nn");
  EXPECT_GT(ops.size(), 0u);
  for (const std::string &op : ops)
    EXPECT_TRUE(covered.count(op)) << op << " has no case here";
}

} // namespace
} // namespace splitcast::reference
