// The GPT over more steps: to the bit at every stage, and does it learn to write?
#include "tests/examples/TrainingRuns.h"

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
