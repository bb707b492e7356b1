// What attention needs beside its operands, counted by hand, and where it is too much.
#include "dialects/exec/AttentionWorkspace.h"

#include "gtest/gtest.h"

#include <cstdint>
#include <tuple>

namespace splitcast::exec {
namespace {

/// 2 samples, 77 positions, 131 keys, 3 heads of width 8.
AttentionExtents extentsOf(bool isGradient, int64_t elementBytes) {
  return {isGradient, /*hasMask=*/false, 2, 77, 131, 3, 8, elementBytes};
}

TEST(AttentionWorkspaceTest, OnTheHost) {
  EXPECT_EQ(hostAttentionWorkspace(extentsOf(false, 4)), 2 * 64 * 131 * 4);
  EXPECT_EQ(hostAttentionWorkspace(extentsOf(true, 8)), 2 * 64 * 131 * 8);
  AttentionExtents empty = extentsOf(false, 4);
  empty.keys = 0;
  EXPECT_EQ(hostAttentionWorkspace(empty), 0);
  // Of bf16 a head's query and output, 77 * 8 * 4 bytes up to the next multiple of 64, and its key and value, 131 * 8 *
  // 4, in f32.
  EXPECT_EQ(hostAttentionWorkspace(extentsOf(false, 2)), 2 * 2496 + 2 * 4224 + 2 * 64 * 131 * 4);
  EXPECT_EQ(hostAttentionWorkspace(extentsOf(true, 2)), 3 * 2496 + 4 * 4224 + 2 * 64 * 131 * 4);
}

TEST(AttentionWorkspaceTest, ScoresOfASample) {
  // 3 * 77 * 131 * 4 = 121044 bytes, up to the next multiple of 64.
  AttentionExtents extents = extentsOf(false, 4);
  extents.width = 65;
  EXPECT_EQ(sampleScoresBytes(extents), 121088);
  EXPECT_EQ(deviceAttentionWorkspace(extents), 121088);
  extents.isGradient = true;
  EXPECT_EQ(deviceAttentionWorkspace(extents), 2 * 121088);
}

TEST(AttentionWorkspaceTest, WithoutScores) {
  for (auto [elementBytes, width, isTaken] : {std::tuple<int64_t, int64_t, bool>{2, 64, true},
                                              {2, 65, false},
                                              {4, 64, true},
                                              {4, 65, false},
                                              {8, 8, false}}) {
    AttentionExtents extents = extentsOf(true, elementBytes);
    extents.width = width;
    EXPECT_EQ(isTileAttention(extents), isTaken) << width;
  }
  for (int64_t elementBytes : {2, 4}) { // three floats for each of 462 rows
    EXPECT_EQ(deviceAttentionWorkspace(extentsOf(false, elementBytes)), 0);
    EXPECT_EQ(deviceAttentionWorkspace(extentsOf(true, elementBytes)), 3 * 462 * 4);
  }
}

TEST(AttentionWorkspaceTest, FlashAttention) {
  EXPECT_EQ(flashAttentionLayout(extentsOf(false, 2))->total, 65536);
  const FlashAttentionLayout layout = *flashAttentionLayout(extentsOf(true, 2));
  // 462 rows: outputs of 8 small floats, 7392 bytes, and twice a float each, 1848 bytes.
  EXPECT_EQ(layout.statistics, 7424);
  EXPECT_EQ(layout.delta, 7424 + 1856);
  EXPECT_EQ(layout.library, 7424 + 2 * 1856);
  // Scores of 128 positions and 256 keys.
  EXPECT_EQ(layout.total, layout.library + 65536 + 6 * 128 * 256 * 2);
}

/// Output and statistics are operands then; what the backward graph computes per row is not.
TEST(AttentionWorkspaceTest, FlashAttentionWithStatistics) {
  AttentionExtents extents = extentsOf(false, 2);
  extents.hasStatistics = true;
  EXPECT_EQ(flashAttentionLayout(extents)->total, 65536);
  extents.isGradient = true;
  const FlashAttentionLayout layout = *flashAttentionLayout(extents);
  EXPECT_EQ(layout.delta, 0);
  EXPECT_EQ(layout.library, 1856);
  EXPECT_EQ(layout.total, layout.library + 65536 + 6 * 128 * 256 * 2);
}

TEST(AttentionWorkspaceTest, StatisticsTakeNothingElsewhere) {
  for (bool isGradient : {false, true})
    for (int64_t elementBytes : {2, 4, 8}) {
      AttentionExtents extents = extentsOf(isGradient, elementBytes);
      extents.hasStatistics = true;
      EXPECT_EQ(hostAttentionWorkspace(extents), hostAttentionWorkspace(extentsOf(isGradient, elementBytes)));
      EXPECT_EQ(deviceAttentionWorkspace(extents), deviceAttentionWorkspace(extentsOf(isGradient, elementBytes)));
    }
}

TEST(AttentionWorkspaceTest, WhatFlashAttentionTakes) {
  EXPECT_TRUE(isFlashAttention(extentsOf(true, 2)));
  EXPECT_FALSE(isFlashAttention(extentsOf(true, 4)));
  AttentionExtents extents = extentsOf(false, 2);
  for (auto [width, isTaken] : {std::pair<int64_t, bool>{4, false}, {12, false}, {128, true}, {136, false}}) {
    extents.width = width;
    EXPECT_EQ(isFlashAttention(extents), isTaken) << width;
  }
  extents = extentsOf(false, 2);
  extents.hasMask = true;
  EXPECT_FALSE(isFlashAttention(extents));
  for (auto [positions, keys, isTaken] :
       {std::tuple<int64_t, int64_t, bool>{1, 1, false}, {1, 2, true}, {2, 1, false}}) {
    extents = extentsOf(false, 2);
    extents.positions = positions;
    extents.keys = keys;
    EXPECT_EQ(isFlashAttention(extents), isTaken) << positions << " x " << keys;
  }
}

/// Each of them is nothing where it is more than 2^63 - 1, and the call then not addressable.
TEST(AttentionWorkspaceTest, NothingWraps) {
  constexpr int64_t kMost = INT64_MAX;
  EXPECT_TRUE(isAddressable(extentsOf(true, 2)));
  AttentionExtents extents = extentsOf(true, 2);
  extents.keys = kMost / 128;
  EXPECT_EQ(hostAttentionWorkspace(extents), std::nullopt);
  EXPECT_FALSE(isAddressable(extents));
  extents = extentsOf(true, 2);
  extents.width = 65;
  extents.positions = kMost / (3 * 131 * 2); // counted once, but not twice
  EXPECT_TRUE(sampleScoresBytes(extents).has_value());
  EXPECT_EQ(deviceAttentionWorkspace(extents), std::nullopt);
  EXPECT_FALSE(isAddressable(extents));
  for (int64_t AttentionExtents::*size : {&AttentionExtents::samples, &AttentionExtents::positions,
                                          &AttentionExtents::keys, &AttentionExtents::heads, &AttentionExtents::width})
    for (int64_t large : {kMost, kMost / 2, kMost / 512}) {
      extents = extentsOf(true, 2);
      extents.*size = large;
      EXPECT_FALSE(flashAttentionLayout(extents).has_value()) << large;
      EXPECT_FALSE(isAddressable(extents)) << large;
    }
}

} // namespace
} // namespace splitcast::exec
