// Optimizers and schedules against PyTorch and papers' formulas: 20 updates, on ranks whose parts are ragged, by every
// stage and strategy to the same bits.
#include "tests/differential/Cases.h"
#include "tests/differential/EveryPass.h"
#include "tests/differential/SessionRun.h"

#include "dialects/nn/Optimizers.h"
#include "dialects/nn/RateSchedules.h"

#include "mlir/Parser/Parser.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>

#include <nlohmann/json.hpp>

namespace splitcast::differential {
namespace {

using nlohmann::json;

class OptimizersTest : public testing::Test {
protected:
  static void SetUpTestSuite() {
    std::ifstream file("tests/vectors/optimizers.json");
    ASSERT_TRUE(file) << "tests/vectors/optimizers.json cannot be read";
    document = new json(json::parse(file, nullptr, /*allow_exceptions=*/false));
    ASSERT_FALSE(document->is_discarded());
  }

  /// Two variables, w.a and w.b, that lie in one bucket or by rows, where one problem's elements begin, and slopes.
  struct Problem {
    sbp::Shape a, b;
    const json *numbers;

    int64_t elements() const { return sbp::numElements(a) + sbp::numElements(b); }
  };
  static Problem vectors() { return {{5}, {8}, document}; }
  static Problem matrices() { return {{4, 3}, {2, 5}, &(*document)["matrices"]}; }

  /// tensor<6x5xf32, #S0>, of a shape with or without rows before it.
  static std::string type(const sbp::Shape &shape, const char *signature, const char *rows = "") {
    return absl::StrCat("tensor<", rows, absl::StrJoin(shape, "x"), "xf32", signature, ">");
  }

  /// The text of one variable's part of the loss, %l.a say.
  static std::string slopeOf(const std::string &name, const sbp::Shape &shape) {
    const std::string rows = type(shape, "", "6x"), whole = type(shape, "");
    std::vector<int64_t> dims(shape.size() + 1);
    std::iota(dims.begin(), dims.end(), 0);
    return absl::StrCat("  %w", name, " = sbp.read @w.", name, " : ", whole, "\n  %m", name, " = nn.mul %", name,
                        ", %w", name, " : (", type(shape, ", #S0", "6x"), ", ", whole, ") -> ", rows, "\n  %l", name,
                        " = nn.reduce_sum %m", name, " {dims = array<i64: ", absl::StrJoin(dims, ", "), ">} : (", rows,
                        ") -> tensor<f32>\n");
  }

