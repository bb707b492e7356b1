#include "tests/dialects/sbp/algebra/Reference.h"

#include <algorithm>
#include <numeric>

namespace splitcast::sbp {

Placement meshOf(const std::vector<int64_t> &sizes) {
  Placement placement{"cpu", {}, {}};
  for (int64_t size : sizes)
    placement.axes.push_back({std::string(1, static_cast<char>('a' + placement.axes.size())), size});
  return placement;
}

std::vector<std::vector<int64_t>> allTuples(size_t length, int64_t base) {
  std::vector<std::vector<int64_t>> tuples = {{}};
  for (size_t i = 0; i < length; ++i) {
    std::vector<std::vector<int64_t>> longer;
    for (const std::vector<int64_t> &tuple : tuples)
      for (int64_t value = 0; value < base; ++value) {
        longer.push_back(tuple);
        longer.back().push_back(value);
      }
    tuples = std::move(longer);
  }
  return tuples;
}

std::vector<NdSbp> allSignatures(size_t axes, const std::vector<Sbp> &entries) {
  std::vector<NdSbp> signatures;
  for (const std::vector<int64_t> &tuple : allTuples(axes, entries.size())) {
    NdSbp sbp;
    for (int64_t entry : tuple)
      sbp.push_back(entries[entry]);
    signatures.push_back(sbp);
  }
  return signatures;
}

std::vector<Sbp> entriesOf(size_t rank, bool withPartial) {
  std::vector<Sbp> entries = {Sbp::broadcast()};
  for (size_t dim = 0; dim < rank; ++dim)
    entries.push_back(Sbp::split(static_cast<int64_t>(dim)));
  if (withPartial)
    entries.push_back(Sbp::partial());
  return entries;
}

std::vector<Sbp> entriesWithUnits(const Shape &shape, bool withPartial) {
  std::vector<Sbp> entries = entriesOf(shape.size(), withPartial);
  for (size_t dim = 0; dim < shape.size(); ++dim)
    for (int64_t unit = 2; unit <= shape[dim]; ++unit)
      if (shape[dim] % unit == 0)
        entries.push_back(Sbp::split(static_cast<int64_t>(dim), unit));
  return entries;
}

std::vector<NdSbp> signaturesWithUnits(const Shape &shape, const Placement &placement, bool withPartial) {
  std::vector<NdSbp> signatures;
  for (const NdSbp &sbp : allSignatures(placement.axes.size(), entriesWithUnits(shape, withPartial)))
    if (unitsFit(shape, sbp, placement) && withoutIdleUnits(shape, sbp, placement) == sbp)
      signatures.push_back(sbp);
  return signatures;
}

std::vector<Ends> allEnds(int64_t length, int64_t ranks) {
  std::vector<Ends> result;
  for (Ends ends : allTuples(ranks - 1, length + 1)) {
    ends.push_back(length);
    if (std::is_sorted(ends.begin(), ends.end()) && !areEven(ends, length))
      result.push_back(ends);
  }
  return result;
}

std::vector<NdSbp> signaturesWithEnds(const Shape &shape, const Placement &placement, size_t axis, bool withPartial) {
  std::vector<NdSbp> signatures;
  for (NdSbp sbp : allSignatures(placement.axes.size(), entriesOf(shape.size(), withPartial))) {
    const bool isFree = std::none_of(sbp.begin(), sbp.end(), [](const Sbp &entry) { return entry.dim == 0; });
    if (!isFree || !sbp[axis].isBroadcast())
      continue;
    for (const Ends &ends : allEnds(shape[0], placement.axes[axis].size)) {
      sbp[axis] = Sbp::splitTo(0, ends);
      signatures.push_back(sbp);
    }
  }
  return signatures;
}

std::vector<NdSbp> signaturesWithCoordinates(size_t rank, const Placement &placement) {
  std::vector<Sbp> entries = entriesOf(rank, /*withPartial=*/true);
  int64_t longest = 0;
  for (const Axis &axis : placement.axes)
    longest = std::max(longest, axis.size);
  for (int64_t coordinate = 0; coordinate < longest; ++coordinate)
    entries.push_back(Sbp::at(coordinate));
  std::vector<NdSbp> signatures;
  for (const NdSbp &sbp : allSignatures(placement.axes.size(), entries)) {
    bool isEnd = true;
    for (size_t axis = 0; axis < sbp.size(); ++axis)
      isEnd &= !sbp[axis].isAt() || sbp[axis].dim == 0 || sbp[axis].dim == placement.axes[axis].size - 1;
    if (isEnd)
      signatures.push_back(sbp);
  }
  return signatures;
}

namespace {

/// Which piece an element of so many belongs to, when pieces end so.
int64_t pieceWith(int64_t element, const Ends &ends) {
  return std::count_if(ends.begin(), ends.end(), [&](int64_t end) { return end <= element; });
}

/// Deals the indices out, to the ends or `unit` at a time: the first pieces get one unit more.
std::vector<int64_t> pieceOfList(const std::vector<int64_t> &indices, int64_t parts, int64_t piece, const Sbp &entry) {
  const int64_t unit = entry.unit;
  if (!entry.ends.empty()) {
    std::vector<int64_t> mine;
    for (size_t i = 0; i < indices.size(); ++i)
      if (pieceWith(static_cast<int64_t>(i), entry.ends) == piece)
        mine.push_back(indices[i]);
    return mine;
  }
  std::vector<int64_t> lengths(parts);
  for (size_t i = 0; i < indices.size(); ++i)
    ++lengths[i / unit % parts];
  auto begin = indices.begin() + std::accumulate(lengths.begin(), lengths.begin() + piece, int64_t{0});
  return {begin, begin + lengths[piece]};
}

/// The indices of each dimension that the position's Split entries leave.
std::vector<std::vector<int64_t>> keptIndices(const Shape &shape, const NdSbp &sbp, const Placement &placement,
                                              const std::vector<int64_t> &at) {
  std::vector<std::vector<int64_t>> kept;
  for (int64_t extent : shape) {
    kept.emplace_back(extent);
    std::iota(kept.back().begin(), kept.back().end(), 0);
  }
  for (size_t axis = 0; axis < sbp.size(); ++axis)
    if (sbp[axis].isSplit())
      kept[sbp[axis].dim] = pieceOfList(kept[sbp[axis].dim], placement.axes[axis].size, at[axis], sbp[axis]);
  return kept;
}

} // namespace

std::vector<int64_t> heldBy(const Shape &shape, const NdSbp &sbp, const Placement &placement, int64_t position) {
  std::vector<int64_t> at = placement.coordinates(position);
  for (size_t axis = 0; axis < sbp.size(); ++axis)
    if (sbp[axis].isAt() && sbp[axis].dim != at[axis])
      return {};
  std::vector<std::vector<int64_t>> kept = keptIndices(shape, sbp, placement, at);
  std::vector<int64_t> elements = {0};
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    std::vector<int64_t> longer;
    for (int64_t element : elements)
      for (int64_t index : kept[dim])
        longer.push_back(element * shape[dim] + index);
    elements = std::move(longer);
  }
  for (size_t axis = 0; axis < sbp.size(); ++axis) {
    if (!sbp[axis].isFlat())
      continue;
    const Slot &slot = sbp[axis].slot;
    auto chunkWith = [&](int64_t element) {
      return slot.ends.empty() ? element / (slot.total / placement.axes[axis].size) : pieceWith(element, slot.ends);
    };
    std::vector<int64_t> mine;
    for (size_t i = 0; i < elements.size(); ++i)
      if (chunkWith(slot.offset + static_cast<int64_t>(i)) == at[axis])
        mine.push_back(elements[i]);
    elements = std::move(mine);
  }
  return elements;
}

