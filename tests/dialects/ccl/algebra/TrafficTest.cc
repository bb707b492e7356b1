// What the collectives send, rank by rank, against totals that any algorithm of their kind must have.
#include "dialects/ccl/algebra/Traffic.h"

#include "dialects/sbp/algebra/Sizes.h"

#include "gtest/gtest.h"

#include <numeric>

namespace splitcast::ccl {
namespace {

const std::vector<std::vector<int64_t>> kBlocks = {{7},
                                                   {0, 0},
                                                   {5, 0, 3},
                                                   {4, 4, 4, 4},
                                                   {kChunkBytes, kChunkBytes + 1, 2 * kChunkBytes, 1},
                                                   {0, 3 * kChunkBytes - 1, kChunkBytes - 1}};

int64_t sumOf(const std::vector<int64_t> &values) { return std::accumulate(values.begin(), values.end(), int64_t{0}); }

/// Messages that a block is sent as, counted one by one.
int64_t messagesOf(int64_t bytes) {
  int64_t messages = 0;
  for (; bytes > 0; bytes -= kChunkBytes)
    ++messages;
  return messages;
}

int64_t messagesOf(const std::vector<int64_t> &blocks) {
  int64_t messages = 0;
  for (int64_t block : blocks)
    messages += messagesOf(block);
  return messages;
}

/// Every block goes once from its holder to each other rank, or once from each other rank to its keeper.
TEST(TrafficTest, TotalsOverAllRanks) {
  for (const std::vector<int64_t> &blocks : kBlocks) {
    int64_t others = blocks.size() - 1;
    Traffic gather, scatter;
    for (size_t rank = 0; rank < blocks.size(); ++rank) {
      gather += allGatherTraffic(blocks, rank);
      scatter += reduceScatterTraffic(blocks, rank);
    }
    EXPECT_EQ(gather.bytes, others * sumOf(blocks));
    EXPECT_EQ(scatter.bytes, others * sumOf(blocks));
    EXPECT_EQ(gather.messages, others * messagesOf(blocks));
    EXPECT_EQ(scatter.messages, others * messagesOf(blocks));
  }
}

TEST(TrafficTest, EachRank) {
  for (const std::vector<int64_t> &blocks : kBlocks)
    for (size_t rank = 0; rank < blocks.size(); ++rank) {
      int64_t others = blocks.size() - 1, mine = blocks[rank];
      EXPECT_EQ(allGatherTraffic(blocks, rank).bytes, others * mine);
      EXPECT_EQ(allGatherTraffic(blocks, rank).messages, others * messagesOf(mine));
      EXPECT_EQ(reduceScatterTraffic(blocks, rank).bytes, sumOf(blocks) - mine);
      EXPECT_EQ(reduceScatterTraffic(blocks, rank).messages, messagesOf(blocks) - messagesOf(mine));
      EXPECT_EQ(allToAllTraffic(blocks, rank).bytes, sumOf(blocks) - mine);
      EXPECT_EQ(allToAllTraffic(blocks, rank).messages, messagesOf(blocks) - messagesOf(mine));
    }
}

/// Small: the tensor from each rank to each other. Large: every element twice between each rank and its keeper.
TEST(TrafficTest, AllReduceOnBothSidesOfTheBound) {
  for (int64_t ranks : {1, 2, 3, 4, 7})
    for (int64_t elementBytes : {2, 4, 8})
      for (int64_t elements : {int64_t{0}, int64_t{1}, kSmallAllReduceBytes / elementBytes,
                               kSmallAllReduceBytes / elementBytes + 1, 3 * kChunkBytes + 5}) {
        Traffic all;
        for (int64_t rank = 0; rank < ranks; ++rank)
          all += allReduceTraffic(elements, elementBytes, ranks, rank);
        int64_t bytes = elements * elementBytes, others = ranks - 1;
        if (bytes <= kSmallAllReduceBytes) {
          EXPECT_EQ(all.bytes, ranks * others * bytes);
          EXPECT_EQ(all.messages, elements == 0 ? 0 : ranks * others);
          continue;
        }
        EXPECT_EQ(all.bytes, 2 * others * bytes);
        std::vector<int64_t> blocks;
        for (int64_t rank = 0; rank < ranks; ++rank)
          blocks.push_back((elements / ranks + (rank < elements % ranks ? 1 : 0)) * elementBytes);
        EXPECT_EQ(all.messages, 2 * others * messagesOf(blocks));
      }
}

/// An all-reduce that is not small is a reduce-scatter and an all-gather of the same blocks.
TEST(TrafficTest, LargeAllReduceIsItsTwoHalves) {
  int64_t elements = 1'000'003;
  std::vector<int64_t> blocks;
  for (int64_t rank = 0; rank < 3; ++rank)
    blocks.push_back(sbp::pieceOf(elements, 3, rank).count * 4);
  for (int64_t rank = 0; rank < 3; ++rank) {
    Traffic halves = reduceScatterTraffic(blocks, rank);
    halves += allGatherTraffic(blocks, rank);
    Traffic whole = allReduceTraffic(elements, 4, 3, rank);
    EXPECT_EQ(whole.bytes, halves.bytes);
    EXPECT_EQ(whole.messages, halves.messages);
  }
}

TEST(WorkspaceTest, AtMostTwoChunksFromEachOtherRank) {
  struct Row {
    std::vector<int64_t> blocks;
    int64_t rank, bytes;
  };
  for (const Row &row :
       {Row{{100}, 0, 0}, Row{{100, 64}, 0, 128}, Row{{100, 64}, 1, 64}, Row{{0, 64, 1}, 0, 0}, Row{{0, 64, 1}, 2, 128},
        Row{{5 * kChunkBytes, 0, 0}, 0, 4 * kChunkBytes}, Row{{kChunkBytes - 1, 0}, 0, kChunkBytes},
        Row{{kChunkBytes + 1, 0}, 0, kChunkBytes + 64}, Row{{2 * kChunkBytes + 1, 0}, 0, 2 * kChunkBytes}})
    EXPECT_EQ(reduceScatterWorkspace(row.blocks, row.rank), row.bytes);
}

TEST(WorkspaceTest, AllReduceOnBothSidesOfTheBound) {
  struct Row {
    int64_t elements, elementBytes, ranks, rank, bytes;
  };
  for (const Row &row :
       {Row{0, 4, 3, 0, 0}, Row{1, 4, 3, 0, 128}, Row{1024, 4, 4, 2, 3 * 4096}, Row{1025, 4, 4, 0, 3 * 1088},
        Row{1025, 4, 4, 1, 3 * 1024}, Row{1, 4, 1, 0, 0}, Row{10'000'000, 4, 2, 1, 2 * kChunkBytes}})
    EXPECT_EQ(allReduceWorkspace(row.elements, row.elementBytes, row.ranks, row.rank), row.bytes)
        << row.elements << " " << row.ranks;
}

TEST(WorkspaceTest, RoundsOfGpusAreLarger) {
  EXPECT_EQ(deviceChunkBytes(1), kDeviceRoundBytes); // and none is sent
  EXPECT_EQ(deviceChunkBytes(2), kDeviceRoundBytes);
  EXPECT_EQ(deviceChunkBytes(4), 2730 * 4096);
  EXPECT_EQ(deviceChunkBytes(33), kChunkBytes);
  EXPECT_EQ(deviceChunkBytes(1000), kChunkBytes);
  EXPECT_EQ(deviceChunkBytes(3, kChunkBytes), kChunkBytes);
  EXPECT_EQ(deviceChunkBytes(3, 5000), 4096);
  EXPECT_EQ(deviceChunkBytes(3, 1), 4096);
  EXPECT_EQ(reduceScatterWorkspace({100 * kChunkBytes, 9 * kChunkBytes, 0, 0}, 0, 10 * kChunkBytes), 60 * kChunkBytes);
  EXPECT_EQ(reduceScatterWorkspace({100 * kChunkBytes, 9 * kChunkBytes, 0, 0}, 1, 10 * kChunkBytes), 27 * kChunkBytes);
  EXPECT_EQ(allReduceWorkspace(30 * kChunkBytes, 1, 3, 0, 4 * kChunkBytes), 16 * kChunkBytes);
}

// What follows would not end if anything looked at the ranks one by one.
TEST(GrowthTest, RanksOfAnAllReduceCostNothing) {
  constexpr int64_t kRanks = int64_t{1} << 40;
  EXPECT_EQ(allReduceTraffic(5 * kRanks, 1, kRanks, 0).messages, 2 * (kRanks - 1));
  EXPECT_EQ(allReduceWorkspace(5 * kRanks, 1, kRanks, 0), (kRanks - 1) * sbp::kAlignmentBytes);
}

} // namespace
} // namespace splitcast::ccl
