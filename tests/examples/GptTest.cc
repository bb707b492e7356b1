// The GPT: the same bits at every stage, dropout included; no more communication than its gradients; a sample.
#include "compiler/Compile.h"
#include "examples/gpt/Model.h"
#include "examples/gpt/Sample.h"
#include "tests/examples/TrainingRuns.h"

#include "dialects/nn/Nn.h"
#include "passes/plan/Reports.h"

#include "absl/strings/str_cat.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <sstream>

namespace splitcast {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Small, and ragged: 14 samples over 3 or 4 ranks.
Command gpt(int heads = 2, int layers = 2, int width = 24) {
  return {programPath("examples/gpt/gpt"),
          "--text=text",
          absl::StrCat("--layers=", layers),
          absl::StrCat("--heads=", heads),
          absl::StrCat("--width=", width),
          "--context=20",
          "--batch=14",
          "--dropout=0.25"};
}

class GptRanks : public ::testing::TestWithParam<int64_t> {};

// On 4 ranks GPT-NeoX's blocks, some of its variables frozen.
TEST_P(GptRanks, IsTheSameAtEveryStage) {
  const Command neox = with(gpt(/*heads=*/3), {"--neox", "--freeze=wte.weight,h0.*,*.bias"});
  compareAll(with(GetParam() == 4 ? neox : gpt(), {"--sample=0"}), GetParam(), 10);
}

INSTANTIATE_TEST_SUITE_P(Gpt, GptRanks, ::testing::Values(3, 4));

TEST(Gpt, RunTrainsItToTheSameBits) { compareWithRun(with(gpt(), {"--sample=0"}), {"tokens", "next"}, 3); }

void expectNear(const std::vector<float> &found, const std::vector<float> &alone) {
  ASSERT_EQ(found.size(), alone.size());
  for (size_t step = 0; step < found.size(); ++step)
    EXPECT_NEAR(found[step], alone[step], 1e-5 * alone[step]) << step;
}

class GptMesh : public ::testing::TestWithParam<const char *> {};

// Blocks that are divided between ranks, each or among stages, and the batch besides: what matrices are split along and
// where variables lie says it, and ZeRO splits what is left along the other axis.
TEST_P(GptMesh, IsTheSameAtEveryStage) {
  const Command command = with(gpt(/*heads=*/4), {"--steps=10", "--sample=0"});
  const std::string directory = makeWorkDirectory();
  const std::vector<float> alone = exactLosses(train(directory, 1, command).losses);
  const Command onMesh = with(command, {std::string("--mesh=") + GetParam()});
  const Trained expected = train(directory, 4, with(onMesh, {"--enable-zero=stage=0"}));
  expectNear(exactLosses(expected.losses), alone);
  for (const char *zero : {"stage=1,recompute=yes", "stage=2,strategy=tensor", "stage=3", "stage=3,one-copy=no"}) {
    const Trained found = train(directory, 4, with(onMesh, {std::string("--enable-zero=") + zero}));
    EXPECT_EQ(found.losses, expected.losses) << zero;
    EXPECT_TRUE(found.variables == expected.variables) << zero;
  }
}

INSTANTIATE_TEST_SUITE_P(Gpt, GptMesh, ::testing::Values("dp=2,tp=2", "dp=2,pp=2"));

TEST(Gpt, TrainsAsAloneWithoutABatchDivided) {
  const std::string directory = makeWorkDirectory();
  for (const bool isNeox : {false, true}) {
    const Command command = with(gpt(/*heads=*/4, /*layers=*/4, /*width=*/32), {"--steps=5", "--sample=0"});
    const Command model = isNeox ? with(command, {"--neox"}) : command;
    const std::vector<float> alone = exactLosses(train(directory, 1, model).losses);
    for (const char *mesh : {"tp=4", "pp=4", "pp=2,tp=2"})
      expectNear(exactLosses(train(directory, 4, with(model, {std::string("--mesh=") + mesh})).losses), alone);
    // In 7 micro-batches, side by side, is to the bit as one after the other.
    const Command pipeline = with(model, {"--mesh=pp=2", "--accumulate=7", "--pipeline-rounds=2"});
    const Trained expected = train(directory, 2, with(pipeline, {"--pipeline=sequential"}));
    expectNear(exactLosses(expected.losses), alone);
    for (const char *order : {"--pipeline=1f1b", "--pipeline=gpipe"}) {
      const Trained found = train(directory, 2, with(pipeline, {order}));
      EXPECT_EQ(found.losses, expected.losses) << order;
      EXPECT_TRUE(found.variables == expected.variables) << order;
    }
  }
}

// Two ranks send what each of them does, in sum; so it is with peaks.
TEST(Gpt, ReportsAreOfEachRankAndInSum) {
  const Command stages = with(gpt(/*heads=*/4), {"--steps=1", "--sample=0", "--report", "--mesh=pp=2"});
  const std::string output = runIn(makeWorkDirectory(), 2, stages).rankOutputs[0];
  for (const char *what : {"of all ranks: predicted peak ", "of all ranks: sent per run "}) {
    double least = 0, most = 0, sum = 0;
    ASSERT_EQ(std::sscanf(valueAfter(output, what).c_str(), "%lf MB to %lf MB (rank %*d), %lf MB in sum", &least, &most,
                          &sum),
              3)
        << output;
    EXPECT_GT(least, 0) << what;
    EXPECT_NEAR(least + most, sum, 0.002) << what; // each is rounded
  }
}

TEST(Gpt, MeshesHaveToFit) {
  const std::string directory = makeWorkDirectory();
  const auto errorOf = [&](int64_t ranks, const std::string &mesh) {
    const JobResult result = runIn(directory, ranks, with(gpt(/*heads=*/3), {"--mesh=" + mesh}));
    EXPECT_EQ(result.rankStatuses, std::vector<int>(ranks, 1)) << mesh;
    return result.describe();
  };
  EXPECT_THAT(errorOf(2, "tp=2"),
              HasSubstr("--heads=3 is not a multiple of tp=2 of --mesh; each rank takes whole heads"));
  EXPECT_THAT(errorOf(3, "pp=3"), HasSubstr("--layers=2 is less than the 3 stages of pp=3 with --pipeline-rounds=1; "
                                            "each stage needs at least one layer"));
  EXPECT_THAT(errorOf(2, "dp=2,tp=2"), HasSubstr("--mesh has 4 ranks, but 2 are running; start as many as --mesh has"));
  EXPECT_THAT(errorOf(1, "tp=1,dp=1"),
              HasSubstr("axis 'dp' comes after 'tp', whose ranks must be nearer to each other; give 'dp' first"));
  EXPECT_THAT(errorOf(1, "tp=1,tp=1"), HasSubstr("axis 'tp' is given twice; give it once"));
  EXPECT_THAT(errorOf(1, "tp=0"), HasSubstr("'tp=0' is not an axis of a mesh; write dp=D,pp=P,tp=T"));
}

// What is not trained stays as it is.
TEST(Gpt, AdaptersAreTheSameAtEveryStage) {
  const Command command = with(gpt(), {"--adapters=2", "--steps=3", "--sample=0"});
  const std::string directory = makeWorkDirectory();
  const Trained expected = train(directory, 3, with(command, {"--enable-zero=stage=0"}));
  for (const char *zero : {"stage=2,strategy=whole", "stage=3"}) {
    const Trained found = train(directory, 3, with(command, {std::string("--enable-zero=") + zero}));
    EXPECT_EQ(found.losses, expected.losses) << zero;
    EXPECT_TRUE(found.variables == expected.variables) << zero;
  }
  EXPECT_NE(expected.losses, train(directory, 3, with(gpt(), {"--steps=3", "--sample=0"})).losses);
}

/// Of each line that has one: its step, and the loss.
std::string validationLosses(const std::string &metrics) {
  std::istringstream lines(metrics);
  std::string found;
  for (std::string line; std::getline(lines, line);)
    if (const std::string value = valueAfter(line, "\"validation_loss\":"); !value.empty())
      found += line.substr(0, line.find(',')) + " " + value.substr(0, value.find(',')) + "\n";
  return found;
}

/// The bytes of a text as numbers of tokens train to the same bits; what it is validated on changes none of them.
TEST(Gpt, TokensOfAFileAndValidation) {
  const std::string directory = makeWorkDirectory(), text = readFile(directory + "/text");
  std::string tokens;
  for (char byte : text)
    tokens += std::string{byte, '\0', '\0', '\0'};
  writeFile(directory + "/tokens", tokens);
  const Command command = with(gpt(), {"--steps=4", "--sample=0"});
  const Trained plain = train(directory, 3, command);
  std::set<std::string> losses;
  for (const char *zero : {"stage=0", "stage=3"}) {
    Command ofTokens = with(command, {"--tokens=tokens", "--token-bytes=4", "--validation=tokens", "--validate-every=2",
                                      "--validation-batches=3", "--metrics=m", std::string("--enable-zero=") + zero});
    ofTokens.erase(std::find(ofTokens.begin(), ofTokens.end(), "--text=text"));
    const Trained found = train(directory, 3, ofTokens);
    EXPECT_EQ(found.losses, plain.losses);
    EXPECT_EQ(found.variables, plain.variables);
    losses.insert(validationLosses(readFile(directory + "/m")));
  }
  ASSERT_EQ(losses.size(), 1U);
  EXPECT_THAT(*losses.begin(), ::testing::MatchesRegex("\\{\"step\":2 [0-9.]+\n\\{\"step\":4 [0-9.]+\n"));
}

/// 17 windows are a batch of 14 and one of 3, of which at 4 ranks one has none.
TEST(Gpt, EpochsEndWithWhatIsLeft) {
  const std::string directory = makeWorkDirectory();
  writeFile(directory + "/short", readFile(directory + "/text").substr(0, 17 * 20 + 1));
  Command command = with(gpt(), {"--order=sequential", "--tokens=short", "--token-bytes=1", "--steps=4", "--sample=0"});
  command.erase(std::find(command.begin(), command.end(), "--text=text"));
  const Trained expected = train(directory, 4, with(command, {"--enable-zero=stage=0"}));
  EXPECT_FALSE(expected.losses.empty());
  EXPECT_EQ(expected.losses.find("nan"), std::string::npos) << expected.losses;
  for (const char *zero : {"stage=2,accumulate=2", "stage=3"}) {
    const Trained found = train(directory, 4, with(command, {std::string("--enable-zero=") + zero}));
    if (std::string(zero) == "stage=3") {
      EXPECT_EQ(found.losses, expected.losses);
      EXPECT_EQ(found.variables, expected.variables);
    }
    for (size_t step = 0; step < 4; ++step) // of micro-batches, of which one has no window, to rounding
      EXPECT_NEAR(exactLosses(found.losses)[step], exactLosses(expected.losses)[step], 2e-6) << zero;
  }
}

// Each group at a stage, in a way and kept as it says: the bits of stage 0, and a report that tells the groups apart.
TEST(Gpt, GroupsDecideForThemselves) {
  std::string output = compareWithRun(
      with(gpt(), {"--sample=0"}), {"tokens", "next"}, 3,
      {R"(sbp.group "h0" #sbp.policy<stage = 3, keep = always>)",
       R"(sbp.group "h1" #sbp.policy<stage = 3, strategy = tensor, keep = never, prefetch = 0>)",
       R"(sbp.group "embedding" #sbp.policy<stage = 0>)", R"(sbp.group "ln" #sbp.policy<strategy = tensor>)"},
      {"stage=0,one-copy=no", "stage=1,one-copy=no"});
  for (const char *line :
       {"stage=3,strategy=bucket,keep=always,prefetch=1", "stage=3,strategy=tensor,keep=never,prefetch=0",
        "stage=0,strategy=bucket,keep=last", "stage=1,strategy=tensor,keep=last"})
    EXPECT_THAT(output, HasSubstr(line));
  // 256 words and 20 places of 24 f32, whole on each rank; of a block, 12 x 24^2 + 13 x 24 f32, a third, padded or by
  // rows.
  EXPECT_THAT(output, HasSubstr("group embedding: parameters 0.026 MB, optimizer state 0.053 MB"));
  EXPECT_THAT(output, HasSubstr("group h0: parameters 0.010 MB, optimizer state 0.019 MB"));
  EXPECT_THAT(output, HasSubstr("group h1: parameters 0.010 MB, optimizer state 0.019 MB"));
  EXPECT_THAT(output, HasSubstr("group ln: parameters 0.000 MB, optimizer state 0.000 MB")); // 48 f32
}

std::string sampleOf(const std::string &output) {
  return output.substr(std::min(output.find("--- sample"), output.size()));
}

// However the variables lie, and whether what is gathered is held or not: 60 bytes are more than the context.
TEST(Gpt, WritesTheSameAtEveryStage) {
  std::string directory = makeWorkDirectory(), first;
  for (const char *stage : {"stage=0", "stage=2", "stage=3 one-copy=no"})
    for (const char *strategy : {"strategy=bucket", "strategy=tensor"}) {
      Command command = with(gpt(), {"--steps=20", "--sample=60", "--prompt=Line",
                                     std::string("--enable-zero=") + stage + " " + strategy});
      JobResult result = runIn(directory, 3, command);
      ASSERT_TRUE(result.succeeded()) << result.describe();
      std::string sample = sampleOf(result.rankOutputs[0]);
      EXPECT_THAT(sample, HasSubstr("--- sample ---\nLine"));
      EXPECT_EQ(sampleOf(result.rankOutputs[1]), "");
      first = first.empty() ? sample : first;
      EXPECT_EQ(sample, first) << stage << " " << strategy;
    }
}

//===----------------------------------------------------------------------===//
// Communication
//===----------------------------------------------------------------------===//

constexpr GptSizes kSizes = {50, 12, 3, 2, 16, 0.1};

/// The training function of a small GPT at stage 0 on 4 ranks, all boxings explicit.
mlir::OwningOpRef<mlir::ModuleOp> compiledTraining(Graph &graph) {
  graph.function("train");
  Tensor tokens = graph.input("tokens", ElementType::I64, {8, 12}, split(0));
  Tensor next = graph.input("next", ElementType::I64, {8, 12}, split(0));
  Tensor loss = meanCrossEntropy(gptLogits(graph, tokens, kSizes, true), reshape(next, {96}));
  graph.minimize(loss, AdamW{1e-3});
  graph.output("loss", loss);
  auto module = graph.finish();
  EXPECT_TRUE(module.ok()) << module.status();
  CompileOptions options;
  options.zero.policy.setStage(0);
  auto compiled = compileGlobal(*module, options);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  return *std::move(compiled);
}

// Tied embeddings: the table has two contributions to its gradient, which lies in its bucket once; each bucket has one
// reduction.
TEST(Gpt, CommunicatesEachGradientOnceAndTheLoss) {
  Graph graph({"cpu", {{"dp", 4}}});
  auto module = compiledTraining(graph);
  int64_t trainable = 0, packed = 0, buckets = 0, boxings = 0, fromPartial = 0;
  module->walk([&](sbp::VariableOp variable) { trainable += !variable.getFrozen() && !variable.getStateOf(); });
  module->walk([&](sbp::BucketOp) { ++buckets; });
  module->walk([&](sbp::BucketPackOp pack) { packed += pack.getInputs().size(); });
  module->walk([&](sbp::BoxingOp boxing) {
    ++boxings;
    fromPartial += sbp::signatureOf(boxing.getInput()).hasPartial();
  });
  EXPECT_EQ(trainable, 2 + 3 * 16 + 2);
  EXPECT_EQ(packed, trainable);
  EXPECT_EQ(boxings, buckets + 1);
  EXPECT_EQ(fromPartial, boxings);
}

/// Finishes the graph, and compiles it for rank 0.
mlir::OwningOpRef<mlir::ModuleOp> rankZeroOf(Graph &graph, int stage, sbp::Strategy strategy) {
  auto module = graph.finish();
  EXPECT_TRUE(module.ok()) << module.status();
  CompileOptions options;
  options.zero.policy.setStage(stage);
  options.zero.policy.setStrategy(strategy);
  auto global = compileGlobal(*module, options);
  auto plans = global.ok() ? compilePlan(**global, options, 0) : global.status();
  EXPECT_TRUE(plans.ok()) << plans.status();
  return *std::move(plans);
}

constexpr int64_t kRowElements = 12 * 12 / 2 * 12; ///< of a rank's part of a batch, whole

/// What rank 0 sends along the axis tp, of dp = 2 and tp = 3, but for vectors.
struct SentAlongTp {
  std::map<std::string, int64_t> elements; ///< by collective
  int64_t largest = 0;                     ///< elements of the largest operand or result
};

SentAlongTp sentAlongTp(int64_t layers, int64_t vocabulary = 50) {
  Graph graph({"cpu", {{"dp", 2}, {"tp", 3}}});
  graph.function("train");
  Tensor tokens = graph.input("tokens", ElementType::I64, {12, 12}, split(0));
  Tensor next = graph.input("next", ElementType::I64, {12, 12}, split(0));
  Tensor logits = gptLogits(graph, tokens, {vocabulary, 12, layers, 3, 12}, true, {/*number=*/1, /*ranks=*/3});
  Tensor loss = meanCrossEntropy(logits, reshape(next, {144}));
  graph.minimize(loss, AdamW{1e-3});
  graph.output("loss", loss);
  auto plans = rankZeroOf(graph, 1, sbp::Strategy::Bucket);
  SentAlongTp sent;
  mlir::SymbolTableCollection symbols;
  for (auto op : (*plans->getOps<exec::PlanOp>().begin()).getBody().front().getOps<exec::CollectiveOp>())
    if (exec::GroupOp group = exec::groupOf(op, symbols);
        group.getRanks() == llvm::ArrayRef<int64_t>{0, 1, 2} && op.getData().getBytes() >= 4 * 100) {
      sent.elements[op.getRule().name] += exec::callOf(op, group).traffic().bytes / 4;
      sent.largest = std::max(sent.largest, op.getData().getBytes() / 4);
    }
  return sent;
}

// Each block gathers the rows before its heads and before its wide layer, and adds up and cuts into rows what comes out
// of both; backward does the same (Korthikanti et al. 2022, where what is gathered is kept). No matrix moves.
TEST(Gpt, BlocksDividedBetweenRanksSendActivationsAlone) {
  const std::map<std::string, int64_t> two = sentAlongTp(2).elements, four = sentAlongTp(4).elements;
  std::map<std::string, int64_t> ofBlock;
  for (const auto &[kind, elements] : four)
    if (elements != two.at(kind)) // else it is of what stands before or behind the blocks
      ofBlock[kind] = (elements - two.at(kind)) / 2;
  EXPECT_EQ(ofBlock, (std::map<std::string, int64_t>{{"all_gather", 4 * kRowElements * 2 / 3},
                                                     {"reduce_scatter", 4 * kRowElements * 2 / 3}}));
}

// Where ranks divide the vocabulary evenly, nobody has a row of logits whole: nothing that is sent has as many elements
// as the logits of a rank's part of it, or as its table.
TEST(Gpt, ADividedVocabularyKeepsItsLogitsAndItsTable) {
  constexpr int64_t kRows = 72, kVocabulary = 150, kWidth = 12;
  EXPECT_LE(sentAlongTp(2, kVocabulary).largest, kRowElements);
  EXPECT_LT(kRowElements, kRows * kVocabulary / 3);
  EXPECT_LT(kRowElements, kVocabulary * kWidth);
}

/// A step of a small GPT, of GPT-NeoX's form or not, a stage for each rank of the axis pp and round.
mlir::OwningOpRef<mlir::ModuleOp> stagesOf(Graph &graph, int64_t ranks, int64_t rounds, bool isNeox, int64_t batch,
                                           const CompileOptions &options) {
  graph.function("train");
  Tensor tokens = graph.input("tokens", ElementType::I64, {batch, 12}, split(0));
  Tensor next = graph.input("next", ElementType::I64, {batch, 12}, split(0));
  GptSizes sizes{50, 12, 4 * ranks, 2, 16, 0};
  sizes.isNeox = isNeox;
  Tensor logits = gptLogits(graph, tokens, sizes, true, {}, {/*number=*/1, ranks, rounds});
  Tensor loss = meanCrossEntropy(logits, reshape(next, {batch * 12}));
  graph.minimize(loss, Sgd{1e-3});
  graph.output("loss", loss);
  auto module = graph.finish();
  EXPECT_TRUE(module.ok()) << module.status();
  auto global = compileGlobal(*module, options);
  EXPECT_TRUE(global.ok()) << global.status();
  return *std::move(global);
}

// From each stage to the next, and back: what all ops of a stage need of a block's activations, or of their gradient,
// is moved once.
TEST(Gpt, ActivationsMoveOnceFromStageToStage) {
  constexpr int64_t kRanks = 3, kBatch = 2;
  for (const int64_t rounds : {1, 2}) {
    Graph graph({"cpu", {{"dp", 1}, {"pp", kRanks}}});
    auto module = stagesOf(graph, kRanks, rounds, /*isNeox=*/true, kBatch, {});
    std::map<std::pair<int64_t, int64_t>, int64_t> moves, expected; // elements, by stage from and to
    module->walk([&](sbp::BoxingOp op) {
      const sbp::Sbp from = sbp::signatureOf(op.getInput()).toAlgebra()[1],
                     to = sbp::signatureOf(op.getOutput()).toAlgebra()[1];
      if (from.isAt() && to.isAt() && from != to)
        moves[{from.dim, to.dim}] += op.getType().getNumElements();
    });
    for (int64_t block = 0; block + 1 < kRanks * rounds; ++block) {
      const int64_t from = block % kRanks, to = (block + 1) % kRanks;
      expected[{from, to}] += kBatch * 12 * 16;
      expected[{to, from}] += kBatch * 12 * 16;
    }
    EXPECT_EQ(moves, expected) << rounds << " rounds";
  }
}

/// How long a step takes on the ranks of a pipeline when each does its own ops one after the other, in the order of the
/// module, each for as long as it has loops; and sends them in no time. In units of what all ops of a rank take, if
/// they had as many.
double timeOnRanks(int64_t ranks, int64_t rounds, bool isNeox, int64_t microBatches, sbp::PipelineSchedule schedule) {
  Graph graph({"cpu", {{"dp", 1}, {"pp", ranks}}});
  CompileOptions options;
  options.zero.accumulate = microBatches;
  options.zero.pipeline = schedule;
  auto global = stagesOf(graph, ranks, rounds, isNeox, 2 * microBatches, options);
  std::vector<int64_t> freeAt(ranks, 0);
  int64_t work = 0;
  for (auto run : (*global->getOps<sbp::ScheduleOp>().begin()).getBody().front().getOps<sbp::RunOp>())
    for (auto m = run.getBegin(); m < run.getEnd(); ++m) {
      llvm::DenseMap<mlir::Value, int64_t> doneAt;
      auto function = global->lookupSymbol<mlir::func::FuncOp>(run.getFunction());
      for (mlir::Operation &op : function.getBody().front()) {
        int64_t cost = 0, start = 0, rank = -1;
        if (auto compute = mlir::dyn_cast<nn::ComputeOpInterface>(op))
          cost = compute.getFlops();
        for (mlir::Value operand : op.getOperands())
          start = std::max(start, doneAt.lookup(operand));
        for (mlir::Value result : op.getResults())
          if (sbp::NdAttr signature = sbp::signatureOf(result); signature && signature.toAlgebra()[1].isAt())
            rank = signature.toAlgebra()[1].dim;
        if (cost > 0 && rank >= 0) {
          start = std::max(start, freeAt[rank]);
          freeAt[rank] = start + cost;
          work += cost;
        }
        for (mlir::Value result : op.getResults())
          doneAt[result] = start + cost;
      }
    }
  return static_cast<double>(*std::max_element(freeAt.begin(), freeAt.end())) * static_cast<double>(ranks) /
         static_cast<double>(work);
}

// K stages work on M micro-batches side by side: about 1 + (K - 1) / M of what each does. (The last one has the
// product of the logits besides, and what all ranks need, all do.)
TEST(Gpt, StagesWorkSideBySide) {
  using sbp::PipelineSchedule;
  for (const bool isNeox : {false, true}) {
    EXPECT_GT(timeOnRanks(3, 1, isNeox, 8, PipelineSchedule::Sequential), 2.5);
    for (const PipelineSchedule schedule : {PipelineSchedule::OneForwardOneBackward, PipelineSchedule::Gpipe})
      EXPECT_LT(timeOnRanks(3, 1, isNeox, 8, schedule), 1.65) << sbp::toString(schedule);
    EXPECT_LT(timeOnRanks(4, 1, isNeox, 16, PipelineSchedule::OneForwardOneBackward), 1.6);
  }
}

/// Rank 0's plan for a step at dp = 3.
CommunicationReport communicationOf(int64_t batch, int stage, sbp::Strategy strategy,
                                    const Optimizer &optimizer = AdamW{1e-3}, const StepOptions &step = {}) {
  Graph graph({"cpu", {{"dp", 3}}});
  graph.function("train");
  Tensor tokens = graph.input("tokens", ElementType::I64, {batch, 12}, split(0));
  Tensor next = graph.input("next", ElementType::I64, {batch, 12}, split(0));
  Tensor logits = gptLogits(graph, tokens, {50, 12, 1, 2, 16, 0.1}, true);
  Tensor loss = meanCrossEntropy(logits, reshape(next, {batch * 12}));
  graph.minimize(loss, optimizer, step);
  graph.output("loss", loss);
  auto plans = rankZeroOf(graph, stage, strategy);
  return reportCommunication(*plans->getOps<exec::PlanOp>().begin());
}

std::string textOf(const CommunicationReport &report) {
  std::string text;
  for (const CommunicationReport::Entry &entry : report.entries)
    text += absl::StrCat(entry.collective, ": ", entry.calls, " calls, ", entry.bytesSent, " bytes, ", entry.messages,
                         " messages\n");
  return text;
}

// 32 samples on 3 ranks: what is sent depends on the variables alone, as with 33 samples.
TEST(Gpt, ARaggedBatchMovesNoActivations) {
  for (int stage : {0, 1, 2, 3})
    for (sbp::Strategy strategy : {sbp::Strategy::Bucket, sbp::Strategy::Tensor}) {
      std::string ragged = textOf(communicationOf(32, stage, strategy));
      EXPECT_EQ(ragged, textOf(communicationOf(33, stage, strategy)))
          << "stage " << stage << " " << static_cast<int>(strategy);
      EXPECT_THAT(ragged, Not(HasSubstr("all-to-all")));
    }
}

// The buckets of three groups (embedding, block, last norm), and the loss; nothing else.
TEST(Gpt, ARaggedBatchSendsGradientsParametersAndTheLoss) {
  auto callsAt = [](int stage) {
    std::map<std::string, int64_t> calls;
    for (const CommunicationReport::Entry &entry : communicationOf(32, stage, sbp::Strategy::Bucket).entries)
      calls[entry.collective] = entry.calls;
    return calls;
  };
  using Calls = std::map<std::string, int64_t>;
  EXPECT_EQ(callsAt(0), (Calls{{"all-reduce", 3 + 1}}));
  for (int stage : {1, 2})
    EXPECT_EQ(callsAt(stage), (Calls{{"all-reduce", 1}, {"reduce-scatter", 3}, {"all-gather", 3}})) << stage;
  // In forward and again in backward, but for the group that forward uses last, which is the embedding (tied).
  EXPECT_EQ(callsAt(3), (Calls{{"all-reduce", 1}, {"reduce-scatter", 3}, {"all-gather", 3 + 2}}));
}

/// By collective.
std::map<std::string, std::pair<int64_t, int64_t>> callsAndBytes(const CommunicationReport &report) {
  std::map<std::string, std::pair<int64_t, int64_t>> all;
  for (const CommunicationReport::Entry &entry : report.entries)
    all[entry.collective] = {entry.calls, entry.bytesSent};
  return all;
}

// Groups are no buckets: what ranks exchange is as without them. LAMB adds its norms, two of each variable. Muon's
// matrices are a bucket beside the rest of the block, since their state is another, and its momentum is gathered.
TEST(Gpt, OptimizersOfMembersShareTheirBucketsCollectives) {
  constexpr int64_t kVariables = 2 + 16 + 2;
  StepOptions groups, matrices;
  groups.groups = {{"no_decay", {"*.bias"}, AdamW{1e-3, 0.9, 0.999, 1e-8, 0.0}}};
  matrices.groups = {{"matrices", {"h*.up.weight", "h*.down.weight"}, Muon{1e-3}}};
  for (int stage : {1, 2, 3}) {
    SCOPED_TRACE(stage);
    const auto plain = callsAndBytes(communicationOf(32, stage, sbp::Strategy::Bucket));
    EXPECT_EQ(callsAndBytes(communicationOf(32, stage, sbp::Strategy::Bucket, AdamW{1e-3}, groups)), plain);
    auto lamb = callsAndBytes(communicationOf(32, stage, sbp::Strategy::Bucket, Lamb{1e-3}));
    EXPECT_EQ(lamb["all-gather"], plain.at("all-gather"));
    EXPECT_EQ(lamb["reduce-scatter"], plain.at("reduce-scatter"));
    EXPECT_EQ(lamb["all-reduce"].first, 1 + 2 * kVariables);
    auto muon = callsAndBytes(communicationOf(32, stage, sbp::Strategy::Bucket, AdamW{1e-3}, matrices));
    EXPECT_EQ(muon["reduce-scatter"].first, plain.at("reduce-scatter").first + 1);
    EXPECT_EQ(muon["all-gather"].first, plain.at("all-gather").first + (stage == 3 ? 2 : 1) + 1);
    EXPECT_EQ(muon["all-reduce"].first, 1 + 2); // norms
  }
}

/// Rank 0's costs of a step at dp = 3 of what GPT-NeoX would be with ten blocks, of which the last is trained.
struct FrozenCosts {
  int64_t trained = 0; ///< parameters
  std::map<std::string, std::pair<int64_t, int64_t>> communication;
  MemoryReport memory;
};

FrozenCosts costsOfTheLastBlock(int stage, sbp::Strategy strategy) {
  Graph graph({"cpu", {{"dp", 3}}});
  graph.function("train");
  Tensor tokens = graph.input("tokens", ElementType::I64, {13, 12}, split(0));
  Tensor next = graph.input("next", ElementType::I64, {13, 12}, split(0));
  GptSizes sizes{50, 12, 10, 4, 32, 0.1};
  sizes.isNeox = true;
  Tensor loss = meanCrossEntropy(gptLogits(graph, tokens, sizes, true), reshape(next, {13 * 12}));
  graph.minimize(loss, AdamW{1e-3});
  graph.output("loss", loss);
  graph.freeze(
      {"wte.weight", "out.weight", "ln.*", "h0.*", "h1.*", "h2.*", "h3.*", "h4.*", "h5.*", "h6.*", "h7.*", "h8.*"});
  auto plans = rankZeroOf(graph, stage, strategy);
  return {graph.parameters().trained, callsAndBytes(reportCommunication(*plans->getOps<exec::PlanOp>().begin())),
          MemoryReports(*plans).of(exec::entryPointsOf(*plans).front())};
}

// Gradients, states and reductions are the last block's. What is frozen is gathered where forward uses it, and again in
// backward only behind the first trained variable: of the last norm and matrix, the former (the latter is kept).
TEST(Gpt, FrozenVariablesHaveNoGradientStateOrReduction) {
  for (int stage : {0, 1, 2, 3})
    for (sbp::Strategy strategy : {sbp::Strategy::Bucket, sbp::Strategy::Tensor}) {
      SCOPED_TRACE(absl::StrCat("stage ", stage, ", strategy ", static_cast<int>(strategy)));
      const FrozenCosts costs = costsOfTheLastBlock(stage, strategy);
      const int64_t bytes = 4 * costs.trained, third = bytes / 3;
      ASSERT_EQ(costs.trained, 12 * 32 * 32 + 13 * 32);
      const auto sent = [&](const char *kind) {
        auto known = costs.communication.find(kind);
        return known == costs.communication.end() ? std::pair<int64_t, int64_t>() : known->second;
      };
      constexpr int64_t kPadding = 1024; // bytes, of 16 variables on 3 ranks, or of a bucket
      EXPECT_NEAR(costs.memory.optimizerState, 2 * (stage == 0 ? bytes : third), kPadding);
      EXPECT_LE(costs.memory.gradientBuckets + costs.memory.gradientShards, bytes + kPadding);
      EXPECT_EQ(sent("all-to-all").first, 0);
      if (stage > 0)
        EXPECT_NEAR(sent("reduce-scatter").second, 2 * third, kPadding);
      if (stage == 1 || stage == 2)
        EXPECT_NEAR(sent("all-gather").second, 2 * third, kPadding);
      if (stage == 3 && strategy == sbp::Strategy::Bucket) {
        EXPECT_EQ(sent("reduce-scatter").first, 1);
        EXPECT_EQ(sent("all-gather").first, 13 + 2); // embedding, ten blocks, ln and out; the last block and ln again
      }
    }
}

TEST(Gpt, CountsItsParameters) {
  Graph graph({"cpu", {{"dp", 4}}});
  auto module = compiledTraining(graph);
  int64_t parameters = 0;
  module->walk([&](sbp::VariableOp variable) {
    if (!variable.getFrozen() && !variable.getStateOf())
      parameters += sbp::numElements(sbp::shapeOf(variable.getType()));
  });
  EXPECT_EQ(parameters, graph.parameters().all);
  EXPECT_EQ(parameters, graph.parameters().trained);
  Graph published({"cpu", {{"dp", 1}}}); // GPT-2
  gptLogits(published, published.input("tokens", ElementType::I64, {1, 1024}), {50257, 1024, 12, 12, 768, 0}, false);
  EXPECT_EQ(published.parameters().all, 124439808);
}

TEST(Gpt, CountsKnownWords) {
  EXPECT_EQ(shareOfKnownWords("the cat sat on xyz and", "the cat and dog"),
            0.5); // sat, xyz unknown; "and" may be cut off
  EXPECT_EQ(shareOfKnownWords("a b", "a b"), 0.0);
}

} // namespace
} // namespace splitcast
