// What dropout draws: other elements in each step, for each op and each seed, and the same for any number of ranks.
#include "compiler/graph/Graph.h"
#include "compiler/launch/Session.h"
#include "tests/differential/Sessions.h"

#include <gtest/gtest.h>

#include <set>

namespace splitcast {
namespace {

constexpr int64_t kRows = 10, kColumns = 6, kSteps = 3; // rows are ragged over 3 and 4 ranks

/// The two results of each step, of `ranks` ranks: 6 times 10 x 6 elements.
std::vector<std::vector<float>> draw(int64_t ranks, uint64_t seed) {
  Graph graph({"cpu", {{"dp", ranks}}});
  graph.function("draw");
  Tensor x = graph.input("x", ElementType::F32, {kRows, kColumns}, split(0));
  graph.output("first", dropout(x, 0.5));
  graph.output("second", dropout(x, 0.5));
  std::string text = *graph.text();
  std::vector<std::vector<float>> results(2 * kSteps, std::vector<float>(kRows * kColumns));
  SessionOptions options;
  options.seed = seed;
  absl::Status status = differential::onSessions(ranks, text, options, [&](Session &session, runtime::Communicator &) {
    std::vector<float> ones(kRows * kColumns, 1.0F);
    absl::Status status;
    for (int64_t step = 0; step < kSteps; ++step) {
      status.Update(session.setInput("draw", 0, ones.data()));
      status.Update(session.run("draw"));
      for (size_t output : {0, 1}) {
        sbp::Interval rows = (*session.outputs("draw"))[output].boxes[0][0];
        status.Update(session.getOutput("draw", output, &results[2 * step + output][rows.begin * kColumns]));
      }
    }
    return status;
  });
  EXPECT_TRUE(status.ok()) << status;
  return results;
}

TEST(Random, EachStepAndOpDrawsAnew) {
  std::vector<std::vector<float>> drawn = draw(1, 5);
  EXPECT_EQ(std::set<std::vector<float>>(drawn.begin(), drawn.end()).size(), drawn.size());
  for (const std::vector<float> &elements : drawn) {
    int64_t kept = 0;
    for (float element : elements) {
      EXPECT_TRUE(element == 0.0F || element == 2.0F) << element;
      kept += element != 0.0F;
    }
    // 30 of 60 are expected, with a deviation of 3.9.
    EXPECT_GT(kept, 12);
    EXPECT_LT(kept, 48);
  }
}

TEST(Random, SeedsDiffer) { EXPECT_NE(draw(1, 5), draw(1, 6)); }

TEST(Random, RanksDoNotMatter) {
  std::vector<std::vector<float>> one = draw(1, 5);
  EXPECT_EQ(draw(3, 5), one);
  EXPECT_EQ(draw(4, 5), one);
}

} // namespace
} // namespace splitcast
