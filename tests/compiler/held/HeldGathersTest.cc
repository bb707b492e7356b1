// Functions that keep what they gather: fewer ops in later runs, never another result.
#include "compiler/Pipelines.h"
#include "compiler/graph/Graph.h"
#include "compiler/launch/Session.h"
#include "dialects/exec/Exec.h"
#include "runtime/executor/Executor.h"
#include "tests/differential/Bytes.h"
#include "tests/differential/Oracle.h"
#include "tests/differential/PassList.h"
#include "tests/differential/Sessions.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace splitcast {
namespace {

constexpr int64_t kRows = 7, kInputs = 5; // ragged over 3 ranks

std::string modelText(int64_t ranks) {
  Graph graph({"cpu", {{"dp", ranks}}});
  graph.function("train");
  Tensor x = graph.input("x", ElementType::F32, {kRows, kInputs}, split(0));
  Tensor loss = mean(mul(linear(gelu(linear(x, "a", 11)), "b", 3), Tensor(linear(x, "c", 3))));
  graph.minimize(loss, Adam{0.1});
  graph.output("loss", loss);
  graph.function("predict");
  Tensor row = graph.input("x", ElementType::F32, {1, kInputs});
  graph.output("y", boxTo(linear(gelu(linear(row, "a", 11)), "b", 3), broadcast()));
  return *graph.text();
}

CompileOptions optionsOf(int64_t holdBytes, sbp::Strategy strategy) {
  CompileOptions options;
  options.zero.policy.setStage(3).setStrategy(strategy);
  options.zero.holdGathersBytes = holdBytes;
  options.zero.oneCopy = sbp::OneCopy::No; // else nothing is gathered
  return options;
}

struct Counter : runtime::ExecutorObserver {
  void before(mlir::Operation *op, int64_t, runtime::Stream &) override {
    collectives += mlir::isa<exec::CollectiveOp>(op);
  }
  int64_t collectives = 0;
};

class HeldGathers : public testing::TestWithParam<std::tuple<int64_t, sbp::Strategy>> {};

TEST_P(HeldGathers, AreLeftOutUntilSomethingElseRuns) {
  const int64_t ranks = std::get<0>(GetParam());
  const sbp::Strategy strategy = std::get<1>(GetParam());
  std::string text = modelText(ranks);
  const std::string file = testing::TempDir() + "/held_" + std::to_string(ranks) + std::to_string(int(strategy));
  std::vector<Counter> counters(ranks);
  const auto sessionOptions = [&](int64_t rank) {
    SessionOptions options;
    options.compile = optionsOf(1 << 20, strategy);
    options.observer = &counters[rank];
    return options;
  };
  absl::Status status =
      differential::onSessions(ranks, text, sessionOptions, [&](Session &session, runtime::Communicator &communicator) {
        Counter &counter = counters[communicator.rank()];
        absl::Status status;
        auto collectivesOf = [&](const std::string &function) {
          counter.collectives = 0;
          status.Update(session.run(function));
          return counter.collectives;
        };
        int64_t first = collectivesOf("predict");
        EXPECT_GE(first, 2); // two layers
        EXPECT_EQ(collectivesOf("predict"), 0);
        EXPECT_EQ(collectivesOf("predict"), 0);
        int64_t train = collectivesOf("train");
        EXPECT_EQ(collectivesOf("train"), train);
        EXPECT_EQ(collectivesOf("predict"), first);
        const std::vector<float> bias = {1, 2, 3};
        std::vector<float> pieces(3);
        status.Update(session.writeVariable("b.bias", bias.data()));
        EXPECT_EQ(collectivesOf("predict"), first);
        EXPECT_EQ(collectivesOf("predict"), 0);
        status.Update(session.readPieces("b.bias", pieces.data()));
        EXPECT_EQ(collectivesOf("predict"), 0);
        status.Update(session.writePieces("b.bias", pieces.data()));
        EXPECT_EQ(collectivesOf("predict"), first);
        status.Update(session.saveVariables(file));
        EXPECT_EQ(collectivesOf("predict"), 0);
        status.Update(session.loadVariables(file));
        EXPECT_EQ(collectivesOf("predict"), first);
        EXPECT_EQ(collectivesOf("predict"), 0);
        return status;
      });
  EXPECT_TRUE(status.ok()) << status;
}

/// What predict gives in a sequence of steps that change variables in every way.
std::vector<float> resultsOf(const std::string &text, int64_t ranks, const CompileOptions &options) {
  std::vector<float> results;
  SessionOptions sessionOptions;
  sessionOptions.compile = options;
  absl::Status status =
      differential::onSessions(ranks, text, sessionOptions, [&](Session &session, runtime::Communicator &communicator) {
        std::vector<float> input(kRows * kInputs, 0.5F);
        absl::Status status;
        auto run = [&](const std::string &function) {
          status.Update(session.setInput(function, 0, input.data()));
          status.Update(session.run(function));
        };
        auto predict = [&] {
          run("predict");
          std::vector<float> y(3);
          status.Update(session.getOutput("predict", 0, y.data()));
          if (communicator.rank() == 0)
            results.insert(results.end(), y.begin(), y.end());
        };
        predict();
        input.assign(input.size(), -1.0F);
        predict();
        run("train");
        predict();
        std::vector<float> bias = {1, 2, 3};
        status.Update(session.writeVariable("b.bias", bias.data()));
        predict();
        predict();
        return status;
      });
  EXPECT_TRUE(status.ok()) << status;
  return results;
}

TEST_P(HeldGathers, ChangeNoResult) {
  const int64_t ranks = std::get<0>(GetParam());
  const sbp::Strategy strategy = std::get<1>(GetParam());
  std::string text = modelText(ranks);
  std::vector<float> held = resultsOf(text, ranks, optionsOf(1 << 20, strategy));
  std::vector<float> gathered = resultsOf(text, ranks, optionsOf(0, strategy));
  EXPECT_EQ(held, gathered);
  ASSERT_EQ(held.size(), 15);
  for (size_t i = 3; i < 12; ++i) // each change is seen
    EXPECT_NE(held[i], held[i - 3]);
}

//===----------------------------------------------------------------------===//
// Inputs are written before every run
//===----------------------------------------------------------------------===//

/// One layer, and labels that nothing uses, as whoever only predicts has them; they are larger than what is held.
std::string unusedInputText(int64_t ranks) {
  Graph graph({"cpu", {{"dp", ranks}}});
  graph.function("predict");
  Tensor x = graph.input("x", ElementType::F32, {kRows, 8}, split(0));
  graph.input("labels", ElementType::F32, {kRows, 300}, split(0));
  Tensor w = graph.variable("w", {8, 8}, Init::constant(2));
  graph.output("y", boxTo(matmul(x, w), broadcast()));
  return *graph.text();
}

constexpr float kLabel = 7, kX = 3, kY = 8 * kX * 2; ///< sums of 8 products

// Steps after the first leave the gather out, and get the same inputs.
TEST_P(HeldGathers, OutliveUnusedInputs) {
  const int64_t ranks = std::get<0>(GetParam());
  const sbp::Strategy strategy = std::get<1>(GetParam());
  const std::string text = unusedInputText(ranks);
  SessionOptions options;
  options.compile = optionsOf(1 << 20, strategy);
  absl::Status status =
      differential::onSessions(ranks, text, options, [&](Session &session, runtime::Communicator &communicator) {
        EXPECT_TRUE(session.plan().lookupSymbol<exec::PlanOp>("predict.prologue"));
        const std::vector<float> x(kRows * 8, kX), labels(kRows * 300, kLabel);
        absl::Status status;
        for (int step = 0; step < 3; ++step) {
          status.Update(session.setInput("predict", 0, x.data()));
          status.Update(session.setInput("predict", 1, labels.data()));
          status.Update(session.run("predict"));
          std::vector<float> y(kRows * 8);
          status.Update(session.getOutput("predict", 0, y.data()));
          EXPECT_EQ(y, std::vector<float>(y.size(), kY)) << "step " << step + 1;
        }
        return status;
      });
  EXPECT_TRUE(status.ok()) << status;
}

// The same of plans alone, whose arenas are poisoned between the calls, but for what is held.
TEST_P(HeldGathers, OutliveUnusedInputsInPlans) {
  const int64_t ranks = std::get<0>(GetParam());
  std::unique_ptr<mlir::MLIRContext> context = differential::createContext();
  auto source = mlir::parseSourceString<mlir::ModuleOp>(unusedInputText(ranks), context.get());
  const CompileOptions options = optionsOf(1 << 20, std::get<1>(GetParam()));
  auto global = compileGlobal(*source, options);
  ASSERT_TRUE(global.ok()) << global.status();
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> plans;
  std::vector<mlir::ModuleOp> modules;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    auto plan = compilePlan(**global, options, rank);
    ASSERT_TRUE(plan.ok()) << plan.status();
    modules.push_back(*plans.emplace_back(*std::move(plan)));
  }
  auto filled = [&](int64_t columns, float value) {
    const std::vector<float> elements(kRows * columns, value);
    return differential::fromBytes({kRows, columns}, mlir::Float32Type::get(context.get()),
                                   {reinterpret_cast<const char *>(elements.data()), elements.size() * sizeof(float)});
  };
  differential::Experiment experiment;
  for (int call = 0; call < 3; ++call)
    experiment.calls.push_back({"predict", {filled(8, kX), filled(300, kLabel)}});
  auto outcome = differential::runPlans(modules, experiment, "");
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  for (const auto &results : outcome->results)
    EXPECT_EQ(differential::toBytes(results.front()), differential::toBytes(filled(8, kY)));
}

INSTANTIATE_TEST_SUITE_P(Ranks, HeldGathers,
                         testing::Combine(testing::Values(3, 4),
                                          testing::Values(sbp::Strategy::Bucket, sbp::Strategy::Tensor)));

} // namespace
} // namespace splitcast
