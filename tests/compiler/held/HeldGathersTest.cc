// Functions that keep what they gather: fewer ops in later runs, never another result.
#include "compiler/Graph.h"
#include "compiler/Pipelines.h"
#include "compiler/Session.h"
#include "runtime/executor/Executor.h"
#include "tests/differential/PassList.h"
#include "tests/differential/Ranks.h"

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

CompileOptions optionsOf(int64_t holdBytes, const std::string &strategy) {
  CompileOptions options;
  options.zero = {3, "", strategy};
  options.zero.holdGathersBytes = holdBytes;
  return options;
}

struct Counter : runtime::ExecutorObserver {
  void before(mlir::Operation *op, int64_t) override { collectives += mlir::isa<exec::CollectiveOp>(op); }
  int64_t collectives = 0;
};

class HeldGathers : public testing::TestWithParam<std::tuple<int64_t, std::string>> {};

TEST_P(HeldGathers, AreLeftOutUntilSomethingElseRuns) {
  const int64_t ranks = std::get<0>(GetParam());
  const std::string strategy = std::get<1>(GetParam());
  std::string text = modelText(ranks);
  absl::Status status =
      differential::onRanks(ranks, "", [&](runtime::Device &device, runtime::Communicator &communicator) {
        std::unique_ptr<mlir::MLIRContext> context = differential::createContext();
        auto source = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
        CompileOptions options = optionsOf(1 << 20, strategy);
        auto global = compileGlobal(*source, options);
        auto plans = global.ok() ? compilePlan(**global, options, communicator.rank()) : global.status();
        Counter counter;
        auto executor = plans.ok() ? runtime::Executor::bind(**plans, device, communicator, &counter) : plans.status();
        if (!executor.ok())
          return executor.status();
        absl::Status status;
        auto collectivesOf = [&](const std::string &function) {
          counter.collectives = 0;
          status.Update((*executor)->run(function));
          return counter.collectives;
        };
        int64_t first = collectivesOf("predict");
        EXPECT_GE(first, 2); // two layers
        EXPECT_EQ(collectivesOf("predict"), 0);
        EXPECT_EQ(collectivesOf("predict"), 0);
        int64_t train = collectivesOf("train");
        EXPECT_EQ(collectivesOf("train"), train);
        EXPECT_EQ(collectivesOf("predict"), first);
        (*executor)->forgetHeld();
        EXPECT_EQ(collectivesOf("predict"), first);
        return status;
      });
  EXPECT_TRUE(status.ok()) << status;
}

/// What predict gives in a sequence of steps that change variables in every way.
std::vector<float> resultsOf(const std::string &text, int64_t ranks, const CompileOptions &options) {
  std::vector<float> results;
  absl::Status status =
      differential::onRanks(ranks, "", [&](runtime::Device &device, runtime::Communicator &communicator) {
        std::unique_ptr<mlir::MLIRContext> context = differential::createContext();
        auto source = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
        SessionOptions session;
        session.compile = options;
        auto made = Session::create(*source, session, device, communicator);
        if (!made.ok())
          return made.status();
        std::vector<float> input(kRows * kInputs, 0.5F);
        absl::Status status;
        auto run = [&](const std::string &function) {
          status.Update((*made)->setInput(function, 0, input.data()));
          status.Update((*made)->run(function));
        };
        auto predict = [&] {
          run("predict");
          std::vector<float> y(3);
          status.Update((*made)->getOutput("predict", 0, y.data()));
          if (communicator.rank() == 0)
            results.insert(results.end(), y.begin(), y.end());
        };
        predict();
        input.assign(input.size(), -1.0F);
        predict();
        run("train");
        predict();
        std::vector<float> bias = {1, 2, 3};
        status.Update((*made)->writeVariable("b.bias", bias.data()));
        predict();
        predict();
        return status;
      });
  EXPECT_TRUE(status.ok()) << status;
  return results;
}

TEST_P(HeldGathers, ChangeNoResult) {
  const int64_t ranks = std::get<0>(GetParam());
  const std::string strategy = std::get<1>(GetParam());
  std::string text = modelText(ranks);
  std::vector<float> held = resultsOf(text, ranks, optionsOf(1 << 20, strategy));
  std::vector<float> gathered = resultsOf(text, ranks, optionsOf(0, strategy));
  EXPECT_EQ(held, gathered);
  ASSERT_EQ(held.size(), 15);
  for (size_t i = 3; i < 12; ++i) // each change is seen
    EXPECT_NE(held[i], held[i - 3]);
}

INSTANTIATE_TEST_SUITE_P(Ranks, HeldGathers,
                         testing::Combine(testing::Values(3, 4), testing::Values("bucket", "tensor")));

} // namespace
} // namespace splitcast
