// Computes how much the busiest rank sends in a step of a boxing. Of a long
// axis, only the ranks that may send the most are examined.
#include "dialects/sbp/algebra/Boxing.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace splitcast::sbp {

namespace {

/// Returns the number of elements of an all-to-all that the rank at `at` keeps.
int64_t keptElements(const BoxingStep &step, const Shape &shape, const Placement &placement,
                     const std::vector<int64_t> &at) {
  if (!isHeld(step.from, at) || !isHeld(step.to, at))
    return 0;
  const Box before = localBox(shape, step.from, placement, at), after = localBox(shape, step.to, placement, at);
  int64_t kept = 1;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    kept *= overlap(before[dim], after[dim]).count;
  return kept;
}

/// Returns the number of elements that the rank at `at` sends.
int64_t sentElements(const BoxingStep &step, const Shape &shape, const Placement &placement,
                     const std::vector<int64_t> &at) {
  const int64_t ranks = placement.axes[step.axis].size;
  const int64_t before = numElements(localShape(shape, step.from, placement, at, step.fromLast));
  switch (step.collective) {
  case Collective::Slice:
    return 0;
  case Collective::AllGather:
    return before * (ranks - 1);
  case Collective::AllReduce: { // each rank reduces one piece, and sends that to all others
    const int64_t own = pieceOf(before, ranks, at[step.axis]).count;
    return before - own + own * (ranks - 1);
  }
  case Collective::ReduceScatter:
    return before - numElements(localShape(shape, step.to, placement, at, step.toLast));
  case Collective::AllToAll:
    return before - keptElements(step, shape, placement, at);
  case Collective::Exchange: // see ExchangeVolume
    break;
  }
  return 0;
}

/// Returns how many ranks have the longer one of the two piece lengths into
/// which an entry cuts an extent.
int64_t numLonger(int64_t extent, const Sbp &entry, int64_t ranks) { return extent / entry.unit % ranks; }

bool hasEnds(const Sbp &entry) { return !entry.ends.empty() || !entry.slot.ends.empty(); }

std::vector<int64_t> allOf(int64_t ranks) {
  std::vector<int64_t> coordinates(ranks);
  std::iota(coordinates.begin(), coordinates.end(), 0);
  return coordinates;
}

/// Returns coordinates along the axis of the step that include one that sends
/// the most. The pieces of a dimension have two lengths, the longer ones first,
/// unless ends are given. The pieces of a slot are whole chunks, except for the
/// first and the last.
std::vector<int64_t> busiestAlong(const BoxingStep &step, const Shape &shape, const Placement &placement) {
  const Sbp &from = step.from[step.axis], &to = step.to[step.axis];
  const int64_t ranks = placement.axes[step.axis].size, last = ranks - 1;
  if (hasEnds(from) || hasEnds(to) || from.isAt() || to.isAt())
    return allOf(ranks);
  switch (step.collective) {
  case Collective::AllGather: { // the rank with the longest piece sends the most
    const int64_t chunk = from.isFlat() ? from.slot.total / ranks : 0;
    const int64_t first = chunk > 0 ? std::min(from.slot.offset / chunk, last) : 0;
    return {first, std::min(first + 1, last)};
  }
  case Collective::ReduceScatter: // the rank with the shortest piece sends the most
    return {0, last};
  case Collective::AllToAll: { // also the ranks at which one of the two pieces becomes shorter
    NdSbp whole = step.from;
    whole[step.axis] = Sbp::broadcast();
    const Box box = localBox(shape, whole, placement, firstHolder(whole));
    return {0, numLonger(box[from.dim].count, from, ranks), numLonger(box[to.dim].count, to, ranks), last};
  }
  default:
    return {0};
  }
}

/// Returns the most elements along a dimension that any rank of the step's axis
/// sends when the dimension is cut in another way. Between two coordinates at
/// which neither the old nor the new piece changes its length, one moves past
/// the other, and their overlap, which the rank keeps, is smallest at one of
/// the two. Every extent is tried that the other axes may leave: a rank that
/// holds more need not send more, since its two pieces may happen to be equal.
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

/// Computes how much the busiest rank sends when ranks exchange along several
/// axes at once.
class ExchangeVolume {
public:
  ExchangeVolume(const BoxingStep &step, const Shape &shape, const Placement &placement)
      : step(step), shape(shape), placement(placement), isExchanged(placement.axes.size()) {
    for (int64_t axis : step.axes()) {
      isExchanged[axis] = true;
      if (!step.to[axis].isSplit())
        copies *= placement.axes[axis].size;
    }
    for (size_t axis = 0; axis < isExchanged.size(); ++axis)
      places.push_back(placesAlong(axis));
  }

  int64_t mostSent() const {
    std::vector<int64_t> at = firstHolder(step.from);
    const bool isCutAnyhow = std::any_of(step.from.begin(), step.from.end(), hasEnds);
    const int64_t bound =
        isCutAnyhow ? INT64_MAX : copies * numElements(localShape(shape, step.from, placement, at, step.fromLast));
    int64_t most = 0;
    forPlaces(at, 0, [&] {
      most = std::max(most, sent(at));
      return most < bound;
    });
    return most;
  }

private:
  int64_t sent(const std::vector<int64_t> &at) const {
    const Box before = localBox(shape, step.from, placement, at, step.fromLast),
              after = localBox(shape, step.to, placement, at);
    int64_t all = copies, kept = 1;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      all *= wanted(dim, before[dim], {0, shape[dim]}, 0, at);
      kept *= overlap(before[dim], after[dim]).count;
    }
    return all - kept;
  }

