// What a session chooses within a limit of memory, and that it trains to the same bits.
#include "compiler/launch/MemoryLimit.h"
#include "compiler/graph/Graph.h"
#include "compiler/launch/Session.h"
#include "tests/differential/Sessions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

namespace splitcast {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kRanks = 3;

/// Whose activations and parameters are both worth saving.
std::string modelText() {
  Graph graph({"cpu", {{"dp", kRanks}}});
  graph.function("train");
  Tensor y = graph.input("x", ElementType::F32, {96, 40}, split(0));
  for (const char *name : {"a", "b", "c", "d"})
    y = gelu(scale(gelu(linear(y, name, 40)), 0.5));
  Tensor loss = mean(y);
  graph.minimize(loss, Adam{0.1});
  graph.output("loss", loss);
  return *graph.text();
}

/// What a rank had, and what it trained to.
struct Outcome {
  std::optional<sbp::Policy> chosen;
  int64_t peakBytes = 0; ///< of the rank with most
  std::vector<float> weights;
};

absl::StatusOr<Outcome> outcomeOf(const std::string &zero, const std::vector<std::string> &limits = {}) {
  Outcome outcome;
  std::mutex mutex;
  const auto optionsOf = [&](int64_t rank) {
    SessionOptions options;
    EXPECT_EQ(sbp::parseEnableZero(zero, &options.compile.zero), std::nullopt);
    if (!limits.empty())
      EXPECT_EQ(sbp::parseZeroOptions(limits[rank], &options.compile.zero), std::nullopt);
    return options;
  };
  const absl::Status status = differential::onSessions(
      kRanks, modelText(), optionsOf, [&](Session &session, runtime::Communicator &communicator) {
        auto x = session.inputPiece("train", 0);
        if (!x.ok())
          return x.status();
        auto *elements = reinterpret_cast<float *>(x->data());
        for (size_t i = 0; i < x->size() / sizeof(float); ++i)
          elements[i] = static_cast<float>((i * 7 + 3 * static_cast<size_t>(communicator.rank())) % 11) - 5;
        for (int step = 0; step < 2; ++step)
          if (absl::Status ran = session.run("train"); !ran.ok())
            return ran;
        std::vector<float> weights(40 * 40);
        if (absl::Status read = session.readVariable("a.weight", weights.data()); !read.ok())
          return read;
        const std::lock_guard<std::mutex> lock(mutex);
        outcome.peakBytes = std::max(outcome.peakBytes, session.memoryReport("train").peakBytes());
        outcome.chosen = session.chosenPolicy();
        outcome.weights = weights;
        return absl::OkStatus();
      });
  return status.ok() ? absl::StatusOr<Outcome>(outcome) : status;
}

// The first way whose peak is within the limit on every rank, to the byte.
TEST(MemoryLimit, TheFastestThatFitsIsChosen) {
  for (const char *rest : {"", ",one-copy=no"}) {
    const auto free = outcomeOf(std::string("stage=0") + rest);
    ASSERT_TRUE(free.ok()) << free.status();
    EXPECT_EQ(free->chosen, std::nullopt);
    const std::vector<sbp::Policy> ways = waysToSave({});
    ASSERT_EQ(ways.size(), 5u);
    int64_t least = std::numeric_limits<int64_t>::max();
    for (const sbp::Policy &way : ways) {
      const auto alone = outcomeOf(toString(way) + rest);
      ASSERT_TRUE(alone.ok()) << alone.status();
      if (alone->peakBytes >= least) // nothing is within its limit that is not within the one before
        continue;
      least = alone->peakBytes;
      const auto within = outcomeOf("memory-limit=" + std::to_string(least) + rest);
      ASSERT_TRUE(within.ok()) << within.status();
      EXPECT_EQ(within->chosen, std::optional(way));
      EXPECT_EQ(within->peakBytes, least);
      EXPECT_EQ(within->weights, free->weights);
    }
    EXPECT_LT(least * 3, free->peakBytes * 2);
    const auto none = outcomeOf("memory-limit=" + std::to_string(least - 1) + rest);
    EXPECT_EQ(none.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(none.status().message()),
                HasSubstr("the least predicted peak that was found is " + std::to_string(least)));
  }
}

// What the user says stays, whatever it costs.
TEST(MemoryLimit, WhatIsSaidStays) {
  const sbp::Policy said = sbp::Policy().setStage(1).setRecompute(sbp::Recompute::No);
  EXPECT_EQ(waysToSave(said), (std::vector<sbp::Policy>{said}));
  std::vector<int64_t> stages;
  for (const sbp::Policy &way : waysToSave(sbp::Policy().setRecompute(sbp::Recompute::Yes)))
    stages.push_back(way.stage());
  EXPECT_EQ(stages, (std::vector<int64_t>{2, 3}));
  const auto refused = outcomeOf("stage=1,recompute=no,memory-limit=1000");
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("with stage=1,"));
}

// Another way on each rank would be other programs.
TEST(MemoryLimit, RanksHaveOneLimit) {
  const auto result = outcomeOf("stage=2", {"memory-limit=1000000", "memory-limit=1000000", "memory-limit=2000000"});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kFailedPrecondition) << result.status();
  // Of one rank nothing is left open: it would give up where the others go on.
  const auto said = outcomeOf("memory-limit=1000", {"stage=2,recompute=no", "stage=2", "stage=2"});
  EXPECT_EQ(said.status().code(), absl::StatusCode::kFailedPrecondition) << said.status();
}

} // namespace
} // namespace splitcast
