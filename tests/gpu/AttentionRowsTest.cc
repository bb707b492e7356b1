// Attention of f32 with scores in memory, as a GPU's threads make its rows: of one warp, and of several; hidden by
// causality, a mask, or both.
#include "tests/gpu/AttentionCase.h"

namespace splitcast::gpu_tests {
namespace {

using AttentionRowsTest = AttentionTest;

TEST_F(AttentionRowsTest, OfOneWarp) {
  for (const bool isCausal : {false, true})
    for (const bool hasMask : {false, true}) {
      for (const bool hasStatistics : {false, true})
        compare({/*positions=*/5, /*keys=*/70, /*heads=*/3, /*width=*/66, isCausal, hasMask, hasStatistics});
      compare({/*positions=*/64, /*keys=*/64, /*heads=*/2, /*width=*/65, isCausal, hasMask});
    }
}

TEST_F(AttentionRowsTest, OfSeveralWarps) {
  for (const bool isCausal : {false, true})
    for (const bool hasMask : {false, true})
      compare(
          {/*positions=*/3, /*keys=*/2500, /*heads=*/1, /*width=*/66, isCausal, hasMask, /*hasStatistics=*/isCausal});
  compare({/*positions=*/1100, /*keys=*/1030, /*heads=*/1, /*width=*/65, /*isCausal=*/true, /*hasMask=*/false});
}

TEST_F(AttentionRowsTest, NoKey) {
  Floats query = drawn(2 * 65, 2), key = drawn(3 * 65, 3), value = drawn(3 * 65, 4), output(2 * 65, 77),
         statistics(2, 77);
  std::vector<int64_t> mask = {0, 0, 0};
  const Case c{/*positions=*/2,       /*keys=*/3,         /*heads=*/1,
               /*width=*/65,          /*isCausal=*/false, /*hasMask=*/true,
               /*hasStatistics=*/true};
  launchAttention(
      c, false,
      {bufferOf(query), bufferOf(key), bufferOf(value), bufferOf(mask), bufferOf(output), bufferOf(statistics)});
  EXPECT_EQ(output, Floats(2 * 65));
  EXPECT_EQ(statistics, Floats({0, 0}));
}

} // namespace
} // namespace splitcast::gpu_tests
