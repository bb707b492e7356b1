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
#include "gtest/gtest.h"

#include <cmath>
#include <fstream>

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

  /// Two variables, of the first 5 and the other 8 elements, that lie in one bucket or by rows.
  mlir::OwningOpRef<mlir::ModuleOp> module(int64_t ranks, const std::string &optimizer, const std::string &schedule,
                                           const std::string &clip) {
    const std::string text = absl::StrCat(
        "#p = #sbp.placement<\"cpu\", [dp = ", ranks, "]>\n#S0 = #sbp.nd<#p, [S(0)]>\n#B = #sbp.nd<#p, [B]>\n",
        R"(module attributes {sbp.placement = #p} {
sbp.variable @w.a : tensor<5xf32, #B> init #sbp.constant<0.0>
sbp.variable @w.b : tensor<8xf32, #B> init #sbp.constant<0.0>
func.func @start(%a: tensor<5xf32, #B>, %b: tensor<8xf32, #B>) {
  sbp.assign @w.a, %a : tensor<5xf32, #B>
  sbp.assign @w.b, %b : tensor<8xf32, #B>
  return
}
func.func @train(%a: tensor<6x5xf32, #S0>, %b: tensor<6x8xf32, #S0>) -> tensor<f32, #B> {
  %0 = sbp.read @w.a : tensor<5xf32>
  %1 = sbp.read @w.b : tensor<8xf32>
  %2 = nn.mul %a, %0 : (tensor<6x5xf32, #S0>, tensor<5xf32>) -> tensor<6x5xf32>
  %3 = nn.mul %b, %1 : (tensor<6x8xf32, #S0>, tensor<8xf32>) -> tensor<6x8xf32>
  %4 = nn.reduce_sum %2 {dims = array<i64: 0, 1>} : (tensor<6x5xf32>) -> tensor<f32>
  %5 = nn.reduce_sum %3 {dims = array<i64: 0, 1>} : (tensor<6x8xf32>) -> tensor<f32>
  %6 = nn.add %4, %5 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  nn.minimize %6 )",
        clip, " : tensor<f32> with ", optimizer, schedule.empty() ? "" : absl::StrCat(" schedule ", schedule), R"(
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

  /// Columns of rows of 13, for w.a and for w.b.
  std::vector<Tensor> columns(const json &rows) {
    const int64_t count = static_cast<int64_t>(rows.size());
    std::vector<Tensor> parts = {tensor({count, 5}), tensor({count, 8})};
    for (int64_t row = 0; row < count; ++row)
      for (int64_t i = 0; i < 13; ++i)
        (i < 5 ? parts[0].floats[row * 5 + i] : parts[1].floats[row * 8 + i - 5]) = rows[row][i];
    return parts;
  }

  std::vector<Call> calls() {
    std::vector<Tensor> initial = columns(json::array({(*document)["initial"]}));
    initial[0].shape = {5};
    initial[1].shape = {8};
    std::vector<Call> calls = {{"start", initial}};
    for (const json &slopes : (*document)["slopes"])
      calls.push_back({"train", columns(slopes)});
    return calls;
  }

  /// The largest difference, of the largest magnitude.
  static double difference(const Variables &found, const json &expected) {
    double largest = 0, magnitude = 0;
    for (int64_t i = 0; i < 13; ++i) {
      const double x = i < 5 ? found.at("w.a").floats[i] : found.at("w.b").floats[i - 5];
      largest = std::max(largest, std::abs(x - expected[i].get<double>()));
      magnitude = std::max(magnitude, std::abs(expected[i].get<double>()));
    }
    return largest / magnitude;
  }

  void expectCase(const json &of, int64_t ranks, const std::vector<Configuration> &configurations) {
    mlir::OwningOpRef<mlir::ModuleOp> source =
        module(ranks, of["optimizer"], of["schedule"], of.value("clip", std::string()));
    ASSERT_TRUE(source);
    std::optional<Outcome> first;
    for (const Configuration &configuration : configurations) {
      SCOPED_TRACE(absl::StrCat(ranks, " ranks, ", configuration.text()));
      absl::StatusOr<SessionOutcome> run =
          runSessions(*source, calls(), configuration, testing::TempDir() + "/objects");
      ASSERT_TRUE(run.ok()) << run.status();
      EXPECT_LE(difference(run->outcome.variables, of["final"]), 1e-6);
      if (!first)
        first = run->outcome;
      absl::Status same = compare(*first, run->outcome, Agreement::Bits);
      EXPECT_TRUE(same.ok()) << same;
    }
  }

  std::unique_ptr<mlir::MLIRContext> context = createContext();
  static inline json *document = nullptr;
};

TEST_F(OptimizersTest, UpdatesAreThoseOfPyTorchAndPapers) {
  Configuration ends[2];
  ends[0].stage = 0;
  ends[1].stage = 3;
  for (const json &of : (*document)["cases"]) {
    SCOPED_TRACE(of.dump());
    const bool isScheduled = of["schedule"] != "";
    if (isScheduled) // a scalar, the same at all stages
      expectCase(of, 3, {ends[0], ends[1]});
    else
      expectCase(of, 3, allConfigurations());
  }
}

TEST_F(OptimizersTest, EachIsInTheVectors) {
  const std::string all = (*document)["cases"].dump();
  for (const std::string &name : nn::detail::optimizers().all())
    EXPECT_TRUE(absl::StrContains(all, absl::StrCat("#nn.", name, "<"))) << name;
  for (const std::string &name : nn::detail::rates().all())
    EXPECT_TRUE(absl::StrContains(all, absl::StrCat("#nn.", name, "<"))) << name;
}

} // namespace
} // namespace splitcast::differential
