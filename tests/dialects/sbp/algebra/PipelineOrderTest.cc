#include "dialects/sbp/algebra/PipelineOrder.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace splitcast::sbp {
namespace {

constexpr int64_t kForward = 2, kBackward = 4;

/// A chain of `ranks` * `rounds` stages, place p of it at rank p % ranks, forward and back, for each micro-batch. At
/// the last place nothing moves between the two.
std::vector<PipelineBlock> chain(int64_t ranks, int64_t rounds, int64_t microBatches) {
  std::vector<PipelineBlock> blocks;
  const int64_t places = ranks * rounds;
  for (int64_t m = 0; m < microBatches; ++m)
    for (int64_t hop = 0; hop < 2 * places - 1; ++hop) {
      const int64_t place = hop < places ? hop : 2 * places - 2 - hop;
      const int64_t cost = hop == places - 1 ? kForward + kBackward : hop < places ? kForward : kBackward;
      PipelineBlock block{m, hop, place % ranks, cost};
      if (hop > 0)
        block.needs = {static_cast<int>(blocks.size()) - 1};
      blocks.push_back(block);
    }
  return blocks;
}

void expectOrdered(const std::vector<PipelineBlock> &blocks, const PipelineOrder &order) {
  std::vector<bool> isDone(blocks.size());
  for (int block : order.blocks) {
    for (int other : blocks[block].needs)
      EXPECT_TRUE(isDone[other]);
    EXPECT_FALSE(isDone[block]);
    isDone[block] = true;
  }
  EXPECT_EQ(order.blocks.size(), blocks.size());
}

/// A rank works for M (F + B), and idles for (K - 1) (F + B) besides; of what it holds, the first stage has the most.
TEST(PipelineOrderTest, BubblesAreAsTheFormulaSays) {
  for (int64_t ranks : {1, 2, 3, 4, 8})
    for (int64_t microBatches : {1, 2, 3, 4, 8, 17}) {
      const std::vector<PipelineBlock> blocks = chain(ranks, 1, microBatches);
      const int64_t each = kForward + kBackward, best = (microBatches + ranks - 1) * each;
      const PipelineOrder some = orderPipeline(blocks, ranks, PipelineSchedule::OneForwardOneBackward),
                          all = orderPipeline(blocks, ranks, PipelineSchedule::Gpipe),
                          none = orderPipeline(blocks, ranks, PipelineSchedule::Sequential);
      EXPECT_EQ(some.time, best) << ranks << " ranks, " << microBatches << " micro-batches";
      EXPECT_EQ(none.time, microBatches * ranks * each);
      EXPECT_GE(all.time, best);
      for (int64_t rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(some.mostBegun[rank], std::min(microBatches, ranks - rank));
        EXPECT_EQ(none.mostBegun[rank], 1);
      }
      EXPECT_EQ(all.mostBegun[0], ranks > 1 ? microBatches : 1);
      for (const PipelineOrder *order : {&some, &all, &none})
        expectOrdered(blocks, *order);
    }
}

/// How much forward a rank does before it first goes back.
int64_t forwardsFirst(const std::vector<PipelineBlock> &blocks, const PipelineOrder &order, int64_t rank,
                      int64_t places) {
  int64_t forwards = 0;
  for (int block : order.blocks) {
    if (blocks[block].rank == rank && blocks[block].hop >= places)
      break;
    forwards += blocks[block].rank == rank;
  }
  return forwards;
}

/// With v stages on a rank it idles for (K - 1) (F + B) of its v M (F + B) only, where K divides M.
TEST(PipelineOrderTest, InterleavedBubblesAreShorter) {
  for (int64_t ranks : {2, 3, 4})
    for (int64_t rounds : {2, 3})
      for (int64_t microBatches : {ranks, 2 * ranks, 4 * ranks}) {
        const std::vector<PipelineBlock> blocks = chain(ranks, rounds, microBatches);
        const PipelineOrder order = orderPipeline(blocks, ranks, PipelineSchedule::OneForwardOneBackward);
        const int64_t each = kForward + kBackward;
        EXPECT_EQ(order.time, (rounds * microBatches + ranks - 1) * each)
            << ranks << " ranks, " << rounds << " rounds, " << microBatches << " micro-batches";
        EXPECT_LE(order.mostBegun[0], std::min(microBatches, 3 * ranks));
        for (int64_t rank = 0; rank + 1 < ranks; ++rank)
          EXPECT_EQ(forwardsFirst(blocks, order, rank, ranks * rounds),
                    std::min(rounds * microBatches, 2 * (ranks - rank - 1) + (rounds - 1) * ranks + 1));
        expectOrdered(blocks, order);
      }
}

/// Otherwise each rank does what is nearest to its end, and begins no more than come back; of several stages, a round
/// more.
TEST(PipelineOrderTest, AnyNumberOfMicroBatches) {
  for (int64_t ranks : {2, 3, 4})
    for (int64_t rounds : {1, 2})
      for (int64_t microBatches : {1, 5, 7, 9}) {
        const std::vector<PipelineBlock> blocks = chain(ranks, rounds, microBatches);
        const PipelineOrder order = orderPipeline(blocks, ranks, PipelineSchedule::OneForwardOneBackward);
        const int64_t best = (std::max(rounds * microBatches, ranks * rounds) + ranks - 1) * (kForward + kBackward);
        EXPECT_LE(10 * order.time, 13 * best) << ranks << " ranks, " << rounds << " rounds, " << microBatches;
        EXPECT_LE(order.mostBegun[0], rounds * ranks);
        expectOrdered(blocks, order);
      }
}

/// Labels, say, that the last stage takes, and what it sends back to the first one in the end: neither is a turn.
TEST(PipelineOrderTest, WhatTakesNoTimeIsNoTurn) {
  for (int64_t ranks : {2, 3, 4})
    for (int64_t rounds : {1, 2}) {
      std::vector<PipelineBlock> blocks = chain(ranks, rounds, 2 * ranks);
      const auto hops = 2 * ranks * rounds - 1;
      for (int64_t m = 0; m < 2 * ranks; ++m) {
        blocks[m * hops + ranks * rounds - 1].needs.push_back(static_cast<int>(blocks.size()));
        blocks.push_back({m, 0, -1, 0, {}});
        blocks.push_back({m, hops, -1, 0, {static_cast<int>((m + 1) * hops - 1)}});
      }
      const PipelineOrder order = orderPipeline(blocks, ranks, PipelineSchedule::OneForwardOneBackward);
      EXPECT_EQ(order.time, (2 * rounds * ranks + ranks - 1) * (kForward + kBackward));
      expectOrdered(blocks, order);
    }
}

/// What all ranks do waits for what it needs, and is waited for.
TEST(PipelineOrderTest, WhatAllDoTakesNoRank) {
  std::vector<PipelineBlock> blocks = chain(3, 1, 2);
  const auto last = static_cast<int>(blocks.size());
  blocks.push_back({0, 4, -1, 0, {4}});
  blocks.push_back({1, 4, 2, 5, {last}});
  const PipelineOrder order = orderPipeline(blocks, 3, PipelineSchedule::OneForwardOneBackward);
  expectOrdered(blocks, order);
}

TEST(PipelineOrderTest, Texts) {
  for (const char *text : {"sequential", "gpipe", "1f1b"})
    EXPECT_EQ(toString(*parsePipelineSchedule(text)), text);
  EXPECT_FALSE(parsePipelineSchedule("interleaved"));
}

} // namespace
} // namespace splitcast::sbp
