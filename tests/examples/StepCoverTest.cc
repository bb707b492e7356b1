//===- StepCoverTest.cc - Steps in micro-batches, in all the ways of ZeRO -----------===//
//
// A GPT on 3 and 4 ranks, its batch of 24 in 1, 2, 3 or 12 micro-batches (of which some give some ranks no row). For
// one number of ranks and micro-batches, one order of sums, one type and one way of updating, all else is a choice of
// memory and time: the bits are those of stage 0. How many of the ways are tried, the BUILD rule says: COVER 0, such
// that each two values of two choices meet; COVER 1, a sample drawn by a seed; COVER 2, all of two sets: what concerns
// the order of a step, and what concerns what is trained. Where all are, each is compiled here for all its ranks, and
// one trains of those that give the same programs (stage 0 has no use for most choices). Threads, transports and what
// elementwise ops make again are in COVER 0 and 1 alone.
//
//===----------------------------------------------------------------------===//
#include "compiler/Compile.h"
#include "compiler/Pipelines.h"
#include "dialects/sbp/Sbp.h"
#include "tests/examples/TrainingRuns.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <random>
#include <set>

namespace splitcast {
namespace {

constexpr const char *kUnsaid = ""; ///< left to the default

/// How a step is computed, and what is chosen besides. A way has the number of a value of each.
struct Choice {
  const char *name;
  std::vector<const char *> values;
  size_t ofSteps, ofTraining; ///< how many of the values, from the first, are met in either of the sets of COVER 2
};
const std::vector<Choice> kChoices = {{"ranks", {"3", "4"}, 2, 2},
                                      {"accumulate", {"3", "1", "2", "12"}, 4, 1},
                                      {"accumulate-order", {"per-micro-batch", "per-step"}, 2, 2},
                                      {"compute-type", {"own", "bf16", "f16"}, 1, 3},
                                      {"training", {"plain", "clipped"}, 1, 2},
                                      {"stage", {"0", "1", "2", "3"}, 4, 4},
                                      {"strategy", {"bucket", "tensor", "whole"}, 3, 3},
                                      {"bucket-bytes", {kUnsaid, "2000"}, 1, 2},
                                      {"keep", {"never", "last", "always", "step"}, 1, 1},
                                      {"recompute", {"no", "yes", "elementwise"}, 2, 1},
                                      {"prefetch", {"0", "2", "auto"}, 2, 1},
                                      {"update", {"last", "reduced"}, 2, 1},
                                      {"threads", {"1", "2", "3"}, 1, 1},
                                      {"transport", {"memory", "messages"}, 1, 1}};
constexpr size_t kTraining = 4; ///< of the model, and not of how it is compiled
constexpr size_t kStrategy = 6, kBucketBytes = 7;
constexpr size_t kFirstFree = 5;                 ///< those before it may change bits
constexpr size_t kThreads = 12, kTransport = 13; ///< of the run, and of no program
using Way = std::vector<size_t>;

std::string valueOf(const Way &way, size_t choice) { return kChoices[choice].values[way[choice]]; }

int64_t ranksOf(const Way &way) { return std::atoll(valueOf(way, 0).c_str()); }

/// What --enable-zero says; a strategy without buckets cannot say how large they are.
std::string zeroOf(const Way &way) {
  std::vector<std::string> options;
  for (size_t i = 1; i < kThreads; ++i) {
    const bool isSaid = i != kTraining && valueOf(way, i) != kUnsaid;
    if (isSaid && !(i == kBucketBytes && valueOf(way, kStrategy) == "tensor"))
      options.push_back(absl::StrCat(kChoices[i].name, "=", valueOf(way, i)));
  }
  return absl::StrJoin(options, ",");
}

bool isClipped(const Way &way) { return way[kTraining] == 1; }

/// AdamW alone; or gradients clipped by their norm, LAMB, and two groups, which share buckets with the rest.
Command trainedBy(bool isClipped, Command command) {
  if (!isClipped)
    return command;
  return with(std::move(command),
              {"--clip-norm=0.25", "--optimizer=lamb", "--group=matrices:*.up.weight,*.down.weight:muon,bf16=1",
               "--group=no_decay:*.bias:adamw,weight-decay=0"});
}

std::string textOf(const Way &way) {
  return absl::StrCat(zeroOf(way), ", training=", valueOf(way, kTraining), ", threads=", valueOf(way, kThreads),
                      ", transport=", valueOf(way, kTransport));
}

/// The same sums at stage 0: one micro-batch has no order.
Way plainOf(const Way &way) {
  Way plain(way.size(), 0);
  std::copy_n(way.begin(), kFirstFree, plain.begin());
  if (valueOf(plain, 1) == "1")
    plain[2] = 0;
  return plain;
}

Way randomWay(std::mt19937 &random) {
  Way way;
  for (const Choice &choice : kChoices)
    way.push_back(random() % choice.values.size());
  return way;
}

/// Of each choice so many values, from the first, each with each of the others.
std::vector<Way> allOf(size_t Choice::*count) {
  std::vector<Way> ways = {{}};
  for (const Choice &choice : kChoices) {
    std::vector<Way> longer;
    for (const Way &way : ways)
      for (size_t value = 0; value < choice.*count; ++value) {
        longer.push_back(way);
        longer.back().push_back(value);
      }
    ways = std::move(longer);
  }
  return ways;
}

std::vector<Way> bothSets() {
  const std::vector<Way> steps = allOf(&Choice::ofSteps), training = allOf(&Choice::ofTraining);
  std::set<Way> ways(steps.begin(), steps.end());
  ways.insert(training.begin(), training.end());
  return {ways.begin(), ways.end()};
}

using Pair = std::array<size_t, 4>; ///< two choices, each with a value

std::set<Pair> pairsOf(const Way &way) {
  std::set<Pair> pairs;
  for (size_t a = 0; a < way.size(); ++a)
    for (size_t b = a + 1; b < way.size(); ++b)
      pairs.insert({a, way[a], b, way[b]});
  return pairs;
}

/// Of many random ways, always one that has the most pairs that none before it had.
std::vector<Way> pairwise() {
  std::set<Pair> left;
  for (size_t a = 0; a < kChoices.size(); ++a)
    for (size_t b = a + 1; b < kChoices.size(); ++b)
      for (size_t valueOfA = 0; valueOfA < kChoices[a].values.size(); ++valueOfA)
        for (size_t valueOfB = 0; valueOfB < kChoices[b].values.size(); ++valueOfB)
          left.insert({a, valueOfA, b, valueOfB});
  std::mt19937 random(12);
  std::vector<Way> ways;
  while (!left.empty()) {
    Way best;
    size_t most = 0;
    for (int candidate = 0; candidate < 300; ++candidate) {
      Way way = randomWay(random);
      const std::set<Pair> pairs = pairsOf(way);
      const auto isLeft = [&](const Pair &pair) { return left.count(pair) > 0; };
      const size_t count = std::count_if(pairs.begin(), pairs.end(), isLeft);
      if (count > most) {
        best = std::move(way);
        most = count;
      }
    }
    if (most == 0)
      continue;
    for (const Pair &pair : pairsOf(best))
      left.erase(pair);
    ways.push_back(std::move(best));
  }
  return ways;
}

std::vector<Way> sample(size_t count) {
  std::mt19937 random(3);
  std::vector<Way> ways(count);
  for (Way &way : ways)
    way = randomWay(random);
  return ways;
}

std::vector<Way> chosen() {
  constexpr size_t kSampled = 200;
  return COVER == 0 ? pairwise() : COVER == 1 ? sample(kSampled) : bothSets();
}

Command gptAs(const std::string &zero, bool isClipped, int64_t steps) {
  const Command command = {
      programPath("examples/gpt/gpt"),
      "--text=text",
      "--layers=2",
      "--heads=2",
      "--width=12",
      "--context=10",
      "--batch=24",
      "--dropout=0.25",
      "--sample=0",
      absl::StrCat("--steps=", steps),
      "--loss-scale=initial=1024,interval=1", // which f16 needs, and which changes no bit of the others
      "--enable-zero=" + zero};
  return trainedBy(isClipped, command);
}

Trained trainAs(const std::string &directory, const Way &way) {
  const Command command = gptAs(zeroOf(way), isClipped(way), 2);
  return train(directory, ranksOf(way),
               with(command, {absl::StrCat("--threads=", valueOf(way, kThreads)),
                              absl::StrCat("--transport=", valueOf(way, kTransport))}));
}

/// What the ranks run.
class Programs {
public:
  explicit Programs(std::string directory) : directory(std::move(directory)) {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
  }