  /// Returns the sum, over the ranks that the rank at `at` exchanges with, of
  /// how much each of them wants of the interval `held` of a dimension. The
  /// axes before `axis` have left `piece` to them.
  int64_t wanted(size_t dim, const Interval &held, const Interval &piece, size_t axis,
                 const std::vector<int64_t> &at) const {
    const Interval common = overlap(held, piece);
    axis = nextOf(dim, axis);
    if (common.count == 0 || axis == step.to.size())
      return common.count;
    if (!isExchanged[axis])
      return wanted(dim, held, part(piece, axis, at[axis]), axis + 1, at);
    size_t later = nextOf(dim, axis + 1);
    while (later < step.to.size() && isExchanged[later])
      later = nextOf(dim, later + 1);
    if (later == step.to.size()) // the parts of these ranks are disjoint and cover all of it
      return common.count;
    const int64_t first = rankOf(piece, axis, common.begin),
                  last = rankOf(piece, axis, common.begin + common.count - 1);
    int64_t sum = 0;
    for (int64_t coordinate = first, alike = 1; coordinate <= last; coordinate += alike) {
      const Interval here = part(piece, axis, coordinate);
      const bool isInside = coordinate > first && coordinate < last; // and `here` lies within `held`
      alike = isInside ? numAlike(piece, axis, coordinate, last) : 1;
      sum += alike * wanted(dim, isInside ? here : held, here, axis + 1, at);
    }
    return sum;
  }

  /// Returns how many ranks, from `coordinate` on and before `end`, have parts
  /// of one length. There are two lengths, unless ends are given.
  int64_t numAlike(const Interval &piece, size_t axis, int64_t coordinate, int64_t end) const {
    if (hasEnds(step.to[axis]))
      return 1;
    const int64_t longer = numLonger(piece.count, step.to[axis], placement.axes[axis].size);
    return std::min(end, coordinate < longer ? longer : end) - coordinate;
  }

  /// Returns the first axis, from `axis` on, that splits the dimension after
  /// the step, or the number of axes if there is none.
  size_t nextOf(size_t dim, size_t axis) const {
    while (axis < step.to.size() && !step.to[axis].splitsSameDimAs(Sbp::split(static_cast<int64_t>(dim))))
      ++axis;
    return axis;
  }

  Interval part(const Interval &piece, size_t axis, int64_t coordinate) const {
    const Interval within = pieceOf(piece.count, placement.axes[axis].size, coordinate, step.to[axis]);
    return {piece.begin + within.begin, within.count};
  }

  /// Returns the coordinate along the axis whose part of the piece contains the
  /// element.
  int64_t rankOf(const Interval &piece, size_t axis, int64_t element) const {
    int64_t low = 0, high = placement.axes[axis].size - 1;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      const Interval here = part(piece, axis, middle);
      if (here.begin + here.count > element)
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }

  /// Calls `visit` for coordinates, of which some send the most or at most one
  /// piece less, until it returns false.
  bool forPlaces(std::vector<int64_t> &at, size_t axis, const std::function<bool()> &visit) const {
    if (axis == at.size())
      return visit();
    for (int64_t coordinate : places[axis]) {
      at[axis] = coordinate;
      if (!forPlaces(at, axis + 1, visit))
        return false;
    }
    return true;
  }

  /// Returns the coordinates to examine along an axis. If the axis splits
  /// nothing, that is one that holds the tensor; if it has few ranks, all of
  /// them; else its ends, its middle, and where the pieces of the whole tensor
  /// become shorter.
  std::vector<int64_t> placesAlong(size_t axis) const {
    constexpr int64_t kFew = 4;
    const Sbp &from = step.from[axis], &to = step.to[axis];
    const int64_t ranks = placement.axes[axis].size;
    if (!from.isSplit() && !to.isSplit())
      return {firstHolder({from}).front()};
    if (ranks <= kFew || hasEnds(from) || hasEnds(to))
      return allOf(ranks);
    std::set<int64_t> chosen = {0, ranks / 2, ranks - 1};
    for (const Sbp *entry : {&from, &to})
      if (entry->isSplit()) {
        const int64_t longer = numLonger(shape[entry->dim], *entry, ranks);
        chosen.insert({std::max<int64_t>(longer - 1, 0), longer});
      }
    return {chosen.begin(), chosen.end()};
  }

  const BoxingStep &step;
  const Shape &shape;
  const Placement &placement;
  std::vector<bool> isExchanged;            ///< by axis
  std::vector<std::vector<int64_t>> places; ///< by axis, the coordinates to look at
  int64_t copies = 1;                       ///< how many ranks of the exchange have each element afterwards
};

} // namespace

int64_t stepVolume(const BoxingStep &step, const Shape &shape, int64_t elementBytes, const Placement &placement) {
  if (step.collective == Collective::Slice || placement.axes[step.axis].size == 1)
    return 0;
  if (step.collective == Collective::Exchange)
    return ExchangeVolume(step, shape, placement).mostSent() * elementBytes;
  // Along the other axes, coordinate 0 has the longest piece unless ends are
  // given, and a rank that holds more does not send less.
  std::vector<int64_t> at = firstHolder(step.from);
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
