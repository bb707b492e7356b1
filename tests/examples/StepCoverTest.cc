//===- StepCoverTest.cc - Steps in micro-batches, in all the ways of ZeRO -----------===//
//
// A GPT on 3 and 4 ranks, its batch of 24 in 1, 2, 3 or 12 micro-batches (of which some give some ranks no row). For
// one number of ranks and micro-batches and one order of sums, all else is a choice of memory and time: the bits are
// those of stage 0. How many of the ways are tried, the BUILD rule says: COVER 0, such that each two values of two
// choices meet; COVER 1, a sample drawn by a seed; COVER 2, all.
//
//===----------------------------------------------------------------------===//
#include "tests/examples/TrainingRuns.h"

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <random>
#include <set>

namespace splitcast {
namespace {

/// How a step is computed, and what is chosen besides. A way has the number of a value of each.
struct Choice {
  const char *name;
  std::vector<const char *> values;
};
const std::vector<Choice> kChoices = {{"ranks", {"3", "4"}},
                                      {"accumulate", {"1", "2", "3", "12"}},
                                      {"accumulate-order", {"per-micro-batch", "per-step"}},
                                      {"stage", {"0", "1", "2", "3"}},
                                      {"strategy", {"bucket", "tensor"}},
                                      {"keep", {"never", "last", "always", "step"}},
                                      {"recompute", {"no", "yes"}},
                                      {"prefetch", {"0", "2", "auto"}},
                                      {"update", {"last", "reduced"}}};
constexpr size_t kFirstFree = 3; ///< those before it may change bits
using Way = std::vector<size_t>;

int64_t ranksOf(const Way &way) { return std::atoll(kChoices[0].values[way[0]]); }

std::string textOf(const Way &way) {
  std::string text;
  for (size_t i = 1; i < way.size(); ++i)
    absl::StrAppend(&text, i == 1 ? "" : ",", kChoices[i].name, "=", kChoices[i].values[way[i]]);
  return text;
}

/// The same sums at stage 0: one micro-batch has no order.
Way plainOf(const Way &way) {
  Way plain(way.size(), 0);
  std::copy_n(way.begin(), kFirstFree, plain.begin());
  if (plain[1] == 0)
    plain[2] = 0;
  return plain;
}

Way randomWay(std::mt19937 &random) {
  Way way;
  for (const Choice &choice : kChoices)
    way.push_back(random() % choice.values.size());
  return way;
}

std::vector<Way> all() {
  std::vector<Way> ways = {{}};
  for (const Choice &choice : kChoices) {
    std::vector<Way> longer;
    for (const Way &way : ways)
      for (size_t value = 0; value < choice.values.size(); ++value) {
        longer.push_back(way);
        longer.back().push_back(value);
      }
    ways = std::move(longer);
  }
  return ways;
}

using Pair = std::array<size_t, 4>; ///< two choices, each with a value

std::set<Pair> pairsOf(const Way &way) {
  std::set<Pair> pairs;
  for (size_t a = 0; a < way.size(); ++a)
    for (size_t b = a + 1; b < way.size(); ++b)
      pairs.insert({a, way[a], b, way[b]});
  return pairs;
}

/// Of many random ways, always one that has the most pairs that none before it had.
std::vector<Way> pairwise() {
  std::set<Pair> left;
  for (const Way &way : all())
    left.merge(pairsOf(way));
  std::mt19937 random(12);
  std::vector<Way> ways;
  while (!left.empty()) {
    Way best;
    size_t most = 0;
    for (int candidate = 0; candidate < 300; ++candidate) {
      Way way = randomWay(random);
      const std::set<Pair> pairs = pairsOf(way);
      const auto isLeft = [&](const Pair &pair) { return left.count(pair) > 0; };
      const size_t count = std::count_if(pairs.begin(), pairs.end(), isLeft);
      if (count > most) {
        best = std::move(way);
        most = count;
      }
    }
    if (most == 0)
      continue;
    for (const Pair &pair : pairsOf(best))
      left.erase(pair);
    ways.push_back(std::move(best));
  }
  return ways;
}

std::vector<Way> sample(size_t count) {
  std::mt19937 random(3);
  std::vector<Way> ways(count);
  for (Way &way : ways)
    way = randomWay(random);
  return ways;
}

std::vector<Way> chosen() {
  constexpr size_t kSampled = 200;
  return COVER == 0 ? pairwise() : COVER == 1 ? sample(kSampled) : all();
}

Trained trainAs(const std::string &directory, const Way &way) {
  return train(directory, ranksOf(way),
               {programPath("examples/gpt/gpt"), "--text=text", "--layers=2", "--heads=2", "--width=12", "--context=10",
                "--batch=24", "--dropout=0.25", "--sample=0", "--steps=2", "--enable-zero=" + textOf(way)});
}

TEST(StepCover, AllWaysHaveTheBitsOfStageZero) {
  const std::string directory = makeWorkDirectory();
  std::map<Way, Trained> plain;
  const std::vector<Way> ways = chosen();
  for (const Way &way : ways) {
    auto [expected, isNew] = plain.try_emplace(plainOf(way));
    if (isNew)
      expected->second = trainAs(directory, expected->first);
    ASSERT_FALSE(expected->second.variables.empty());
    const Trained trained = trainAs(directory, way);
    EXPECT_EQ(trained.losses, expected->second.losses) << ranksOf(way) << " ranks, " << textOf(way);
    EXPECT_TRUE(trained.variables == expected->second.variables) << ranksOf(way) << " ranks, " << textOf(way);
  }
  // Micro-batches are added up in another order than the batch: were they not, nothing would have been tested.
  std::set<std::string> different;
  std::set<std::pair<size_t, size_t>> ranksAndCounts;
  for (const auto &[way, trained] : plain) {
    different.insert(trained.variables);
    ranksAndCounts.insert({way[0], way[1]});
  }
  EXPECT_GT(different.size(), ranksAndCounts.size()); // and so does the order of sums
  std::printf("%zu ways of %zu, beside %zu at stage 0, of which %zu differ\n", ways.size(), all().size(), plain.size(),
              different.size());
}

} // namespace
} // namespace splitcast