  /// A digest of all ranks' programs; empty, with a failure, where a way does not compile.
  std::string of(const Way &way) {
    CompileOptions options;
    options.zero = {}; // as the example begins
    const std::optional<std::string> wrong = sbp::parseEnableZero(zeroOf(way), &options.zero);
    auto global = compileGlobal(model(way), options);
    EXPECT_TRUE(!wrong && global.ok()) << textOf(way) << ": " << wrong.value_or("") << global.status();
    llvm::SHA256 digest;
    for (int64_t rank = 0; global.ok() && rank < ranksOf(way); ++rank) {
      auto plan = compilePlan(**global, options, rank);
      EXPECT_TRUE(plan.ok()) << textOf(way) << ", rank " << rank << ": " << plan.status();
      if (!plan.ok())
        return "";
      digest.update(printed(**plan));
    }
    return llvm::toHex(digest.final(), /*LowerCase=*/true);
  }

private:
  /// Without policies, which the report alone reads in a plan.
  static std::string printed(mlir::ModuleOp plan) {
    for (auto variable : plan.getOps<sbp::VariableOp>())
      variable.removePolicyAttr();
    std::string text;
    llvm::raw_string_ostream stream(text);
    plan.print(stream, mlir::OpPrintingFlags().enableDebugInfo(false));
    return text;
  }

