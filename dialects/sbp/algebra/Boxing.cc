#include "dialects/sbp/algebra/Boxing.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <tuple>

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
    for (const Sbp *changed : {&state[axis], &to})
      if (other > axis && state[other].splitsSameDimAs(*changed))
        return false;
  }
  return true;
}

/// Whether another axis splits the dimension, which none may beside ends.
bool isSplitElsewhere(const NdSbp &state, size_t axis, const Sbp &entry) {
  for (size_t other = 0; other < state.size(); ++other)
    if (other != axis && state[other].splitsSameDimAs(entry))
      return true;
  return false;
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
bool othersAreAt(const NdSbp &state, size_t axis, const NdSbp &to) {
  for (size_t other = 0; other < state.size(); ++other)
    if (other != axis && state[other] != to[other])
      return false;
  return true;
}

/// On an axis of size 1 every entry means the same bytes, and B stays true when the other axes change: another axis
/// need not wait for its split, and a slot need not have room for more than its own piece.
NdSbp withoutTrivialAxes(NdSbp sbp, const Placement &placement) {
  for (size_t axis = 0; axis < sbp.size(); ++axis)
    if (placement.axes[axis].size == 1)
      sbp[axis] = Sbp::broadcast();
  return sbp;
}

/// Dijkstra over the signatures between two, on axes of more than one rank.
class PlanSearch {
public:
  PlanSearch(const Shape &shape, const NdSbp &start, const NdSbp &goal, const Placement &placement)
      : shape(shape), goal(goal), placement(placement) {
    for (size_t axis = 0; axis < start.size(); ++axis)
      entries.push_back(entriesOf(start[axis], goal[axis]));
    best[keyOf(start)] = {};
    queue.push({{}, keyOf(start)});
  }

  std::vector<BoxingStep> run() {
    while (!queue.empty()) {
      auto [cost, key] = queue.top();
      queue.pop();
      NdSbp state = stateOf(key);
      if (state == goal)
        return stepsTo(key);
      if (!(best[key].cost < cost))
        visit(key, state);
    }
    return {};
  }

private:
  /// Per axis the number of its entry. Of plans with equal costs that through the smaller keys is found, so that the
  /// order of the entries decides.
  using Key = std::vector<int>;
  /// Of plans with equal volumes the shortest is found.
  struct Cost {
    int64_t elements = 0, steps = 0;
    bool operator<(const Cost &other) const {
      return std::tie(elements, steps) < std::tie(other.elements, other.steps);
    }
  };
  struct Reached {
    Cost cost;
    Key before;
    BoxingStep step;
  };

  /// The entries an axis may pass through, in the order of their texts. Where a dimension is split by a unit or to ends
  /// it is not split otherwise on the way: to cut it into more equal pieces first would send fewer bytes, in one
  /// collective more.
  std::vector<Sbp> entriesOf(const Sbp &from, const Sbp &to) const {
    std::map<std::string, Sbp> byText = {{toString(from), from}, {toString(to), to}, {"B", Sbp::broadcast()}};
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      const Sbp entry = Sbp::split(dim);
      auto isUneven = [&](const Sbp &end) { return end.splitsSameDimAs(entry) && !end.isPlain(); };
      if (!isUneven(from) && !isUneven(to))
        byText.emplace(toString(entry), entry);
    }
    std::vector<Sbp> result;
    for (const auto &[text, entry] : byText)
      result.push_back(entry);
    return result;
  }

  Key keyOf(const NdSbp &state) const {
    Key key;
    for (size_t axis = 0; axis < state.size(); ++axis)
      key.push_back(std::find(entries[axis].begin(), entries[axis].end(), state[axis]) - entries[axis].begin());
    return key;
  }

  NdSbp stateOf(const Key &key) const {
    NdSbp state;
    for (size_t axis = 0; axis < key.size(); ++axis)
      state.push_back(entries[axis][key[axis]]);
    return state;
  }

  void visit(const Key &key, const NdSbp &state) {
    for (size_t axis = 0; axis < state.size(); ++axis)
      for (size_t number = 0; number < entries[axis].size(); ++number) {
        const Sbp &entry = entries[axis][number];
        std::optional<Collective> collective = singleStep(state[axis], entry);
        if (!collective || !mayChange(state, axis, entry) || mustWait(state, axis, goal) ||
            (entry.isFlat() && !othersAreAt(state, axis, goal)))
          continue;
        if (entry.unit > 1 && !grainBefore(axis, entry.dim, shape, state, placement).canSplitBy(entry.unit))
          continue; // once the other axes have changed
        if (!entry.ends.empty() && isSplitElsewhere(state, axis, entry))
          continue;
        Key next = key;
        next[axis] = number;
        BoxingStep step{static_cast<int64_t>(axis), *collective, state, state};
        step.to[axis] = entry;
        reach(key, std::move(next), std::move(step));
      }
  }

  void reach(const Key &key, Key next, BoxingStep step) {
    Cost cost = best[key].cost;
    ++cost.steps;
    auto known = best.find(next);
    if (known != best.end() && !(cost < known->second.cost))
      return;
    cost.elements += stepVolume(step, shape, /*elementBytes=*/1, placement);
    if (known != best.end() && !(cost < known->second.cost))
      return;
    queue.push({cost, next});
    best[std::move(next)] = {cost, key, std::move(step)};
  }

  std::vector<BoxingStep> stepsTo(const Key &key) const {
    std::vector<BoxingStep> steps;
    for (const Reached *at = &best.at(key); !at->before.empty(); at = &best.at(at->before))
      steps.push_back(at->step);
    std::reverse(steps.begin(), steps.end());
    return steps;
  }

  const Shape &shape;
  const NdSbp &goal;
  const Placement &placement;
  std::vector<std::vector<Sbp>> entries; ///< per axis
  std::map<Key, Reached> best;
  struct Entry {
    Cost cost;
    Key key;
    bool operator>(const Entry &other) const { return other.cost < cost || (!(cost < other.cost) && other.key < key); }
  };
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue;
};

