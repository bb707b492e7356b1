#include "dialects/sbp/algebra/Boxing.h"

#include <algorithm>
#include <map>
#include <queue>
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
  case Collective::Exchange:
    return "exchange";
  }
  return "";
}

std::vector<int64_t> BoxingStep::axes() const {
  std::vector<int64_t> all = {axis};
  all.insert(all.end(), further.begin(), further.end());
  return all;
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
  if (!from.isFlat() && !to.isFlat())
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

/// Whether another axis splits the same dimension. A split with ends allows no
/// such axis.
bool isSplitElsewhere(const NdSbp &state, size_t axis, const Sbp &entry) {
  for (size_t other = 0; other < state.size(); ++other)
    if (other != axis && state[other].splitsSameDimAs(entry))
      return true;
  return false;
}

/// Whether addends along a later axis have to be summed first. Sums go from the
/// last axis to the first, so that the order of a sum over two axes does not
/// depend on the signature of the result.
bool mustWait(const NdSbp &state, size_t axis, const NdSbp &to) {
  for (size_t later = axis + 1; later < state.size(); ++later)
    if (state[axis].isPartial() && state[later].isPartial() && !to[later].isPartial())
      return true;
  return false;
}

/// Returns the axes along which ranks have to exchange pieces between two
/// signatures. These are the axes that split the tensor before and whose pieces
/// change, because their entry differs or because an earlier axis cuts the same
/// dimension in another way.
std::vector<int64_t> axesOfExchange(const NdSbp &from, const NdSbp &to) {
  std::vector<int64_t> axes;
  for (size_t axis = 0; axis < from.size(); ++axis) {
    bool changes = from[axis] != to[axis];
    for (size_t earlier = 0; earlier < axis && !changes; ++earlier)
      changes = from[earlier] != to[earlier] &&
                (from[axis].splitsSameDimAs(from[earlier]) || from[axis].splitsSameDimAs(to[earlier]));
    if (changes && from[axis].isSplit())
      axes.push_back(axis);
  }
  return axes;
}

/// Whether gathers and slices alone, axis by axis, do the same as an exchange
/// between two signatures. Transports are faster at these.
bool isStraight(const NdSbp &from, const NdSbp &to) {
  NdSbp state = from;
  auto move = [&](size_t axis) {
    const std::optional<Collective> step = singleStep(state[axis], to[axis]);
    if (!step || !mayChange(state, axis, to[axis]))
      return false;
    state[axis] = to[axis];
    return *step == Collective::AllGather || *step == Collective::Slice;
  };
  for (size_t axis = from.size(); axis-- > 0;)
    if (to[axis].isBroadcast() && state[axis] != to[axis] && !move(axis))
      return false;
  for (size_t axis = 0; axis < from.size(); ++axis)
    if (state[axis] != to[axis] && !move(axis))
      return false;
  return true;
}

/// Whether addends along the axis may be all-reduced. A sum that ends as pieces
/// is never made whole. Neither is one that ends in a slot, unless addends
/// along an earlier axis remain to be summed: a slot is entered after all other
/// axes have changed, and an earlier axis is summed after a later one.
bool mayReduceWhole(const NdSbp &state, size_t axis, const NdSbp &to) {
  for (size_t earlier = 0; earlier < axis && to[axis].isFlat(); ++earlier)
    if (state[earlier].isPartial() && !to[earlier].isPartial())
      return true;
  return to[axis].isBroadcast();
}

/// Whether a reduce-scatter along the axis may end with `entry`. A sum that
/// ends in a slot goes there directly: one collective reduces all members of a
/// bucket, and other pieces on the way would take that collective apart to save
/// a few bytes.
bool mayScatter(const Sbp &entry, size_t axis, const NdSbp &to) { return !to[axis].isFlat() || entry.isFlat(); }

/// Whether all other axes have their final entries. A slot has room for the
/// piece that they leave in the end, and for no larger one.
bool othersAreAt(const NdSbp &state, size_t axis, const NdSbp &to) {
  for (size_t other = 0; other < state.size(); ++other)
    if (other != axis && state[other] != to[other])
      return false;
  return true;
}

/// Replaces the entries along axes of size 1 by B. Every entry means the same
/// bytes there, and B remains legal when other axes change: no other axis has
/// to wait for a split, and no slot needs room for more than its own piece.
NdSbp withoutTrivialAxes(NdSbp sbp, const Placement &placement) {
  for (size_t axis = 0; axis < sbp.size(); ++axis)
    if (placement.axes[axis].size == 1)
      sbp[axis] = Sbp::broadcast();
  return sbp;
}

/// Dijkstra's algorithm over the signatures between `start` and `goal`. All
/// axes have more than one rank.
class PlanSearch {
public:
  PlanSearch(const Shape &shape, const NdSbp &start, const NdSbp &goal, const Placement &placement,
             int64_t elementsPerCall)
      : shape(shape), goal(goal), placement(placement), elementsPerCall(elementsPerCall) {
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
  /// Per axis, the number of its entry in `entries`. Of plans of equal cost,
  /// the one through the smaller keys is found, so that the order of the
  /// entries decides.
  using Key = std::vector<int>;
  /// Of plans with as many elements, the shortest is found. An exchange counts
  /// as the three steps that it may stand for, since transports are faster at
  /// these.
  struct Cost {
    int64_t elements = 0, steps = 0;
    bool operator<(const Cost &other) const {
      return std::tie(elements, steps) < std::tie(other.elements, other.steps);
    }
  };
  struct Reached {
    Cost cost;
    Key before;
    std::vector<BoxingStep> steps; ///< from `before` to this signature
  };

  /// Returns the entries that an axis may pass through, in the order of their
  /// texts. A dimension that is split with a unit or with ends is not split in
  /// another way on the way: cutting it into more equal pieces first would send
  /// fewer bytes, but in one collective more.
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
      for (size_t number = 0; number < entries[axis].size(); ++number)
        visitAlong(key, state, axis, number);
    visitExchanges(key, state);
  }

  void visitAlong(const Key &key, const NdSbp &state, size_t axis, size_t number) {
    const Sbp &entry = entries[axis][number];
    std::optional<Collective> collective = singleStep(state[axis], entry);
    if (!collective || mustWait(state, axis, goal) || (entry.isFlat() && !othersAreAt(state, axis, goal)) ||
        (*collective == Collective::AllReduce && !mayReduceWhole(state, axis, goal)) ||
        (*collective == Collective::ReduceScatter && !mayScatter(entry, axis, goal)))
      return;
    BoxingStep step{static_cast<int64_t>(axis), *collective, state, state};
    step.to[axis] = entry;
    if (!mayBe(step.to, axis))
      return;
    if (mayChange(state, axis, entry))
      return reach(key, only(std::move(step)));
    if (*collective == Collective::ReduceScatter && !hasFlat(step.to) && areAllFit(step.to))
      visitScatterBelow(key, std::move(step));
  }

  /// Reaches the sum of addends along an axis whose pieces later axes cut
  /// further. Each rank first gets its share of the piece that the later axes
  /// leave now, so that the pieces of this axis lie within theirs. An exchange
  /// then reverses the nesting.
  void visitScatterBelow(const Key &key, BoxingStep scatter) {
    const NdSbp to = scatter.to;
    BoxingStep exchange{scatter.axis, Collective::Exchange, to, to};
    for (size_t later = scatter.axis + 1; later < to.size(); ++later)
      if (to[later].splitsSameDimAs(to[scatter.axis]))
        exchange.further.push_back(later);
    scatter.to[scatter.axis] = Sbp::split(to[scatter.axis].dim);
    exchange.from = scatter.to;
    scatter.toLast = exchange.fromLast = scatter.axis;
    std::vector<BoxingStep> both = only(std::move(scatter));
    both.push_back(std::move(exchange));
    reach(key, std::move(both));
  }

  /// Visits the signatures that one exchange reaches: some of the axes that
  /// still differ from the goal get their final entries.
  void visitExchanges(const Key &key, const NdSbp &state) {
    std::vector<size_t> open;
    for (size_t axis = 0; axis < state.size(); ++axis)
      if (state[axis] != goal[axis] && !state[axis].isPartial() && !state[axis].isAt() && !goal[axis].isAt())
        open.push_back(axis);
    if (open.empty() || hasFlat(state) || open.size() > kMostAxesAtOnce)
      return;
    for (unsigned chosen = 1; chosen < 1u << open.size(); ++chosen) {
      NdSbp next = state;
      for (size_t i = 0; i < open.size(); ++i)
        if (chosen >> i & 1)
          next[open[i]] = goal[open[i]];
      if (hasFlat(next) || isStraight(state, next) || !areAllFit(next))
        continue;
      const std::vector<int64_t> axes = axesOfExchange(state, next);
      if (axes.empty() || (axes.size() == 1 && withEntry(state, axes.front(), next) == next)) // visitAlong reaches it
        continue;
      BoxingStep step{axes.front(), Collective::Exchange, state, next};
      step.further.assign(axes.begin() + 1, axes.end());
      reach(key, only(std::move(step)));
    }
  }

  static std::vector<BoxingStep> only(BoxingStep step) {
    std::vector<BoxingStep> steps;
    steps.push_back(std::move(step));
    return steps;
  }

  static NdSbp withEntry(NdSbp state, size_t axis, const NdSbp &of) {
    state[axis] = of[axis];
    return state;
  }

  static bool hasFlat(const NdSbp &state) {
    return std::any_of(state.begin(), state.end(), [](const Sbp &entry) { return entry.isFlat(); });
  }

  /// Whether the entry of an axis is legal beside the others: its unit divides
  /// the length that they leave, and, if it has ends, no other axis splits the
  /// dimension.
  bool mayBe(const NdSbp &state, size_t axis) const {
    const Sbp &entry = state[axis];
    if (entry.unit > 1 && !grainBefore(axis, entry.dim, shape, state, placement).canSplitBy(entry.unit))
      return false; // may become possible when other axes have changed
    return entry.ends.empty() || !isSplitElsewhere(state, axis, entry);
  }

  bool areAllFit(const NdSbp &state) const {
    for (size_t axis = 0; axis < state.size(); ++axis)
      if (state[axis].isSplit() && !mayBe(state, axis))
        return false;
    return true;
  }

  void reach(const Key &key, std::vector<BoxingStep> steps) {
    Cost cost = best[key].cost;
    for (const BoxingStep &step : steps) {
      cost.steps += step.collective == Collective::Exchange ? kStepsOfExchange : 1;
      cost.elements += step.collective == Collective::Slice ? 0 : elementsPerCall;
    }
    Key next = keyOf(steps.back().to);
    auto known = best.find(next), atGoal = best.find(keyOf(goal));
    auto isKnown = [&] {
      return (known != best.end() && !(cost < known->second.cost)) ||
             (atGoal != best.end() && atGoal->second.cost < cost);
    };
    for (const BoxingStep &step : steps) {
      if (isKnown())
        return;
      cost.elements += stepVolume(step, shape, /*elementBytes=*/1, placement);
    }
    if (isKnown())
      return;
    queue.push({cost, next});
    best[std::move(next)] = {cost, key, std::move(steps)};
  }

  std::vector<BoxingStep> stepsTo(const Key &key) const {
    std::vector<BoxingStep> steps;
    for (const Reached *at = &best.at(key); !at->before.empty(); at = &best.at(at->before))
      steps.insert(steps.begin(), at->steps.begin(), at->steps.end());
    return steps;
  }

  static constexpr int64_t kStepsOfExchange = 3;
  /// If more axes than these differ from the goal, no exchange is tried, since
  /// there would be too many subsets.
  static constexpr size_t kMostAxesAtOnce = 8;

  const Shape &shape;
  const NdSbp &goal;
  const Placement &placement;
  const int64_t elementsPerCall;
  std::vector<std::vector<Sbp>> entries; ///< per axis
  std::map<Key, Reached> best;
  struct Entry {
    Cost cost;
    Key key;
    bool operator>(const Entry &other) const { return other.cost < cost || (!(cost < other.cost) && other.key < key); }
  };
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue;
};

/// Returns the axes along which a plan may have steps. Along an axis of size 1
/// nothing has to move. An axis that stays P keeps its addends, since nothing
/// turns a sum back into addends. A tensor that stays at one coordinate is at
/// no other one on the way.
std::vector<size_t> axesToSearch(const NdSbp &from, const NdSbp &to, const Placement &placement) {
  std::vector<size_t> axes;
  for (size_t axis = 0; axis < from.size(); ++axis)
    if (placement.axes[axis].size > 1 && !to[axis].isPartial() && !(to[axis].isAt() && from[axis] == to[axis]))
      axes.push_back(axis);
  return axes;
}

/// The plans that this thread has found. A model has few different boxings, and
/// its ops, functions and passes ask for their cost again and again.
class KnownPlans {
public:
  using Key = std::vector<int64_t>;

  /// Returns everything that a plan depends on. The key is empty if there is a
  /// flat split, since the name of its bucket is no number.
  static Key keyOf(const Shape &shape, const NdSbp &from, const NdSbp &to, const Placement &placement,
                   int64_t elementsPerCall) {
    Key key = {elementsPerCall, static_cast<int64_t>(shape.size())};
    key.insert(key.end(), shape.begin(), shape.end());
    for (size_t axis = 0; axis < placement.axes.size(); ++axis) {
      key.push_back(placement.axes[axis].size);
      for (const Sbp *entry : {&from[axis], &to[axis]}) {
        if (entry->isFlat())
          return {};
        key.insert(key.end(), {static_cast<int64_t>(entry->kind), entry->dim, entry->unit,
                               static_cast<int64_t>(entry->ends.size())});
        key.insert(key.end(), entry->ends.begin(), entry->ends.end());
      }
    }
    return key;
  }

  template <typename Search> const std::vector<BoxingStep> &find(const Key &key, Search search) {
    constexpr size_t kMost = 4096;
    if (plans.size() >= kMost)
      plans.clear();
    auto [at, isNew] = plans.try_emplace(key);
    if (isNew)
      at->second = search();
    return at->second;
  }

private:
  std::map<Key, std::vector<BoxingStep>> plans;
};

NdSbp onAxes(const NdSbp &sbp, const std::vector<size_t> &axes) {
  NdSbp result;
  for (size_t axis : axes)
    result.push_back(sbp[axis]);
  return result;
}

} // namespace