std::string describe(const Shape &shape, const Placement &placement, const NdSbp &sbp) {
  std::string text;
  for (int64_t extent : shape)
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  text += " on [";
  for (size_t i = 0; i < placement.axes.size(); ++i)
    text += (i ? ", " : "") + std::to_string(placement.axes[i].size);
  return text + "]: " + toString(sbp);
}

std::string describe(const Shape &shape, const Placement &placement, const NdSbp &from, const NdSbp &to) {
  return describe(shape, placement, from) + " to " + toString(to);
}

bool ruleAllows(const NdSbp &state, size_t axis, const Sbp &to) {
  for (size_t other = 0; other < state.size(); ++other) {
    if (other != axis && state[other].isFlat())
      return false;
    bool splitsOrJoins = false;
    for (const Sbp &changed : {state[axis], to})
      splitsOrJoins |= changed.isSplit() && state[other].isSplit() && changed.dim == state[other].dim;
    if (other > axis && splitsOrJoins)
      return false;
  }
  return true;
}

namespace {

/// The entries, with that of one axis behind all others.
template <typename T> std::vector<T> withLast(std::vector<T> entries, int64_t last) {
  if (last >= 0)
    std::rotate(entries.begin() + last, entries.begin() + last + 1, entries.end());
  return entries;
}

} // namespace

const std::vector<int64_t> &Simulator::held(const NdSbp &sbp, int64_t position, int64_t last) {
  std::vector<std::vector<int64_t>> &layout = layouts[toString(sbp) + std::to_string(last)];
  Placement turned = placement;
  turned.axes = withLast(placement.axes, last);
  if (layout.empty())
    for (int64_t p = 0; p < placement.numPositions(); ++p)
      layout.push_back(
          heldBy(shape, withLast(sbp, last), turned, turned.positionOf(withLast(placement.coordinates(p), last))));
  return layout[position];
}