/// The axes along which a plan may have steps. Along one of size 1 there is nothing to move, and an axis that stays P
/// can only stay: a sum would not come back.
std::vector<size_t> axesToSearch(const NdSbp &from, const NdSbp &to, const Placement &placement) {
  std::vector<size_t> axes;
  for (size_t axis = 0; axis < from.size(); ++axis)
    if (placement.axes[axis].size > 1 && !to[axis].isPartial())
      axes.push_back(axis);
  return axes;
}

NdSbp onAxes(const NdSbp &sbp, const std::vector<size_t> &axes) {
  NdSbp result;
  for (size_t axis : axes)
    result.push_back(sbp[axis]);
  return result;
}

} // namespace

std::vector<BoxingStep> planBoxing(const Shape &shape, const NdSbp &from, const NdSbp &to, const Placement &placement) {
  const NdSbp start = withoutTrivialAxes(from, placement), goal = withoutTrivialAxes(to, placement);
  if (start == goal)
    return {};
  const std::vector<size_t> axes = axesToSearch(start, goal, placement);
  const NdSbp searchedStart = onAxes(start, axes), searchedGoal = onAxes(goal, axes);
  Placement mesh;
  for (size_t axis : axes)
    mesh.axes.push_back(placement.axes[axis]);
  std::vector<BoxingStep> steps = PlanSearch(shape, searchedStart, searchedGoal, mesh).run();
  for (BoxingStep &step : steps) {
    step.axis = axes[step.axis];
    for (NdSbp *sbp : {&step.from, &step.to}) {
      NdSbp whole = start;
      for (size_t i = 0; i < axes.size(); ++i)
        whole[axes[i]] = (*sbp)[i];
      *sbp = std::move(whole);
    }
  }
  return steps;
}

