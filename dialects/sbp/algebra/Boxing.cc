#include "dialects/sbp/algebra/Boxing.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>

namespace splitcast::sbp {

const char *toString(Collective collective) {
  switch (collective) {
  case Collective::Slice:
    return "slice";
  case Collective::AllGather:
    return "all-gather";
  case Collective::AllReduce:
    return "all-reduce";
  case Collective::ReduceScatter:
    return "reduce-scatter";
  case Collective::AllToAll:
    return "all-to-all";
  }
  return "";
}

int64_t alignUp(int64_t value, int64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

std::optional<Collective> singleStep(const Sbp &from, const Sbp &to) {
  if (from == to || to.isPartial())
    return std::nullopt;
  if (from.isPartial())
    return to.isBroadcast() ? Collective::AllReduce : Collective::ReduceScatter;
  if (from.isBroadcast())
    return Collective::Slice;
  if (to.isBroadcast())
    return Collective::AllGather;
  if (from.isSplit() && to.isSplit())
    return Collective::AllToAll;
  return std::nullopt;
}

bool isLegalBoxing(const NdSbp &from, const NdSbp &to) {
  for (size_t axis = 0; axis < from.size(); ++axis)
    if (to[axis].isPartial() && !from[axis].isPartial())
      return false;
  return true;
}

namespace {

/// Whether the pieces along `axis` may change while the other axes are as in `state`.
bool mayChange(const NdSbp &state, size_t axis, const Sbp &to) {
  for (size_t other = 0; other < state.size(); ++other) {
    if (other == axis)
      continue;
    if (state[other].isFlat())
      return false;
    for (const Sbp &changed : {state[axis], to})
      if (other > axis && changed.isSplit() && state[other] == changed)
        return false;
  }
  return true;
}

/// The entries an axis may pass through.
std::vector<Sbp> entriesOf(const Shape &shape, const Sbp &from, const Sbp &to) {
  std::vector<Sbp> entries = {from, to, Sbp::broadcast()};
  for (size_t dim = 0; dim < shape.size(); ++dim)
    entries.push_back(Sbp::split(dim));
  return entries;
}

/// Whether addends along a later axis are still to be summed: those come first, so that a sum over two axes has one
/// order whatever the result's signature is.
bool mustWait(const NdSbp &state, size_t axis, const NdSbp &to) {
  for (size_t later = axis + 1; later < state.size(); ++later)
    if (state[axis].isPartial() && state[later].isPartial() && !to[later].isPartial())
      return true;
  return false;
}

/// A slot has room for the piece that the other axes leave in the end, and for no larger one.
bool othersAreAt(NdSbp state, size_t axis, const NdSbp &to) {
  state[axis] = to[axis];
  return state == to;
}

std::vector<BoxingStep> nextSteps(const Shape &shape, const NdSbp &state, const NdSbp &from, const NdSbp &to) {
  std::vector<BoxingStep> steps;
  for (size_t axis = 0; axis < state.size(); ++axis)
    for (const Sbp &entry : entriesOf(shape, from[axis], to[axis])) {
      std::optional<Collective> collective = singleStep(state[axis], entry);
      if (!collective || !mayChange(state, axis, entry) || mustWait(state, axis, to) ||
          (entry.isFlat() && !othersAreAt(state, axis, to)))
        continue;
      BoxingStep step{static_cast<int64_t>(axis), *collective, state, state};
      step.to[axis] = entry;
      steps.push_back(step);
    }
  return steps;
}

/// On an axis of size 1 every entry means the same bytes, and B stays true when the other axes change: another axis
/// need not wait for its split, and a slot need not have room for more than its own piece.
NdSbp withoutTrivialAxes(NdSbp sbp, const Placement &placement) {
  for (size_t axis = 0; axis < sbp.size(); ++axis)
    if (placement.axes[axis].size == 1)
      sbp[axis] = Sbp::broadcast();
  return sbp;
}

/// So large that no all-reduce is small: below kSmallAllReduceBytes it sends more bytes to save a round, and must not
/// be taken apart into two rounds for that.
constexpr int64_t kPlanningElementBytes = kSmallAllReduceBytes + 1;

int64_t chunks(int64_t bytes) { return (bytes + kChunkBytes - 1) / kChunkBytes; }

} // namespace

std::vector<BoxingStep> planBoxing(const Shape &shape, const NdSbp &from, const NdSbp &to, const Placement &placement) {
  NdSbp start = withoutTrivialAxes(from, placement), goal = withoutTrivialAxes(to, placement);
  struct Reached {
    int64_t cost;
    std::vector<BoxingStep> path;
  };
  // Dijkstra; states are keyed by their text, of which there are at most (rank + 3)^axes.
  std::map<std::string, Reached> best;
  using Entry = std::pair<int64_t, std::string>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue;
  std::map<std::string, NdSbp> states;
  best[toString(start)] = {0, {}};
  states[toString(start)] = start;
  queue.push({0, toString(start)});
  while (!queue.empty()) {
    auto [cost, key] = queue.top();
    queue.pop();
    if (cost > best[key].cost)
      continue;
    NdSbp state = states[key];
    if (state == goal)
      return best[key].path;
    for (const BoxingStep &step : nextSteps(shape, state, start, goal)) {
      // Every step costs at least one unit, so that of plans with equal bytes the shortest is found.
      int64_t next = cost + 1 + stepBytes(step, shape, kPlanningElementBytes, placement);
      std::string nextKey = toString(step.to);
      auto known = best.find(nextKey);
      if (known != best.end() && known->second.cost <= next)
        continue;
      std::vector<BoxingStep> path = best[key].path;
      path.push_back(step);
      best[nextKey] = {next, std::move(path)};
      states[nextKey] = step.to;
      queue.push({next, nextKey});
    }
  }
  return {};
}

Traffic allGatherTraffic(const std::vector<int64_t> &blocks, int64_t rank) {
  int64_t others = blocks.size() - 1;
  return {others * blocks[rank], others * chunks(blocks[rank])};
}

Traffic reduceScatterTraffic(const std::vector<int64_t> &blocks, int64_t rank) {
  Traffic traffic;
  for (size_t r = 0; r < blocks.size(); ++r)
    if (static_cast<int64_t>(r) != rank)
      traffic += {blocks[r], chunks(blocks[r])};
  return traffic;
}

Traffic allToAllTraffic(const std::vector<int64_t> &sends, int64_t rank) { return reduceScatterTraffic(sends, rank); }

namespace {

std::vector<int64_t> allReduceBlocks(int64_t elements, int64_t elementBytes, int64_t ranks) {
  std::vector<int64_t> blocks;
  for (int64_t r = 0; r < ranks; ++r)
    blocks.push_back(pieceOf(elements, ranks, r).count * elementBytes);
  return blocks;
}

} // namespace

Traffic allReduceTraffic(int64_t elements, int64_t elementBytes, int64_t ranks, int64_t rank) {
  int64_t bytes = elements * elementBytes;
  if (bytes <= kSmallAllReduceBytes)
    return {(ranks - 1) * bytes, bytes > 0 ? ranks - 1 : 0};
  std::vector<int64_t> blocks = allReduceBlocks(elements, elementBytes, ranks);
  Traffic traffic = reduceScatterTraffic(blocks, rank);
  traffic += allGatherTraffic(blocks, rank);
  return traffic;
}

int64_t reduceScatterWorkspace(const std::vector<int64_t> &blocks, int64_t rank) {
  int64_t others = blocks.size() - 1;
  return 2 * others * alignUp(std::min(blocks[rank], kChunkBytes), kAlignmentBytes);
}

int64_t allReduceWorkspace(int64_t elements, int64_t elementBytes, int64_t ranks, int64_t rank) {
  int64_t bytes = elements * elementBytes;
  if (bytes <= kSmallAllReduceBytes)
    return (ranks - 1) * alignUp(bytes, kAlignmentBytes);
  return reduceScatterWorkspace(allReduceBlocks(elements, elementBytes, ranks), rank);
}

namespace {

/// Elements of an all-to-all that the rank keeps.
int64_t keptElements(const BoxingStep &step, const Shape &shape, const Placement &placement,
                     const std::vector<int64_t> &at) {
  std::vector<Interval> before = localBox(shape, step.from, placement, at);
  std::vector<Interval> after = localBox(shape, step.to, placement, at);
  int64_t kept = 1;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    int64_t begin = std::max(before[dim].begin, after[dim].begin);
    int64_t end = std::min(before[dim].begin + before[dim].count, after[dim].begin + after[dim].count);
    kept *= std::max<int64_t>(end - begin, 0);
  }
  return kept;
}

/// Bytes that the rank at `at` sends.
int64_t stepBytesAt(const BoxingStep &step, const Shape &shape, int64_t elementBytes, const Placement &placement,
                    const std::vector<int64_t> &at) {
  int64_t ranks = placement.axes[step.axis].size;
  auto elementsOf = [&](const NdSbp &sbp) { return numElements(localShape(shape, sbp, placement, at)); };
  int64_t before = elementsOf(step.from);
  switch (step.collective) {
  case Collective::Slice:
    return 0;
  case Collective::AllGather:
    return before * (ranks - 1) * elementBytes;
  case Collective::AllReduce:
    return allReduceTraffic(before, elementBytes, ranks, at[step.axis]).bytes;
  case Collective::ReduceScatter:
    return (before - elementsOf(step.to)) * elementBytes;
  case Collective::AllToAll:
    return (before - keptElements(step, shape, placement, at)) * elementBytes;
  }
  return 0;
}

} // namespace

int64_t stepBytes(const BoxingStep &step, const Shape &shape, int64_t elementBytes, const Placement &placement) {
  int64_t most = 0;
  if (step.collective == Collective::Slice || placement.axes[step.axis].size == 1)
    return 0;
  // Along the step's axis any rank may send the most (the longest piece of a slot lies in the middle). Along the others
  // pieces only shrink: the extremes are at their ends.
  for (int64_t corner = 0; corner < int64_t{1} << placement.axes.size(); ++corner) {
    if (corner >> step.axis & 1)
      continue;
    std::vector<int64_t> at;
    for (size_t axis = 0; axis < placement.axes.size(); ++axis)
      at.push_back(corner >> axis & 1 ? placement.axes[axis].size - 1 : 0);
    for (at[step.axis] = 0; at[step.axis] < placement.axes[step.axis].size; ++at[step.axis])
      most = std::max(most, stepBytesAt(step, shape, elementBytes, placement, at));
  }
  return most;
}

int64_t boxingBytes(const Shape &shape, int64_t elementBytes, const NdSbp &from, const NdSbp &to,
                    const Placement &placement) {
  int64_t bytes = 0;
  for (const BoxingStep &step : planBoxing(shape, from, to, placement))
    bytes += stepBytes(step, shape, elementBytes, placement);
  return bytes;
}

} // namespace splitcast::sbp
