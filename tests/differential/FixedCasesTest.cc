// Models in every stage and strategy, on 1 to 4 ranks, as a user runs them: 20 steps whose losses are the
// interpreter's, and whose bits no stage, strategy, bucket size or depth changes.
#include "tests/differential/Cases.h"
#include "tests/differential/EveryPass.h"
#include "tests/differential/SessionRun.h"

#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

#include <cmath>
#include <map>

namespace splitcast::differential {
namespace {

using CaseMaker = Case (*)(int64_t);

class ModelTest : public testing::Test {
protected:
  mlir::OwningOpRef<mlir::ModuleOp> parse(const Case &of) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(of.text, context.get());
    EXPECT_TRUE(module) << of.name;
    return module;
  }

  std::unique_ptr<mlir::MLIRContext> context = createContext();
};

class FixedCasesTest : public ModelTest, public testing::WithParamInterface<std::tuple<CaseMaker, int64_t, int64_t>> {
protected:
  static constexpr int64_t kSteps = 20;

  /// What the interpreter gives from these values on.
  Outcome interpret(mlir::ModuleOp source, const Experiment &experiment) {
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::cast<mlir::ModuleOp>(source->clone());
    for (const char *pass : {"nn-differentiate", "nn-expand-optimizers"})
      EXPECT_TRUE(runPass(*module, pass).ok());
    absl::StatusOr<Outcome> outcome = runGlobal(*module, experiment);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return outcome.ok() ? *std::move(outcome) : Outcome();
  }
};

TEST_P(FixedCasesTest, StagesAndStrategiesTrainAsTheInterpreterDoes) {
  auto [make, ranks, count] = GetParam();
  Case of = make(ranks);
  mlir::OwningOpRef<mlir::ModuleOp> module = parse(of);
  ASSERT_TRUE(module);
  std::vector<Call> calls = randomSteps(*module, of, kSteps);
  std::optional<SessionOutcome> first;
  for (Configuration configuration : allConfigurations()) {
    configuration.microBatches = count;
    absl::StatusOr<SessionOutcome> run = runSessions(*module, calls, configuration, testing::TempDir() + "/objects");
    ASSERT_TRUE(run.ok()) << of.name << ", " << configuration.text() << ": " << run.status();
    if (!first) {
      first = *std::move(run);
      continue;
    }
    absl::Status same = compare({{}, first->initial}, {{}, run->initial}, Agreement::Bits);
    EXPECT_TRUE(same.ok()) << "initial values, " << configuration.text() << ": " << same;
    same = compare(first->outcome, run->outcome, Agreement::Bits);
    EXPECT_TRUE(same.ok()) << of.name << ", " << configuration.text() << ": " << same;
  }
  EXPECT_EQ(first->outcome.results.size(), static_cast<size_t>(kSteps));
  EXPECT_FALSE(compare({{}, first->initial}, {{}, first->outcome.variables}, Agreement::Bits).ok());
  Outcome expected = interpret(*module, {calls, first->initial});
  for (int64_t step = 0; step < kSteps; ++step) {
    double loss = expected.results[step][0].floats[0];
    EXPECT_NEAR(first->outcome.results[step][0].floats[0], loss, 1e-5 * std::abs(loss)) << of.name << ", step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, FixedCasesTest,
                         testing::Combine(testing::Values(&mlp, &classifier, &languageModel, &microBatches),
                                          testing::Values(1, 2, 3, 4), testing::Values(1)));
/// In micro-batches, of as many rows as there are ranks, or of others.
INSTANTIATE_TEST_SUITE_P(Schedules, FixedCasesTest,
                         testing::Values(std::tuple(&mlp, 3, 4), std::tuple(&mlp, 4, 2), std::tuple(&mlp, 1, 8),
                                         std::tuple(&languageModel, 3, 5), std::tuple(&microBatches, 2, 2)));

//===----------------------------------------------------------------------===//
// Pass by pass
//===----------------------------------------------------------------------===//

class EveryPassOfFixedCasesTest : public ModelTest {
protected:
  void check(const Case &of) {
    mlir::OwningOpRef<mlir::ModuleOp> module = parse(of);
    ASSERT_TRUE(module);
    Experiment experiment{randomSteps(*module, of, 2), randomVariables(*module)};
    EveryPassOptions options;
    options.objectCacheDir = testing::TempDir() + "/objects";
    options.checksGradients = options.checksUpdates = true;
    std::optional<LevelOutcomes> first;
    for (const Configuration &configuration : allConfigurations())
      for (bool cleans : {false, true}) {
        options.cleansBetween = cleans;
        absl::StatusOr<LevelOutcomes> outcomes = checkEveryPass(*module, experiment, configuration, options);
        ASSERT_TRUE(outcomes.ok()) << of.name << (cleans ? ", --cse --canonicalize between all passes: " : ": ")
                                   << outcomes.status();
        options.checksGradients = options.checksUpdates = false;
        if (first)
          expectSame(*first, *outcomes, configuration, cleans);
        else
          first = *std::move(outcomes);
      }
  }

  void expectSame(const LevelOutcomes &a, const LevelOutcomes &b, const Configuration &configuration, bool cleans) {
    for (auto [x, y] : {std::pair(&a.global, &b.global), {&a.local, &b.local}, {&*a.plan, &*b.plan}}) {
      absl::Status same = compare(*x, *y, Agreement::Bits);
      EXPECT_TRUE(same.ok()) << configuration.text() << ", cleans " << cleans << ": " << same;
    }
  }
};

TEST_F(EveryPassOfFixedCasesTest, Mlp) { check(mlp(3)); }
TEST_F(EveryPassOfFixedCasesTest, LanguageModel) { check(languageModel(2)); }
/// Weights split along tp, and along dp by ZeRO.
TEST_F(EveryPassOfFixedCasesTest, TensorParallelMlp) { check(tensorParallelMlp()); }
TEST_F(EveryPassOfFixedCasesTest, TensorParallelMlpInPairs) { check(tensorParallelMlpInPairs()); }
/// Layers on ranks of their own, and along dp as ZeRO has it.
TEST_F(EveryPassOfFixedCasesTest, PipelineMlp) { check(pipelineMlp()); }
TEST_F(EveryPassOfFixedCasesTest, Copies) { check(copies(4)); }
/// On GPUs: the gradient of attention takes what forward kept, at every stage.
TEST_F(EveryPassOfFixedCasesTest, KeptStatistics) {
  const Case of = attention(2);
  mlir::OwningOpRef<mlir::ModuleOp> module = parse(of);
  ASSERT_TRUE(module);
  const Experiment experiment{randomSteps(*module, of, 2), randomVariables(*module)};
  EveryPassOptions options;
  options.objectCacheDir = testing::TempDir() + "/objects";
  options.tolerance = 0x1p-6; // of bf16
  int64_t kept = 0;
  options.afterPass = [&](const std::string &pass, llvm::ArrayRef<mlir::ModuleOp> modules) {
    for (mlir::ModuleOp rank :
         pass.find("nn-keep-statistics") == std::string::npos ? llvm::ArrayRef<mlir::ModuleOp>() : modules)
      rank.walk([&](nn::AttentionGradOp gradient) { kept += gradient.getStatistics() ? 1 : 0; });
  };
  std::optional<LevelOutcomes> first;
  for (int stage : {0, 3}) {
    Configuration configuration;
    configuration.stage = stage;
    kept = 0;
    absl::StatusOr<LevelOutcomes> outcomes = checkEveryPass(*module, experiment, configuration, options);
    ASSERT_TRUE(outcomes.ok()) << configuration.text() << ": " << outcomes.status();
    EXPECT_EQ(kept, 2) << configuration.text(); // of each rank
    if (first)
      expectSame(*first, *outcomes, configuration, false);
    else
      first = *std::move(outcomes);
  }
}
TEST_F(EveryPassOfFixedCasesTest, ManyRanks) {
  Case of = manyRanks();
  mlir::OwningOpRef<mlir::ModuleOp> module = parse(of);
  ASSERT_TRUE(module);
  Configuration configuration;
  configuration.stage = 3;
  EveryPassOptions options;
  options.objectCacheDir = testing::TempDir() + "/objects";
  absl::StatusOr<LevelOutcomes> outcomes =
      checkEveryPass(*module, {randomSteps(*module, of, 2), randomVariables(*module)}, configuration, options);
  EXPECT_TRUE(outcomes.ok()) << outcomes.status();
}
/// Weights that are read for each half: gradients with two contributions.
TEST_F(EveryPassOfFixedCasesTest, MicroBatches) { check(microBatches(4)); }

/// Steps that are schedules: nearly what the step in one gives, and of all stages and strategies the same bits. With
/// rows that no number of ranks divides, and fewer than ranks.
TEST_F(EveryPassOfFixedCasesTest, Schedules) {
  const std::vector<std::pair<Case, int64_t>> schedules = {
      {mlp(3), 2},        {mlp(3), 4},          {mlp(4), 8},       {languageModel(3), 5}, {tensorParallelMlp(), 4},
      {maskedMean(3), 4}, {microBatches(3), 2}, {pipelineMlp(), 4}};
  for (const auto &[of, count] : schedules) {
    mlir::OwningOpRef<mlir::ModuleOp> module = parse(of);
    ASSERT_TRUE(module);
    const Experiment experiment{randomSteps(*module, of, 2), randomVariables(*module)};
    EveryPassOptions options;
    options.objectCacheDir = testing::TempDir() + "/objects";
    std::optional<LevelOutcomes> first;
    for (Configuration configuration : allConfigurations()) {
      configuration.microBatches = count;
      configuration.reproducible = count == 4 && of.name != mlp(3).name; // whose 8 rows twelve do not divide
      options.cleansBetween = configuration.strategy == sbp::Strategy::Tensor;
      absl::StatusOr<LevelOutcomes> outcomes = checkEveryPass(*module, experiment, configuration, options);
      ASSERT_TRUE(outcomes.ok()) << of.name << ": " << outcomes.status();
      if (first)
        expectSame(*first, *outcomes, configuration, options.cleansBetween);
      else
        first = *std::move(outcomes);
    }
  }
}

/// The order in which stages work changes no bit, and neither does ZeRO. What is gathered for all stays in a run of its
/// own.
TEST_F(EveryPassOfFixedCasesTest, Pipelines) {
  const Case of = pipelineMlp();
  mlir::OwningOpRef<mlir::ModuleOp> module = parse(of);
  ASSERT_TRUE(module);
  const Experiment experiment{randomSteps(*module, of, 2), randomVariables(*module)};
  EveryPassOptions options;
  options.objectCacheDir = testing::TempDir() + "/objects";
  std::map<sbp::AccumulateOrder, LevelOutcomes> first;
  for (sbp::PipelineSchedule schedule :
       {sbp::PipelineSchedule::Sequential, sbp::PipelineSchedule::Gpipe, sbp::PipelineSchedule::OneForwardOneBackward})
    for (int stage : {0, 1, 2, 3}) {
      Configuration configuration;
      configuration.stage = stage;
      configuration.microBatches = 4;
      configuration.pipeline = schedule;
      configuration.keep = stage == 3 ? sbp::Keep::Step : sbp::Keep::Last;
      configuration.order = stage % 2 == 0 ? sbp::AccumulateOrder::PerMicroBatch : sbp::AccumulateOrder::PerStep;
      absl::StatusOr<LevelOutcomes> outcomes = checkEveryPass(*module, experiment, configuration, options);
      ASSERT_TRUE(outcomes.ok()) << configuration.text() << ": " << outcomes.status();
      const auto [known, isNew] = first.try_emplace(configuration.order, *outcomes);
      if (!isNew)
        expectSame(known->second, *outcomes, configuration, false);
    }
}

} // namespace
} // namespace splitcast::differential