namespace {

/// Elements of an all-to-all that the rank keeps.
int64_t keptElements(const BoxingStep &step, const Shape &shape, const Placement &placement,
                     const std::vector<int64_t> &at) {
  std::vector<Interval> before = localBox(shape, step.from, placement, at);
  std::vector<Interval> after = localBox(shape, step.to, placement, at);
  int64_t kept = 1;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    kept *= overlap(before[dim], after[dim]).count;
  return kept;
}

/// Elements that the rank at `at` sends.
int64_t sentElements(const BoxingStep &step, const Shape &shape, const Placement &placement,
                     const std::vector<int64_t> &at) {
  const int64_t ranks = placement.axes[step.axis].size;
  auto elementsOf = [&](const NdSbp &sbp) { return numElements(localShape(shape, sbp, placement, at)); };
  const int64_t before = elementsOf(step.from);
  switch (step.collective) {
  case Collective::Slice:
    return 0;
  case Collective::AllGather:
    return before * (ranks - 1);
  case Collective::AllReduce: { // reduces its piece, and sends that to all others
    const int64_t own = pieceOf(before, ranks, at[step.axis]).count;
    return before - own + own * (ranks - 1);
  }
  case Collective::ReduceScatter:
    return before - elementsOf(step.to);
  case Collective::AllToAll:
    return before - keptElements(step, shape, placement, at);
  }
  return 0;
}

/// How many of the ranks have the longer of the two pieces that an entry cuts an extent into.
int64_t numLonger(int64_t extent, const Sbp &entry, int64_t ranks) { return extent / entry.unit % ranks; }

bool hasEnds(const Sbp &entry) { return !entry.ends.empty() || !entry.slot.ends.empty(); }

std::vector<int64_t> allOf(int64_t ranks) {
  std::vector<int64_t> coordinates(ranks);
  std::iota(coordinates.begin(), coordinates.end(), 0);
  return coordinates;
}

/// Coordinates along the step's axis, some of which send the most. Pieces of a dimension have two sizes, the longer
/// ones first, unless ends are given; those of a slot are whole chunks, but for the first and the last.
std::vector<int64_t> busiestAlong(const BoxingStep &step, const Shape &shape, const Placement &placement) {
  const Sbp &from = step.from[step.axis], &to = step.to[step.axis];
  const int64_t ranks = placement.axes[step.axis].size, last = ranks - 1;
  if (hasEnds(from) || hasEnds(to))
    return allOf(ranks);
  switch (step.collective) {
  case Collective::AllGather: { // the longest piece
    const int64_t chunk = from.isFlat() ? from.slot.total / ranks : 0;
    const int64_t first = chunk > 0 ? std::min(from.slot.offset / chunk, last) : 0;
    return {first, std::min(first + 1, last)};
  }
  case Collective::ReduceScatter: // all but the shortest piece
    return {0, last};
  case Collective::AllToAll: { // where one of the two pieces becomes shorter, too
    NdSbp whole = step.from;
    whole[step.axis] = Sbp::broadcast();
    std::vector<Interval> box = localBox(shape, whole, placement, std::vector<int64_t>(placement.axes.size(), 0));
    return {0, numLonger(box[from.dim].count, from, ranks), numLonger(box[to.dim].count, to, ranks), last};
  }
  default:
    return {0};
  }
}

/// The most elements along a dimension that a rank of the step's axis sends when it is cut otherwise. Between two
/// coordinates at which neither piece changes its size, the one piece moves past the other: a rank keeps the least of
/// its own at one of the two. And as the pieces may happen to be equal, a rank with more need not send more.
int64_t mostRecut(const BoxingStep &step, const Shape &shape, const Placement &placement) {
  const Sbp &from = step.from[step.axis], &to = step.to[step.axis];
  const int64_t ranks = placement.axes[step.axis].size;
  NdSbp whole = step.from;
  whole[step.axis] = Sbp::broadcast();
  int64_t most = 0;
  for (int64_t extent : boxExtents(from.dim, shape, whole, placement)) {
    const int64_t longerBefore = numLonger(extent, from, ranks), longerAfter = numLonger(extent, to, ranks);
    std::vector<int64_t> turns = {0, longerBefore - 1, longerBefore, longerAfter - 1, longerAfter, ranks - 1};
    if (hasEnds(from) || hasEnds(to))
      turns = allOf(ranks);
    for (int64_t coordinate : turns) {
      if (coordinate < 0)
        continue;
      const Interval held = pieceOf(extent, ranks, coordinate, from);
      most = std::max(most, held.count - overlap(held, pieceOf(extent, ranks, coordinate, to)).count);
    }
  }
  return most;
}

} // namespace

int64_t stepVolume(const BoxingStep &step, const Shape &shape, int64_t elementBytes, const Placement &placement) {
  if (step.collective == Collective::Slice || placement.axes[step.axis].size == 1)
    return 0;
  // Along the other axes coordinate 0 has the longest pieces, but where ends are given; and who holds more sends no
  // less.
  std::vector<int64_t> at(placement.axes.size(), 0);
  for (size_t axis = 0; axis < at.size(); ++axis)
    if (!step.from[axis].ends.empty())
      at[axis] = longestPiece(step.from[axis].ends);
  if (step.from[step.axis].splitsSameDimAs(step.to[step.axis])) {
    Shape rows = localShape(shape, step.from, placement, at);
    rows[step.from[step.axis].dim] = mostRecut(step, shape, placement);
    return numElements(rows) * elementBytes;
  }
  int64_t most = 0;
  for (int64_t coordinate : busiestAlong(step, shape, placement)) {
    at[step.axis] = coordinate;
    most = std::max(most, sentElements(step, shape, placement, at));
  }
  return most * elementBytes;
}

int64_t boxingVolume(const Shape &shape, int64_t elementBytes, const NdSbp &from, const NdSbp &to,
                     const Placement &placement) {
  int64_t bytes = 0;
  for (const BoxingStep &step : planBoxing(shape, from, to, placement))
    bytes += stepVolume(step, shape, elementBytes, placement);
  return bytes;
}

} // namespace splitcast::sbp