namespace {

/// Some integer for an element and the coordinates on the axes that are P.
int64_t addendOf(int64_t element, const NdSbp &sbp, const std::vector<int64_t> &at) {
  int64_t value = element * 7919 + 17;
  for (size_t axis = 0; axis < sbp.size(); ++axis)
    value = value * 131 + (sbp[axis].isPartial() ? at[axis] * at[axis] + 3 * at[axis] + 1 : 0);
  return value % 1000003;
}

} // namespace

Simulator::Values Simulator::scatter(const NdSbp &sbp) {
  Values values;
  for (int64_t position = 0; position < placement.numPositions(); ++position) {
    values.emplace_back();
    for (int64_t element : held(sbp, position))
      values.back().push_back(addendOf(element, sbp, placement.coordinates(position)));
  }
  return values;
}

Simulator::Values Simulator::apply(const BoxingStep &step, const Values &before) {
  Values after(before.size());
  bool sums = step.from[step.axis].isPartial();
  for (int64_t position = 0; position < placement.numPositions(); ++position) {
    std::vector<int64_t> sources = placement.groupAlong(step.axes(), position);
    if (step.collective == Collective::Slice)
      sources = {position};
    std::vector<int64_t> total(numElements(shape)), found(total.size());
    for (int64_t source : sources) {
      const std::vector<int64_t> &elements = held(step.from, source, step.fromLast);
      for (size_t i = 0; i < elements.size(); ++i) {
        int64_t element = elements[i];
        if (found[element]++ && !sums && total[element] != before[source][i])
          return {}; // two copies that differ
        total[element] = sums ? total[element] + before[source][i] : before[source][i];
      }
    }
    for (int64_t element : held(step.to, position, step.toLast)) {
      if (found[element] < (sums ? static_cast<int64_t>(sources.size()) : 1))
        return {};
      after[position].push_back(total[element]);
    }
  }
  return after;
}

bool Simulator::isTensor(const Values &values, const NdSbp &sbp, const NdSbp &origin) {
  // The tensor: for each element, the sum of the addends over all coordinates on the axes where the origin is P.
  std::vector<int64_t> tensor(numElements(shape));
  for (int64_t position = 0; position < placement.numPositions(); ++position) {
    std::vector<int64_t> at = placement.coordinates(position);
    bool isFirst = true;
    for (size_t axis = 0; axis < at.size(); ++axis)
      isFirst &= origin[axis].isPartial() || at[axis] == 0;
    for (size_t element = 0; isFirst && element < tensor.size(); ++element)
      tensor[element] += addendOf(static_cast<int64_t>(element), origin, at);
  }
  // Positions that differ only on axes that are P now hold its addends.
  std::map<std::vector<int64_t>, std::vector<int64_t>> sums;
  for (int64_t position = 0; position < placement.numPositions(); ++position) {
    std::vector<int64_t> at = placement.coordinates(position);
    for (size_t axis = 0; axis < at.size(); ++axis)
      at[axis] = sbp[axis].isPartial() ? 0 : at[axis];
    std::vector<int64_t> &sum = sums[at];
    const std::vector<int64_t> &elements = held(sbp, position);
    if (values[position].size() != elements.size())
      return false;
    sum.resize(elements.size());
    for (size_t i = 0; i < elements.size(); ++i)
      sum[i] += values[position][i];
  }
  for (const auto &[at, sum] : sums) {
    const std::vector<int64_t> &elements = held(sbp, placement.positionOf(at));
    for (size_t i = 0; i < elements.size(); ++i)
      if (sum[i] != tensor[elements[i]])
        return false;
  }
  return true;
}

int64_t Simulator::sentElements(const BoxingStep &step, int64_t position) {
  const std::vector<int64_t> &mine = held(step.from, position, step.fromLast);
  std::vector<int64_t> group = placement.groupAlong(step.axes(), position);
  int64_t ranks = group.size(), rank = placement.coordinates(position)[step.axis], sent = 0;
  if (step.collective == Collective::Slice)
    return 0;
  if (step.collective == Collective::AllReduce) {
    // What the rank adds up it then sends to all others; of the rest each element goes to the rank that adds it up.
    const Interval own = pieceOf(mine.size(), ranks, rank);
    for (int64_t i = 0; i < static_cast<int64_t>(mine.size()); ++i)
      sent += overlap(own, {i, 1}).count > 0 ? ranks - 1 : 1;
    return sent;
  }
  std::vector<bool> has(numElements(shape));
  for (int64_t element : mine)
    has[element] = true;
  // To each other rank, what it needs of what this one has: for a gather all, for a scatter of addends its piece.
  for (int64_t other : group)
    for (int64_t element : held(step.to, other, step.toLast))
      sent += other != position && has[element];
  return sent;
}

int64_t Simulator::mostSent(const BoxingStep &step) {
  int64_t most = 0;
  for (int64_t position = 0; position < placement.numPositions(); ++position)
    most = std::max(most, sentElements(step, position));
  return most;
}

} // namespace splitcast::sbp
