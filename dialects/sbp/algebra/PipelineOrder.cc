#include "dialects/sbp/algebra/PipelineOrder.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace splitcast::sbp {

std::string toString(PipelineSchedule schedule) {
  switch (schedule) {
  case PipelineSchedule::Sequential:
    return "sequential";
  case PipelineSchedule::Gpipe:
    return "gpipe";
  case PipelineSchedule::OneForwardOneBackward:
    return "1f1b";
  }
  return "";
}

std::optional<PipelineSchedule> parsePipelineSchedule(std::string_view text) {
  for (PipelineSchedule schedule :
       {PipelineSchedule::Sequential, PipelineSchedule::Gpipe, PipelineSchedule::OneForwardOneBackward})
    if (text == toString(schedule))
      return schedule;
  return std::nullopt;
}

namespace {

/// Fixes the order of the blocks of each rank where each rank has v stages. A
/// rank first runs so many forward blocks that backward, which alternates with
/// forward from then on, never waits (Narayanan et al. 2021, section 2.2).
/// Micro-batches go in groups of as many as there are ranks, and each group
/// passes through all stages of a rank before the next one does.
class Interleaving {
public:
  Interleaving(const std::vector<PipelineBlock> &blocks, int64_t ranks) : ranks(ranks) {
    for (size_t block = 0; block < blocks.size(); ++block)
      if (blocks[block].rank >= 0 && !numbers.try_emplace(placeOf(blocks[block]), block).second)
        isRegular = false;
    for (const PipelineBlock &block : blocks) {
      microBatches = std::max(microBatches, block.microBatch + 1);
      lastHop = block.rank < 0 ? lastHop : std::max(lastHop, block.hop);
    }
    rounds = (lastHop / 2 + 1) / ranks;
    isRegular &= lastHop + 2 == 2 * rounds * ranks && microBatches % ranks == 0 && rounds > 1 &&
                 static_cast<int64_t>(numbers.size()) == microBatches * (lastHop + 1);
  }

  /// Returns the blocks of each rank in order. Returns nothing unless stages
  /// are assigned to the ranks in two or more complete rounds and the number of
  /// ranks divides that of micro-batches.
  std::vector<std::vector<int>> sequences() const {
    std::vector<std::vector<int>> all;
    for (int64_t rank = 0; isRegular && rank < ranks; ++rank) {
      all.push_back(sequenceOf(rank));
      if (all.back().empty())
        return {};
    }
    return all;
  }

private:
  using Place = std::tuple<int64_t, int64_t, int64_t>; ///< rank, micro-batch, hop
  static Place placeOf(const PipelineBlock &block) { return {block.rank, block.microBatch, block.hop}; }

  std::vector<int> sequenceOf(int64_t rank) const {
    const int64_t all = microBatches * rounds, first = std::min(all, 2 * (ranks - rank - 1) + (rounds - 1) * ranks);
    std::vector<int> sequence;
    std::set<int> known;
    auto add = [&](int64_t number, bool isBackward) {
      const auto found = numbers.find(placeOf(rank, number, isBackward));
      if (found == numbers.end())
        return false;
      if (known.insert(found->second).second)
        sequence.push_back(found->second);
      return true;
    };
    for (int64_t number = 0; number < first + all; ++number)
      if ((number < all && !add(number, /*isBackward=*/false)) ||
          (number >= first && !add(number - first, /*isBackward=*/true)))
        return {};
    return sequence;
  }

  /// Returns the place of the `number`-th forward, or backward, block of a
  /// rank.
  Place placeOf(int64_t rank, int64_t number, bool isBackward) const {
    const int64_t group = number / (ranks * rounds), within = number % (ranks * rounds), round = within / ranks;
    const int64_t stage = (isBackward ? rounds - 1 - round : round) * ranks + rank;
    return {rank, group * ranks + within % ranks, isBackward ? lastHop - stage : stage};
  }

  const int64_t ranks;
  std::map<Place, int> numbers;
  int64_t microBatches = 0, lastHop = 0, rounds = 0;
  bool isRegular = true;
};

/// Simulates ranks that each run one block at a time and take the next one when
/// they are free.
class Simulation {
public:
  Simulation(const std::vector<PipelineBlock> &blocks, int64_t ranks, PipelineSchedule schedule)
      : blocks(blocks), schedule(schedule), needed(blocks.size()), missing(blocks.size()), ready(ranks),
        freeAt(ranks, 0), begun(ranks) {
    order.mostBegun.assign(ranks, 0);
    if (schedule == PipelineSchedule::OneForwardOneBackward)
      sequences = Interleaving(blocks, ranks).sequences();
    next.assign(ranks, 0);
    hops.resize(ranks);
    for (size_t block = 0; block < blocks.size(); ++block) {
      const PipelineBlock &of = blocks[block];
      missing[block] = of.needs.size();
      for (int other : of.needs)
        needed[other].push_back(static_cast<int>(block));
      if (of.rank < 0)
        continue;
      ++left[{of.rank, of.microBatch}];
      hops[of.rank].insert(of.hop);
    }
  }

  PipelineOrder run() {
    for (size_t block = 0; block < blocks.size(); ++block)
      if (missing[block] == 0)
        becomeReady(static_cast<int>(block));
    while (order.blocks.size() < blocks.size()) {
      if (startAll(/*keepsLimit=*/true))
        continue;
      if (!done.empty())
        finishNext();
      else if (!startAll(/*keepsLimit=*/false)) // all wait for a block that the limit forbids: start one beyond it
        break;
    }
    while (!done.empty())
      finishNext();
    return std::move(order);
  }

private:
  /// Starts the blocks that free ranks may run now, and returns whether there
  /// was one. Without the limit, it starts one block at most.
  bool startAll(bool keepsLimit) {
    bool found = false;
    for (size_t rank = 0; rank < ready.size(); ++rank)
      if (freeAt[rank] <= now)
        if (const int block = choose(rank, keepsLimit); block >= 0) {
          start(block, rank);
          found = true;
          if (!keepsLimit)
            return true;
        }
    return found;
  }

