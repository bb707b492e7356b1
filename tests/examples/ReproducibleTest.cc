//===- ReproducibleTest.cc - The bits of a step on any number of ranks ------------------===//
//
// As many micro-batches in all, on however many ranks, per micro-batch or per step, at any stage: `--reproducible`
// gives one set of bits. Without it the same ways have several, or nothing would have been tested.
//
//===----------------------------------------------------------------------===//
#include "tests/examples/TrainingRuns.h"

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include <set>

namespace splitcast {
namespace {

struct Way {
  int64_t ranks, microBatches; ///< of each rank
  const char *order;
  int stage;
};

Trained trainAs(const std::string &directory, const Way &way, const char *reproducible) {
  return train(directory, way.ranks,
               {programPath("examples/gpt/gpt"), "--text=text", "--layers=2", "--heads=2", "--width=12", "--context=10",
                "--batch=48", "--dropout=0.25", "--sample=0", "--steps=2",
                absl::StrCat("--enable-zero=stage=", way.stage, ",reproducible=", reproducible,
                             ",strategy=", way.ranks % 2 == 0 ? "tensor" : "bucket"),
                absl::StrCat("--accumulate=", way.microBatches), absl::StrCat("--accumulate-order=", way.order)});
}

void expectOneSetOfBits(const std::vector<Way> &ways) {
  const std::string directory = makeWorkDirectory();
  std::set<std::string> exact, rounded, losses;
  for (const Way &way : ways) {
    const Trained trained = trainAs(directory, way, "yes");
    ASSERT_FALSE(trained.variables.empty());
    exact.insert(trained.variables);
    losses.insert(trained.losses);
    EXPECT_EQ(exact.size(), 1U) << way.ranks << " ranks, " << way.order << ", stage " << way.stage;
    EXPECT_EQ(losses.size(), 1U) << way.ranks << " ranks, " << way.order << ", stage " << way.stage;
  }
  for (const Way &way : {ways.front(), ways.back()})
    rounded.insert(trainAs(directory, way, "no").variables);
  EXPECT_EQ(rounded.size(), 2U);
}

TEST(Reproducible, TwelveMicroBatches) {
  expectOneSetOfBits({{1, 12, "per-micro-batch", 0},
                      {2, 6, "per-micro-batch", 2},
                      {3, 4, "per-micro-batch", 3},
                      {4, 3, "per-micro-batch", 1},
                      {1, 12, "per-step", 1},
                      {4, 3, "per-step", 2},
                      {3, 4, "per-step", 3}});
}

TEST(Reproducible, SixteenMicroBatches) {
  expectOneSetOfBits({{1, 16, "per-micro-batch", 1},
                      {2, 8, "per-micro-batch", 3},
                      {4, 4, "per-micro-batch", 2},
                      {1, 16, "per-step", 0},
                      {2, 8, "per-step", 2},
                      {4, 4, "per-step", 3}});
}

/// A step that is one has as many addends as ranks.
TEST(Reproducible, FourRanksAndFourMicroBatches) {
  expectOneSetOfBits({{4, 1, "per-micro-batch", 2}, {2, 2, "per-micro-batch", 3}, {1, 4, "per-step", 0}});
}

} // namespace
} // namespace splitcast