  mlir::ModuleOp model(const Way &way) {
    const int64_t ranks = ranksOf(way);
    auto &module = models[{ranks, isClipped(way)}];
    if (!module) {
      const Command write = with(gptAs("stage=0", isClipped(way), 0), {"--write-mlir=model.mlir"});
      const JobResult written = runIn(directory, ranks, write);
      EXPECT_TRUE(written.succeeded()) << written.describe();
      module = mlir::parseSourceString<mlir::ModuleOp>(readFile(directory + "/model.mlir"), &context);
    }
    return *module;
  }

  const std::string directory;
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::map<std::pair<int64_t, bool>, mlir::OwningOpRef<mlir::ModuleOp>> models; ///< by ranks and training
};

/// Of one number of ranks, so that two processes can run at once what takes long.
class StepCover : public ::testing::TestWithParam<int64_t> {};

TEST_P(StepCover, AllWaysHaveTheBitsOfStageZero) {
  const std::string directory = makeWorkDirectory();
  Programs programs(directory);
  std::map<std::string, Trained> trained; ///< by program
  auto trainedAs = [&](const Way &way) -> const Trained & {
    auto [known, isNew] = trained.try_emplace(COVER == 2 ? programs.of(way) : textOf(way));
    if (isNew)
      known->second = trainAs(directory, way);
    return known->second;
  };
  std::map<Way, std::string> plain; ///< variables
  size_t numWays = 0;
  for (const Way &way : chosen()) {
    if (ranksOf(way) != GetParam())
      continue;
    const Trained &expected = trainedAs(plainOf(way)), &found = trainedAs(way);
    ASSERT_FALSE(expected.variables.empty());
    plain[plainOf(way)] = expected.variables;
    EXPECT_EQ(found.losses, expected.losses) << ranksOf(way) << " ranks, " << textOf(way);
    EXPECT_TRUE(found.variables == expected.variables) << ranksOf(way) << " ranks, " << textOf(way);
    ++numWays;
  }
  // Micro-batches are added up in another order than the batch: were they not, nothing would have been tested.
  std::set<std::string> different;
  std::set<size_t> counts;
  for (const auto &[way, variables] : plain) {
    different.insert(variables);
    counts.insert(way[1]);
  }
  ASSERT_GT(plain.size(), counts.size());     // both orders of some number of micro-batches
  EXPECT_GT(different.size(), counts.size()); // and the order changes sums, too
  std::printf("%zu ways, %zu programs; %zu are of stage 0, of which %zu differ\n", numWays, trained.size(),
              plain.size(), different.size());
}

INSTANTIATE_TEST_SUITE_P(Ranks, StepCover, ::testing::Values(3, 4));

} // namespace
} // namespace splitcast