  /// Returns the block that the rank runs next, or -1 if it has to wait.
  int choose(size_t rank, bool keepsLimit) const {
    if (!sequences.empty() && keepsLimit) {
      const std::vector<int> &sequence = sequences[rank];
      if (next[rank] == sequence.size())
        return -1;
      const int block = sequence[next[rank]];
      return ready[rank].count({keyOf(block), block}) > 0 ? block : -1;
    }
    if (ready[rank].empty())
      return -1;
    // If the best block may not begin its micro-batch, the blocks behind it may
    // not either: their micro-batches have not begun.
    const int best = ready[rank].begin()->second;
    return !keepsLimit || mayBegin(best) ? best : -1;
  }

  /// Returns the priority of a block; the least goes first. 1f1b prefers the
  /// block that is nearest to the end of its micro-batch, while the other
  /// schedules have a fixed order.
  std::tuple<int64_t, int64_t> keyOf(int block) const {
    const PipelineBlock &of = blocks[block];
    switch (schedule) {
    case PipelineSchedule::Sequential:
      return {of.microBatch, of.hop};
    case PipelineSchedule::Gpipe:
      return {of.hop, of.microBatch};
    case PipelineSchedule::OneForwardOneBackward:
      break;
    }
    return {-of.hop, of.microBatch};
  }

  bool mayBegin(int block) const {
    const PipelineBlock &of = blocks[block];
    const std::set<int64_t> &mine = begun[of.rank];
    if (mine.count(of.microBatch) > 0)
      return true;
    switch (schedule) {
    case PipelineSchedule::Sequential:
      return of.microBatch == current;
    case PipelineSchedule::Gpipe:
      return true;
    case PipelineSchedule::OneForwardOneBackward:
      break;
    }
    return static_cast<int64_t>(mine.size()) < limitOf(of.rank);
  }

  /// Returns the most micro-batches that a rank may have begun and not ended:
  /// as many as it begins before the first of them comes back. Where a
  /// micro-batch comes to the rank several times, it is one round more.
  int64_t limitOf(int64_t rank) const {
    const auto ranks = static_cast<int64_t>(ready.size());
    return ranks - rank + (hops[rank].size() > 2 ? ranks : 0);
  }

  void start(int block, size_t rank) {
    const PipelineBlock &of = blocks[block];
    ready[rank].erase({keyOf(block), block});
    if (!sequences.empty() && next[rank] < sequences[rank].size() && sequences[rank][next[rank]] == block)
      ++next[rank];
    order.blocks.push_back(block);
    begun[rank].insert(of.microBatch);
    order.mostBegun[rank] = std::max<int64_t>(order.mostBegun[rank], begun[rank].size());
    freeAt[rank] = now + of.cost;
    done.insert({freeAt[rank], block});
  }

  void finishNext() {
    const auto [time, block] = *done.begin();
    done.erase(done.begin());
    now = std::max(now, time);
    order.time = std::max(order.time, now);
    finish(block);
  }

  void finish(int block) {
    const PipelineBlock &of = blocks[block];
    if (of.rank >= 0 && --left[{of.rank, of.microBatch}] == 0)
      begun[of.rank].erase(of.microBatch);
    ++finished[of.microBatch];
    for (int other : needed[block])
      if (--missing[other] == 0)
        becomeReady(other);
    while (schedule == PipelineSchedule::Sequential && isDone(current))
      ++current;
  }

  bool isDone(int64_t microBatch) {
    if (sizes.empty())
      for (const PipelineBlock &of : blocks)
        ++sizes[of.microBatch];
    return sizes.count(microBatch) > 0 && finished[microBatch] == sizes[microBatch];
  }

  /// Marks a block as ready. A block that all ranks run is run at once, since
  /// it keeps no rank from its own blocks.
  void becomeReady(int block) {
    if (blocks[block].rank >= 0) {
      ready[blocks[block].rank].insert({keyOf(block), block});
      return;
    }
    order.blocks.push_back(block);
    done.insert({now, block});
  }

  const std::vector<PipelineBlock> &blocks;
  const PipelineSchedule schedule;
  std::vector<std::vector<int>> needed; ///< by block: the blocks that need it
  std::vector<size_t> missing;          ///< by block: of the blocks that it needs, how many are not done
  using Key = std::tuple<int64_t, int64_t>;
  std::vector<std::set<std::pair<Key, int>>> ready;    ///< by rank
  std::vector<int64_t> freeAt;                         ///< by rank
  std::vector<std::set<int64_t>> begun;                ///< by rank: the micro-batches that it has begun and not ended
  std::map<std::pair<int64_t, int64_t>, int64_t> left; ///< by rank and micro-batch: the blocks that are not done
  std::map<int64_t, int64_t> sizes, finished;          ///< by micro-batch: all blocks, and those that are done
  std::set<std::pair<int64_t, int>> done;              ///< the blocks under way, each with the time when it ends
  std::vector<std::set<int64_t>> hops;                 ///< by rank: the hops of its blocks
  std::vector<std::vector<int>> sequences; ///< by rank: its blocks in a fixed order; empty where none is fixed
  std::vector<size_t> next;                ///< by rank: its place in its sequence
  int64_t now = 0, current = 0;
  PipelineOrder order;
};

} // namespace

PipelineOrder orderPipeline(const std::vector<PipelineBlock> &blocks, int64_t ranks, PipelineSchedule schedule) {
  return Simulation(blocks, ranks, schedule).run();
}

} // namespace splitcast::sbp
