// Attention without scores in memory, as a GPU's warps multiply its tiles: one tile of positions and keys, or several,
// of which the last ones are not full; hidden by causality, a mask, or both.
#include "tests/gpu/AttentionCase.h"

namespace splitcast::gpu_tests {
namespace {

using TileAttentionTest = AttentionTest;

TEST_F(TileAttentionTest, OneTile) {
  for (const bool isCausal : {false, true})
    for (const bool hasMask : {false, true})
      compare({/*positions=*/64, /*keys=*/64, /*heads=*/2, /*width=*/8, isCausal, hasMask});
}

TEST_F(TileAttentionTest, TilesThatAreNotFull) {
  for (const bool isCausal : {false, true})
    for (const bool hasStatistics : {false, true})
      compare({/*positions=*/70, /*keys=*/133, /*heads=*/3, /*width=*/13, isCausal,
               /*hasMask=*/hasStatistics != isCausal, hasStatistics});
  compare({/*positions=*/150, /*keys=*/67, /*heads=*/1, /*width=*/64, /*isCausal=*/true, /*hasMask=*/false});
  compare({/*positions=*/1, /*keys=*/1, /*heads=*/1, /*width=*/1, /*isCausal=*/true, /*hasMask=*/false});
}

TEST_F(TileAttentionTest, SeveralFullTiles) {
  for (const bool hasStatistics : {false, true})
    compare({/*positions=*/192, /*keys=*/192, /*heads=*/1, /*width=*/40, /*isCausal=*/true, /*hasMask=*/false,
             hasStatistics});
}

/// cuDNN takes no mask, and no such width.
TEST_F(TileAttentionTest, OfSmallFloats) {
  for (const bool hasStatistics : {false, true})
    compare({/*positions=*/70, /*keys=*/133, /*heads=*/2, /*width=*/20, /*isCausal=*/hasStatistics, /*hasMask=*/true,
             hasStatistics, /*isSmall=*/true});
}

/// Scores that no exponential could take, unless the largest of each row is subtracted. (They are exact: the scale is a
/// power of two.)
TEST_F(TileAttentionTest, LargeScores) {
  compare({/*positions=*/66, /*keys=*/70, /*heads=*/1, /*width=*/4, /*isCausal=*/false, /*hasMask=*/false,
           /*hasStatistics=*/true, /*isSmall=*/false, /*scale=*/16});
}

/// Sums of many numbers of one sign, which the cut-off sums of tensor cores would falsify by 4e-5.
TEST_F(TileAttentionTest, LongSums) {
  compare({/*positions=*/3, /*keys=*/4096, /*heads=*/1, /*width=*/4, /*isCausal=*/false, /*hasMask=*/false,
           /*hasStatistics=*/true, /*isSmall=*/false, /*scale=*/0.06, /*arePositive=*/true});
}

/// Scores of -2^126 are above those of keys that are not seen.
TEST_F(TileAttentionTest, LowestScores) {
  Floats gradient = {1, 1}, query = {1, 1}, key = {-1, -1, -1}, value = {1, 2, 4}, output(2, 77), statistics(2, 77),
         queryGrad(2, 77), keyGrad(3, 77), valueGrad(3, 77);
  std::vector<int64_t> mask = {0, 1, 1};
  for (const bool hasStatistics : {false, true}) {
    const Case c{/*positions=*/2,  /*keys=*/3,    /*heads=*/1,       /*width=*/1,      /*isCausal=*/false,
                 /*hasMask=*/true, hasStatistics, /*isSmall=*/false, /*scale=*/0x1p126};
    std::vector<runtime::Buffer> operands = {bufferOf(query), bufferOf(key), bufferOf(value), bufferOf(mask),
                                             bufferOf(output)};
    if (hasStatistics)
      operands.push_back(bufferOf(statistics));
    launchAttention(c, false, operands);
    EXPECT_EQ(output, Floats({3, 3}));
    if (hasStatistics) // which have no digits for the logarithm of 2
      continue;
    std::vector<runtime::Buffer> backward = {bufferOf(gradient)};
    backward.insert(backward.end(), operands.begin(), operands.end() - 1);
    for (Floats *result : {&queryGrad, &keyGrad, &valueGrad})
      backward.push_back(bufferOf(*result));
    launchAttention(c, true, backward);
    EXPECT_EQ(queryGrad, Floats(2)); // both keys have one slope, of either sign
    EXPECT_EQ(valueGrad, Floats({0, 1, 1}));
  }
}

TEST_F(TileAttentionTest, NoKey) {
  Floats gradient = drawn(2, 1), query = drawn(2, 2), key = drawn(3, 3), value = drawn(3, 4), output(2, 77),
         statistics(2, 77), queryGrad(2, 77), keyGrad(3, 77), valueGrad(3, 77);
  std::vector<int64_t> mask = {0, 0, 0};
  const Case c{/*positions=*/2,       /*keys=*/3,         /*heads=*/1,
               /*width=*/1,           /*isCausal=*/false, /*hasMask=*/true,
               /*hasStatistics=*/true};
  const std::vector<runtime::Buffer> operands = {bufferOf(query), bufferOf(key),    bufferOf(value),
                                                 bufferOf(mask),  bufferOf(output), bufferOf(statistics)};
  launchAttention(c, false, operands);
  EXPECT_EQ(output, Floats(2));
  EXPECT_EQ(statistics, Floats(2));
  std::vector<runtime::Buffer> backward = {bufferOf(gradient)};
  backward.insert(backward.end(), operands.begin(), operands.end());
  for (Floats *result : {&queryGrad, &keyGrad, &valueGrad})
    backward.push_back(bufferOf(*result));
  launchAttention(c, true, backward);
  EXPECT_EQ(queryGrad, Floats(2));
  EXPECT_EQ(keyGrad, Floats(3));
  EXPECT_EQ(valueGrad, Floats(3));
}

} // namespace
} // namespace splitcast::gpu_tests
