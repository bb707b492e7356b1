//===- VolumeTest.cc - How many bytes each stage moves ------------------------------===//
//
// With P bytes of parameters on N ranks, all of them trainable and padded alike (Rajbhandari et al. 2020,
// arXiv:1910.02054, section 7): stages 0 to 2 send 2P(N-1)/N bytes per rank, stage 3 half as much again, less what
// backward does not need to gather again.
//
//===----------------------------------------------------------------------===//
#include "compiler/Compile.h"
#include "compiler/Pipelines.h"
#include "compiler/graph/Graph.h"
#include "passes/plan/Reports.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace splitcast::prediction {
namespace {

constexpr int64_t kWidth = 64, kLayers = 4;
constexpr int64_t kLayerBytes = kWidth * kWidth * 4;

/// What rank 0 sends in a step, but for the loss.
int64_t volume(const std::string &text, int64_t ranks, int stage, sbp::Keep keep = sbp::Keep::Last,
               int64_t accumulate = 1, sbp::AccumulateOrder order = sbp::AccumulateOrder::PerMicroBatch) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto source = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  CompileOptions options;
  options.zero.policy.setStage(stage);
  options.zero.policy.setKeep(keep);
  options.zero.accumulate = accumulate;
  options.zero.accumulateOrder = order;
  auto global = compileGlobal(*source, options);
  auto plans = global.ok() ? compilePlan(**global, options, 0) : global.status();
  EXPECT_TRUE(plans.ok()) << plans.status();
  const auto timesOf = [&](exec::PlanOp plan) {
    int64_t times = 0;
    (*plans)->walk(
        [&](sbp::RunOp run) { times += run.getFunction() == plan.getSymName() ? run.getEnd() - run.getBegin() : 0; });
    return std::max<int64_t>(times, 1);
  };
  int64_t bytes = 0;
  for (auto plan : (*plans)->getOps<exec::PlanOp>())
    for (const CommunicationReport::Entry &entry : reportCommunication(plan).entries)
      bytes += entry.bytesSent * timesOf(plan);
  return bytes - 4 * (ranks - 1); // the loss: one f32 to every other rank
}

/// Layers without bias; with `needsAll`, also the backward of the first layer needs its matrix.
std::string layers(int64_t ranks, bool needsAll) {
  Graph graph({.deviceKind = "cpu", .axes = {{"dp", ranks}}});
  Tensor x = graph.input("x", runtime::ElementType::F32, {24, kWidth}, split(0));
  for (int64_t i = 0; i < kLayers; ++i) {
    Tensor w = graph.variable("layer" + std::to_string(i) + ".weight", {kWidth, kWidth}, Init::constant(0.5));
    x = matmul(x, needsAll ? gelu(w) : w);
  }
  Tensor loss = mean(mul(x, x));
  graph.minimize(loss, Sgd{.lr = 0.1});
  graph.output("loss", loss);
  return *graph.text();
}

class Volume : public testing::TestWithParam<int64_t> {};

TEST_P(Volume, StagesZeroToTwoMoveTheSame) {
  int64_t ranks = GetParam(), expected = 2 * kLayers * kLayerBytes / ranks * (ranks - 1);
  for (int stage : {0, 1, 2})
    EXPECT_EQ(volume(layers(ranks, false), ranks, stage), expected) << "stage " << stage;
}

TEST_P(Volume, StageThreeMovesHalfAsMuchAgain) {
  int64_t ranks = GetParam();
  std::string text = layers(ranks, true);
  EXPECT_EQ(2 * volume(text, ranks, 3, sbp::Keep::Never), 3 * volume(text, ranks, 2));
}

// The last group is kept between forward and backward, and the first layer's matrix is not needed in backward at all.
TEST_P(Volume, StageThreeGathersNoMoreThanItNeeds) {
  int64_t ranks = GetParam(), gather = kLayerBytes / ranks * (ranks - 1);
  std::string all = layers(ranks, true), plain = layers(ranks, false);
  EXPECT_EQ(2 * (volume(all, ranks, 3) + gather), 3 * volume(all, ranks, 2));
  EXPECT_EQ(2 * (volume(plain, ranks, 3, sbp::Keep::Never) + gather), 3 * volume(plain, ranks, 2));
  EXPECT_EQ(2 * (volume(plain, ranks, 3) + 2 * gather), 3 * volume(plain, ranks, 2));
}

// In micro-batches, gradients are reduced for each or once, and parameters gathered for each or once.
TEST_P(Volume, MicroBatchesReduceAndGatherAsTold) {
  constexpr int64_t kMicroBatches = 3;
  const auto perStep = sbp::AccumulateOrder::PerStep, perMicroBatch = sbp::AccumulateOrder::PerMicroBatch;
  const int64_t ranks = GetParam(), once = kLayers * kLayerBytes / ranks * (ranks - 1); // to reduce, or to gather, all
  const std::string text = layers(ranks, true);
  auto of = [&](int stage, sbp::AccumulateOrder order, sbp::Keep keep = sbp::Keep::Never) {
    return volume(text, ranks, stage, keep, kMicroBatches, order);
  };
  for (int stage : {1, 2}) {
    EXPECT_EQ(of(stage, perStep), 2 * once) << stage;
    EXPECT_EQ(of(stage, perMicroBatch), (kMicroBatches + 1) * once) << stage;
  }
  EXPECT_EQ(of(3, perStep), (2 * kMicroBatches + 1) * once);
  EXPECT_EQ(of(3, perMicroBatch), 3 * kMicroBatches * once);
  EXPECT_EQ(of(3, perStep, sbp::Keep::Step), 2 * once);
  EXPECT_EQ(of(3, perMicroBatch, sbp::Keep::Step), (kMicroBatches + 1) * once);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Volume, testing::Values(2, 4, 8, 64));

} // namespace
} // namespace splitcast::prediction
