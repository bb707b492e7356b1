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

std::vector<BoxingStep> nextSteps(const Shape &shape, const NdSbp &state, const NdSbp &from, const NdSbp &to) {
  std::vector<BoxingStep> steps;
  for (size_t axis = 0; axis < state.size(); ++axis)
    for (const Sbp &entry : entriesOf(shape, from[axis], to[axis])) {
      std::optional<Collective> collective = singleStep(state[axis], entry);
      if (!collective || !mayChange(state, axis, entry))
        continue;
      BoxingStep step{static_cast<int64_t>(axis), *collective, state, state};
      step.to[axis] = entry;
      steps.push_back(step);
    }
  return steps;
}

/// On an axis of size 1 every entry means the same bytes.
NdSbp withoutTrivialAxes(NdSbp sbp, const NdSbp &like, const Placement &placement) {
  for (size_t axis = 0; axis < sbp.size(); ++axis)
    if (placement.axes[axis].size == 1)
      sbp[axis] = like[axis];
  return sbp;
}

int64_t chunks(int64_t bytes) { return (bytes + kChunkBytes - 1) / kChunkBytes; }

} // namespace

std::vector<BoxingStep> planBoxing(const Shape &shape, const NdSbp &from, const NdSbp &to, const Placement &placement) {
  NdSbp goal = withoutTrivialAxes(to, from, placement);
  struct Reached {
    int64_t cost;
    std::vector<BoxingStep> path;
  };
  // Dijkstra; states are keyed by their text, of which there are at most (rank + 3)^axes.
  std::map<std::string, Reached> best;
  using Entry = std::pair<int64_t, std::string>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue;
  std::map<std::string, NdSbp> states;
  best[toString(from)] = {0, {}};
  states[toString(from)] = from;
  queue.push({0, toString(from)});
  while (!queue.empty()) {
    auto [cost, key] = queue.top();
    queue.pop();
    if (cost > best[key].cost)
      continue;
    NdSbp state = states[key];
    if (state == goal)
      return best[key].path;
    for (const BoxingStep &step : nextSteps(shape, state, from, goal)) {
      // Every step costs at least one unit, so that of plans with equal bytes the shortest is found.
      int64_t next = cost + 1 + 16 * stepBytes(step, shape, 1, placement);
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

int64_t stepBytes(const BoxingStep &step, const Shape &shape, int64_t elementBytes, const Placement &placement) {
  int64_t ranks = placement.axes[step.axis].size, most = 0;
  if (step.collective == Collective::Slice || ranks == 1)
    return 0;
  // Pieces only shrink along an axis, so the extremes are at its ends.
  for (int64_t corner = 0; corner < int64_t{1} << placement.axes.size(); ++corner) {
    std::vector<int64_t> at;
    for (size_t axis = 0; axis < placement.axes.size(); ++axis)
      at.push_back(corner >> axis & 1 ? placement.axes[axis].size - 1 : 0);
    auto bytesOf = [&](const NdSbp &sbp) { return numElements(localShape(shape, sbp, placement, at)) * elementBytes; };
    int64_t before = bytesOf(step.from), after = bytesOf(step.to), sent = 0;
    switch (step.collective) {
    case Collective::Slice:
      break;
    case Collective::AllGather:
      sent = before * (ranks - 1);
      break;
    case Collective::AllReduce:
      sent = allReduceTraffic(before / elementBytes, elementBytes, ranks, at[step.axis]).bytes;
      break;
    case Collective::ReduceScatter:
      sent = before - after;
      break;
    case Collective::AllToAll:
      sent = before - before / ranks;
      break;
    }
    most = std::max(most, sent);
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
