// Arenas against the definition: in some order each buffer has the lowest place that is free while it lives, and
// together they need no more than the largest first would, and of a few buffers no more than any layout.
#include "passes/plan/ArenaPlanner.h"

#include "dialects/sbp/algebra/Sizes.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace splitcast {
namespace {

int64_t endOf(const ArenaBuffer &buffer) { return buffer.offset + sbp::alignUp(buffer.bytes, sbp::kAlignmentBytes); }

bool liveTogether(const ArenaBuffer &a, const ArenaBuffer &b) { return a.begin <= b.end && b.begin <= a.end; }

/// Free places begin at 0 or where a buffer ends; the lowest is taken.
int64_t lowestPlace(const ArenaBuffer &buffer, const std::vector<const ArenaBuffer *> &placed) {
  std::vector<int64_t> places = {0};
  for (const ArenaBuffer *other : placed)
    if (liveTogether(buffer, *other))
      places.push_back(endOf(*other));
  std::sort(places.begin(), places.end());
  for (int64_t place : places) {
    ArenaBuffer there = buffer;
    there.offset = place;
    bool isFree = std::none_of(placed.begin(), placed.end(), [&](const ArenaBuffer *other) {
      return liveTogether(there, *other) && there.offset < endOf(*other) && other->offset < endOf(there);
    });
    if (isFree)
      return place;
  }
  return -1; // the last place is always free
}

/// Bytes, when each buffer in turn gets the lowest place.
int64_t bytesInOrder(std::vector<ArenaBuffer> buffers, const std::vector<size_t> &order) {
  std::vector<const ArenaBuffer *> placed;
  int64_t highest = 0;
  for (size_t index : order) {
    ArenaBuffer &buffer = buffers[index];
    buffer.offset = lowestPlace(buffer, placed);
    placed.push_back(&buffer);
    highest = std::max(highest, endOf(buffer));
  }
  return highest;
}

std::vector<size_t> largestFirst(const std::vector<ArenaBuffer> &buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return buffers[a].bytes != buffers[b].bytes ? buffers[a].bytes > buffers[b].bytes : a < b;
  });
  return order;
}

void checkPlan(const std::vector<ArenaBuffer> &planned, int64_t total) {
  int64_t highest = 0;
  for (const ArenaBuffer &buffer : planned) {
    std::vector<const ArenaBuffer *> others;
    for (const ArenaBuffer &other : planned)
      if (&other != &buffer) {
        others.push_back(&other);
        ASSERT_FALSE(liveTogether(buffer, other) && buffer.offset < endOf(other) && other.offset < endOf(buffer))
            << buffer.bytes << " and " << other.bytes << " bytes overlap";
      }
    // Those that were placed later leave it no lower place than those that were there.
    ASSERT_EQ(buffer.offset, lowestPlace(buffer, others)) << buffer.bytes << " bytes from " << buffer.begin;
    highest = std::max(highest, endOf(buffer));
  }
  ASSERT_EQ(total, highest);
  ASSERT_LE(total, bytesInOrder(planned, largestFirst(planned)));
}

ArenaBuffer bufferOf(int64_t bytes, int64_t begin, int64_t end) {
  return {bytes, begin, end, exec::Role::Activation, 0, ""};
}

/// So many buffers that they are kept in several blocks.
TEST(ArenaPlannerTest, LowestPlaces) {
  std::mt19937_64 random(1);
  for (int64_t lifetime : {3, 40, 400}) {
    std::vector<ArenaBuffer> buffers;
    for (int64_t i = 0; i < 600; ++i) {
      int64_t begin = random() % 400;
      buffers.push_back(bufferOf(1 + random() % (i % 2 ? 64 : 4096), begin, begin + random() % lifetime));
    }
    int64_t total = planArena(buffers);
    checkPlan(buffers, total);
  }
}

/// As the activations of a network lie: those of the first layers are needed longest.
TEST(ArenaPlannerTest, Nested) {
  std::vector<ArenaBuffer> buffers;
  for (int64_t i = 0; i < 400; ++i) {
    buffers.push_back(bufferOf(256, i, 800 - i));
    buffers.push_back(bufferOf(i % 3 ? 128 : 512, 800 - i, 803 - i));
  }
  int64_t total = planArena(buffers);
  checkPlan(buffers, total);
}

/// The last blocks hold buffers that are all in use, with a gap between them.
TEST(ArenaPlannerTest, GapAmongNeighbours) {
  std::vector<ArenaBuffer> buffers;
  for (int64_t i = 0; i < 300; ++i)
    buffers.push_back(bufferOf(1024, i, i));
  for (int64_t i = 300; i < 500; ++i)
    buffers.push_back(bufferOf(512, i, i));
  buffers.push_back(bufferOf(512, 299, 499)); // above one of the first
  buffers.push_back(bufferOf(256, 300, 499));
  int64_t total = planArena(buffers);
  checkPlan(buffers, total);
  EXPECT_EQ(total, 1536);
}

/// Every layout that cannot be pushed down is that of some order: the fewest bytes of all orders are the fewest of all.
TEST(ArenaPlannerTest, FewBuffersNeedTheFewestBytes) {
  std::mt19937_64 random(2);
  int64_t notLargestFirst = 0;
  for (int instance = 0; instance < 200; ++instance) {
    std::vector<ArenaBuffer> buffers;
    for (int i = 0; i < 7; ++i) {
      const int64_t begin = random() % 8;
      buffers.push_back(bufferOf(64 * (1 + random() % 9), begin, begin + random() % 5));
    }
    const int64_t total = planArena(buffers);
    checkPlan(buffers, total);
    std::vector<size_t> order(buffers.size());
    std::iota(order.begin(), order.end(), 0);
    int64_t least = total;
    do
      least = std::min(least, bytesInOrder(buffers, order));
    while (least == total && std::next_permutation(order.begin(), order.end()));
    EXPECT_EQ(total, least) << "instance " << instance;
    notLargestFirst += least < bytesInOrder(buffers, largestFirst(buffers));
  }
  EXPECT_GE(notLargestFirst, 10);
}

/// Of those that are too many for several tries, the largest come first.
TEST(ArenaPlannerTest, ManyBuffers) {
  std::vector<ArenaBuffer> buffers;
  for (int64_t i = 0; i < 20001; ++i)
    buffers.push_back(bufferOf(64 + 64 * (i % 3), i, i + 1));
  EXPECT_EQ(planArena(buffers), 192 + 192);
}

TEST(ArenaPlannerTest, EmptyArenas) {
  std::vector<ArenaBuffer> none;
  EXPECT_EQ(planArena(none), 0);
  std::vector<ArenaBuffer> empty = {bufferOf(0, 0, 1), bufferOf(64, 0, 1), bufferOf(0, 0, 1)};
  EXPECT_EQ(planArena(empty), 64);
}

} // namespace
} // namespace splitcast