  mlir::OwningOpRef<mlir::ModuleOp> module(const Problem &of, int64_t ranks, const std::string &optimizer,
                                           const std::string &schedule, const std::string &said = "") {
    const std::string a = type(of.a, ", #B"), b = type(of.b, ", #B");
    const std::string text = absl::StrCat(
        "#p = #sbp.placement<\"cpu\", [dp = ", ranks, "]>\n#S0 = #sbp.nd<#p, [S(0)]>\n#B = #sbp.nd<#p, [B]>\n",
        "module attributes {sbp.placement = #p} {\nsbp.variable @w.a : ", a,
        " init #sbp.constant<0.0>\nsbp.variable @w.b : ", b, " init #sbp.constant<0.0>\nfunc.func @start(%a: ", a,
        ", %b: ", b, ") {\n  sbp.assign @w.a, %a : ", a, "\n  sbp.assign @w.b, %b : ", b,
        "\n  return\n}\nfunc.func @train(%a: ", type(of.a, ", #S0", "6x"), ", %b: ", type(of.b, ", #S0", "6x"),
        ") -> tensor<f32, #B> {\n", slopeOf("a", of.a), slopeOf("b", of.b),
        R"(  %6 = nn.add %la, %lb : (tensor<f32>, tensor<f32>) -> tensor<f32>
  nn.minimize %6 )",
        said, " : tensor<f32> with ", optimizer, schedule.empty() ? "" : absl::StrCat(" schedule ", schedule), R"(
  %7 = sbp.boxing %6 : tensor<f32> -> tensor<f32, #B>
  return %7 : tensor<f32, #B>
}
})");
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    EXPECT_TRUE(module) << text;
    return module;
  }

  Tensor tensor(const sbp::Shape &shape) {
    return Tensor::zeros(mlir::RankedTensorType::get(shape, mlir::Float32Type::get(context.get())));
  }

  /// Columns of rows of all elements, for w.a and for w.b.
  std::vector<Tensor> columns(const Problem &of, const json &rows, bool isWhole = false) {
    const int64_t count = static_cast<int64_t>(rows.size()), first = sbp::numElements(of.a);
    const int64_t second = of.elements() - first;
    std::vector<Tensor> parts;
    for (sbp::Shape shape : {of.a, of.b}) {
      if (!isWhole)
        shape.insert(shape.begin(), count);
      parts.push_back(tensor(shape));
    }
    for (int64_t row = 0; row < count; ++row)
      for (int64_t i = 0; i < of.elements(); ++i)
        (i < first ? parts[0].floats[row * first + i] : parts[1].floats[row * second + i - first]) = rows[row][i];
    return parts;
  }

  std::vector<Call> calls(const Problem &of) {
    std::vector<Call> calls = {{"start", columns(of, json::array({(*of.numbers)["initial"]}), /*isWhole=*/true)}};
    for (const json &slopes : (*of.numbers)["slopes"])
      calls.push_back({"train", columns(of, slopes)});
    return calls;
  }

  /// The largest difference, of the largest magnitude; infinite where a NaN is.
  static double difference(const Problem &of, const Variables &found, const json &expected) {
    double largest = 0, magnitude = 0;
    const int64_t first = sbp::numElements(of.a);
    for (int64_t i = 0; i < of.elements(); ++i) {
      const double x = i < first ? found.at("w.a").floats[i] : found.at("w.b").floats[i - first];
      const double apart = std::abs(x - expected[i].get<double>());
      largest = std::isnan(apart) ? std::numeric_limits<double>::infinity() : std::max(largest, apart);
      magnitude = std::max(magnitude, std::abs(expected[i].get<double>()));
    }
    return largest / magnitude;
  }

  void expectCase(const Problem &problem, const json &of, int64_t ranks,
                  const std::vector<Configuration> &configurations) {
    mlir::OwningOpRef<mlir::ModuleOp> source =
        module(problem, ranks, of["optimizer"], of["schedule"], of.value("clip", std::string()));
    ASSERT_TRUE(source);
    std::optional<Outcome> first;
    for (const Configuration &configuration : configurations) {
      SCOPED_TRACE(absl::StrCat(ranks, " ranks, ", configuration.text()));
      absl::StatusOr<SessionOutcome> run =
          runSessions(*source, calls(problem), configuration, testing::TempDir() + "/objects");
      ASSERT_TRUE(run.ok()) << run.status();
      EXPECT_LE(difference(problem, run->outcome.variables, of["final"]), of.value("within", 1e-6));
      if (!first)
        first = run->outcome;
      absl::Status same = compare(*first, run->outcome, Agreement::Bits);
      EXPECT_TRUE(same.ok()) << same;
    }
  }

  /// Slopes of w.a, in the first of 6 rows; those of w.b are 0.
  Call train(const std::vector<double> &slopes) {
    Call call = {"train", {tensor({6, 5}), tensor({6, 8})}};
    std::copy(slopes.begin(), slopes.end(), call.inputs[0].floats.begin());
    return call;
  }

  /// w.a after the calls, of one rank.
  std::vector<double> after(const std::string &optimizer, const std::string &schedule, const std::vector<Call> &calls) {
    mlir::OwningOpRef<mlir::ModuleOp> source = module(vectors(), 1, optimizer, schedule);
    absl::StatusOr<SessionOutcome> run = runSessions(*source, calls, Configuration(), testing::TempDir() + "/objects");
    EXPECT_TRUE(run.ok()) << run.status();
    return run.ok() ? run->outcome.variables.at("w.a").floats : std::vector<double>(5);
  }

  std::unique_ptr<mlir::MLIRContext> context = createContext();
  static inline json *document = nullptr;
};

TEST_F(OptimizersTest, UpdatesAreThoseOfPyTorchAndPapers) {
  Configuration ends[2];
  ends[0].stage = 0;
  ends[1].stage = 3;
  for (const Problem &problem : {vectors(), matrices()})
    for (const json &of : (*problem.numbers)["cases"]) {
      SCOPED_TRACE(of.dump());
      const bool isScheduled = of["schedule"] != "";
      if (isScheduled) // a scalar, the same at all stages
        expectCase(problem, of, 3, {ends[0], ends[1]});
      else
        expectCase(problem, of, 3, allConfigurations());
    }
}

// 49 times 1 / 49 is less than 1 in f64, which a power of little makes much of.
TEST_F(OptimizersTest, SchedulesEndAtTheirEnd) {
  std::vector<Call> calls(49, train({}));
  calls.push_back(train({1, 0, 0, 0, 0}));
  calls.push_back(train({1, 0, 0, 0, 0}));
  for (const char *schedule : {"#nn.polynomial<steps = 49, power = 0.125, end = 0.25>",
                               "#nn.linear<steps = 49, end = 0.25>", "#nn.cosine<steps = 49, end = 0.25>"})
    EXPECT_EQ(after("#nn.sgd<lr = 1.0>", schedule, calls).front(), -0.5) << schedule;
}