std::vector<BoxingStep> planBoxing(const Shape &shape, const NdSbp &from, const NdSbp &to, const Placement &placement,
                                   int64_t elementsPerCall) {
  const NdSbp start = withoutTrivialAxes(from, placement), goal = withoutTrivialAxes(to, placement);
  if (start == goal)
    return {};
  const std::vector<size_t> axes = axesToSearch(start, goal, placement);
  const NdSbp searchedStart = onAxes(start, axes), searchedGoal = onAxes(goal, axes);
  Placement mesh;
  for (size_t axis : axes)
    mesh.axes.push_back(placement.axes[axis]);
  const auto search = [&] { return PlanSearch(shape, searchedStart, searchedGoal, mesh, elementsPerCall).run(); };
  static thread_local KnownPlans known;
  const KnownPlans::Key key = KnownPlans::keyOf(shape, searchedStart, searchedGoal, mesh, elementsPerCall);
  std::vector<BoxingStep> steps = key.empty() ? search() : known.find(key, search);
  auto numberOf = [&](int64_t axis) { return axis < 0 ? axis : static_cast<int64_t>(axes[axis]); };
  for (BoxingStep &step : steps) {
    step.axis = numberOf(step.axis);
    step.fromLast = numberOf(step.fromLast);
    step.toLast = numberOf(step.toLast);
    for (int64_t &axis : step.further)
      axis = numberOf(axis);
    for (NdSbp *sbp : {&step.from, &step.to}) {
      NdSbp whole = start;
      for (size_t i = 0; i < axes.size(); ++i)
        whole[axes[i]] = (*sbp)[i];
      *sbp = std::move(whole);
    }
  }
  return steps;
}

} // namespace splitcast::sbp
