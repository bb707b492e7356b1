// The GPT over more steps: to the bit at every stage, and does it learn to write?
#include "tests/examples/TrainingRuns.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

#include <csignal>
#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace splitcast {
namespace {

/// A text that every Debian system has.
constexpr char kText[] = "--text=/usr/share/common-licenses/GPL-3";

class GptSlowRanks : public ::testing::TestWithParam<int64_t> {};

TEST_P(GptSlowRanks, HundredStepsAreTheSameAtEveryStage) {
  compareAll({programPath("examples/gpt/gpt"), kText, "--layers=2", "--width=64", "--context=32", "--batch=14",
              "--dropout=0.1", "--sample=0"},
             GetParam(), 100);
}

INSTANTIATE_TEST_SUITE_P(Gpt, GptSlowRanks, ::testing::Values(3, 4));

/// Of four layers, whose heads, rows and samples meshes divide, the samples raggedly.
Command divisible() {
  return {programPath("examples/gpt/gpt"),
          "--text=text",
          "--layers=4",
          "--heads=4",
          "--width=32",
          "--context=20",
          "--batch=14",
          "--dropout=0.25",
          "--sample=0"};
}

struct Mesh {
  const char *flag;
  int64_t ranks;
  bool dividesBatch, hasStages;
};

class GptSlowMesh : public ::testing::TestWithParam<Mesh> {};

// As alone, whatever the mesh, and to the bit whatever the stage of ZeRO and the order of the pipeline.
TEST_P(GptSlowMesh, TrainsAsAlone) {
  const auto [flag, ranks, dividesBatch, hasStages] = GetParam();
  const std::string directory = makeWorkDirectory();
  const std::vector<float> alone = exactLosses(train(directory, 1, with(divisible(), {"--steps=20"})).losses);
  ASSERT_EQ(alone.size(), 20u);
  const Command onMesh = with(divisible(), {std::string("--mesh=") + flag, "--steps=20"});
  for (const char *steps : {"accumulate=1", "accumulate=7"}) {
    if (!hasStages && steps != std::string("accumulate=1"))
      continue;
    const Command inOrder = hasStages ? with(onMesh, {"--pipeline=sequential"}) : onMesh;
    const Trained expected = train(directory, ranks, with(inOrder, {absl::StrCat("--enable-zero=stage=0,", steps)}));
    const std::vector<float> losses = exactLosses(expected.losses);
    ASSERT_EQ(losses.size(), alone.size());
    for (size_t step = 0; step < losses.size(); ++step)
      EXPECT_NEAR(losses[step], alone[step], 1e-5 * alone[step]) << steps << ", step " << step;
    for (const int stage : {1, 2, 3}) {
      if (!dividesBatch && stage != 3)
        continue;
      const Trained found =
          train(directory, ranks, with(onMesh, {absl::StrCat("--enable-zero=stage=", stage, ",", steps)}));
      EXPECT_EQ(found.losses, expected.losses) << steps << ", stage " << stage;
      EXPECT_TRUE(found.variables == expected.variables) << steps << ", stage " << stage;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Gpt, GptSlowMesh,
                         ::testing::Values(Mesh{"dp=4", 4, true, false}, Mesh{"tp=4", 4, false, false},
                                           Mesh{"dp=2,tp=2", 4, true, false}, Mesh{"dp=2,pp=2", 4, true, true},
                                           Mesh{"pp=2,tp=2", 4, false, true}, Mesh{"dp=2,pp=2,tp=2", 8, true, true}),
                         [](const auto &info) {
                           return absl::StrReplaceAll(info.param.flag, {{"=", ""}, {",", "_"}});
                         });

// Each knows of a rank that it shares no group with, too.
TEST(GptSlow, ALostRankOfAMeshEndsTheOthers) {
  Job job;
  job.directory = makeWorkDirectory();
  job.commands = {with(divisible(), {"--mesh=dp=2,pp=2,tp=2", "--steps=1000000", "--accumulate=7",
                                     "--metrics=metrics.jsonl", "--timeout=30"})};
  job.ranks = 8;
  job.byVariables = true;
  job.limitSeconds = 120;
  bool killed = false;
  job.watch = [&](const std::map<int64_t, int> &pids) {
    if (!killed && pids.count(5) != 0 && !readFile(job.directory + "/metrics.jsonl").empty()) // once it trains
      killed = kill(pids.at(5), SIGKILL) == 0;
  };
  const JobResult result = runJob(job);
  EXPECT_TRUE(killed);
  std::vector<int> expected(8, 1);
  expected[5] = 128 + SIGKILL;
  EXPECT_EQ(result.rankStatuses, expected) << result.describe();
}

TEST(GptSlow, LearnsInHundredSteps) {
  std::string directory = makeWorkDirectory();
  Trained trained = train(directory, 4, {programPath("examples/gpt/gpt"), kText, "--steps=100", "--sample=0"});
  std::vector<float> losses = exactLosses(trained.losses);
  ASSERT_EQ(losses.size(), 100u);
  float sum = 0;
  for (size_t step = 90; step < 100; ++step)
    sum += losses[step];
  EXPECT_LT(sum / 10, 2.8F);
}

TEST(GptSlow, DefaultRunLearnsToWrite) {
  std::string directory = makeWorkDirectory();
  JobResult result = runIn(directory, 4, {programPath("examples/gpt/gpt"), kText, "--losses=losses"}, 900);
  ASSERT_TRUE(result.succeeded()) << result.describe();
  EXPECT_LT(exactLosses(readFile(directory + "/losses")).back(), 1.6F);
  const std::string &output = result.rankOutputs[0];
  size_t begin = output.rfind("--- ", output.find("% of the written words"));
  ASSERT_NE(begin, std::string::npos) << output;
  EXPECT_GE(std::atof(output.c_str() + begin + 4), 40.0);
}

} // namespace
} // namespace splitcast