TEST_F(OptimizersTest, LionStepsByTheSignAlsoOfInfinitiesAndHidesNoNaN) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> found =
      after("#nn.lion<lr = 0.5, beta1 = 0.5, beta2 = 0.5>", "", {train({std::nan(""), infinity, -infinity, 2, 0})});
  EXPECT_TRUE(std::isnan(found[0])) << found[0];
  EXPECT_EQ(std::vector<double>(found.begin() + 1, found.end()), (std::vector<double>{-0.5, 0.5, -0.5, 0}));
}

// You and others 2020 divide norms; where one is 0, the step is Adam's.
TEST_F(OptimizersTest, LambStepsAsAdamWhereANormIsZero) {
  const std::string lamb = "#nn.lamb<lr = 0.5, weight_decay = 0.0>";
  const std::vector<double> ofNothing = after(lamb, "", {train({1, 0, 0, 0, -2})});
  EXPECT_NEAR(ofNothing[0], -0.5, 1e-6);
  EXPECT_NEAR(ofNothing[4], 0.5, 1e-6);
  EXPECT_EQ(std::vector<double>(ofNothing.begin() + 1, ofNothing.end() - 1), (std::vector<double>{0, 0, 0}));
  const Call start = calls(vectors()).front();
  EXPECT_EQ(after(lamb, "", {start, train({})}), start.inputs[0].floats);
}

TEST_F(OptimizersTest, MuonLeavesMatricesWithoutSlopes) {
  const Call start = calls(matrices()).front();
  mlir::OwningOpRef<mlir::ModuleOp> source = module(matrices(), 1, "#nn.muon<lr = 0.5, weight_decay = 0.0>", "");
  ASSERT_TRUE(source);
  const Call train = {"train", {tensor({6, 4, 3}), tensor({6, 2, 5})}};
  absl::StatusOr<SessionOutcome> run =
      runSessions(*source, {start, train}, Configuration(), testing::TempDir() + "/objects");
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->outcome.variables.at("w.a").floats, start.inputs[0].floats);
  EXPECT_EQ(run->outcome.variables.at("w.b").floats, start.inputs[1].floats);
}

// An epsilon of 1e-8 is 0 in f16: where the gradient is 0, too, the quotient would be none.
TEST_F(OptimizersTest, F16StaysANumberWhereTheGradientIsZero) {
  auto source = mlir::parseSourceString<mlir::ModuleOp>(R"(#p = #sbp.placement<"cpu", [dp = 2]>
#S0 = #sbp.nd<#p, [S(0)]>
module attributes {sbp.placement = #p} {
sbp.variable @w : tensor<5xf16, #sbp.nd<#p, [B]>> init #sbp.constant<0.5>
func.func @train(%a: tensor<2x5xf16, #S0>) {
  %0 = sbp.read @w : tensor<5xf16>
  %1 = nn.mul %a, %0 : (tensor<2x5xf16, #S0>, tensor<5xf16>) -> tensor<2x5xf16>
  %2 = nn.reduce_sum %1 {dims = array<i64: 0, 1>} : (tensor<2x5xf16>) -> tensor<f16>
  nn.minimize %2 : tensor<f16> with #nn.adam<lr = 0.125>
  return
}
})",
                                                        context.get());
  ASSERT_TRUE(source);
  Tensor slopes = Tensor::zeros(mlir::RankedTensorType::get({2, 5}, mlir::Float16Type::get(context.get())));
  slopes.floats[0] = 1;
  slopes.floats[2] = -2;
  for (int stage : {0, 3}) {
    Configuration configuration;
    configuration.stage = stage;
    absl::StatusOr<SessionOutcome> run =
        runSessions(*source, {{"train", {slopes}}}, configuration, testing::TempDir() + "/objects");
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_EQ(run->outcome.variables.at("w").floats, (std::vector<double>{0.375, 0.5, 0.625, 0.5, 0.5})) << stage;
  }
}

TEST_F(OptimizersTest, EachIsInTheVectors) {
  const std::string all = (*document)["cases"].dump() + (*document)["matrices"]["cases"].dump();
  for (const std::string &name : nn::detail::optimizers().all())
    EXPECT_TRUE(absl::StrContains(all, absl::StrCat("#nn.", name, "<"))) << name;
  for (const std::string &name : nn::detail::rates().all())
    EXPECT_TRUE(absl::StrContains(all, absl::StrCat("#nn.", name, "<"))) << name;
}

} // namespace
} // namespace splitcast::differential
