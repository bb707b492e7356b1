// Arenas against the definition: the largest buffers first, each at the lowest place that is free while it lives.
#include "passes/plan/ArenaPlanner.h"

#include "dialects/sbp/algebra/Sizes.h"
#include "gtest/gtest.h"

#include <algorithm>
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

void checkPlan(const std::vector<ArenaBuffer> &planned, int64_t total) {
  std::vector<const ArenaBuffer *> order, placed;
  for (const ArenaBuffer &buffer : planned)
    order.push_back(&buffer);
  std::sort(order.begin(), order.end(),
            [](auto *a, auto *b) { return a->bytes != b->bytes ? a->bytes > b->bytes : a < b; });
  int64_t highest = 0;
  for (const ArenaBuffer *buffer : order) {
    ASSERT_EQ(buffer->offset, lowestPlace(*buffer, placed)) << buffer->bytes << " bytes from " << buffer->begin;
    placed.push_back(buffer);
    highest = std::max(highest, endOf(*buffer));
  }
  ASSERT_EQ(total, highest);
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
  EXPECT_EQ(buffers.back().offset, 512);
  checkPlan(buffers, total);
}

TEST(ArenaPlannerTest, EmptyArenas) {
  std::vector<ArenaBuffer> none;
  EXPECT_EQ(planArena(none), 0);
  std::vector<ArenaBuffer> empty = {bufferOf(0, 0, 1), bufferOf(64, 0, 1), bufferOf(0, 0, 1)};
  EXPECT_EQ(planArena(empty), 64);
}

} // namespace
} // namespace splitcast
