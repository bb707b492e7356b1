#include "dialects/sbp/algebra/Signature.h"

#include <algorithm>
#include <numeric>

namespace splitcast::sbp {

int64_t numElements(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<int64_t>());
}

int64_t Placement::numPositions() const {
  int64_t positions = 1;
  for (const Axis &axis : axes)
    positions *= axis.size;
  return positions;
}

std::vector<int64_t> Placement::coordinates(int64_t position) const {
  std::vector<int64_t> result(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    result[i] = position % axes[i].size;
    position /= axes[i].size;
  }
  return result;
}

int64_t Placement::positionOf(const std::vector<int64_t> &coordinates) const {
  int64_t position = 0;
  for (size_t i = 0; i < axes.size(); ++i)
    position = position * axes[i].size + coordinates[i];
  return position;
}

std::vector<int64_t> Placement::groupAlong(const std::vector<int64_t> &along, int64_t position) const {
  std::vector<int64_t> at = coordinates(position), group;
  int64_t members = 1;
  for (int64_t axis : along)
    members *= axes[axis].size;
  for (int64_t member = 0; member < members; ++member) {
    int64_t rest = member;
    for (size_t i = along.size(); i-- > 0; rest /= axes[along[i]].size)
      at[along[i]] = rest % axes[along[i]].size;
    group.push_back(positionOf(at));
  }
  return group;
}

int64_t Placement::axisIndex(const std::string &name) const {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].name == name)
      return i;
  return -1;
}

bool Placement::operator==(const Placement &other) const {
  return deviceKind == other.deviceKind && axes == other.axes && ranks == other.ranks;
}

/// Returns " to [2, 5]", or nothing without ends.
static std::string endsText(const Ends &ends) {
  if (ends.empty())
    return "";
  std::string text;
  for (int64_t end : ends)
    text += (text.empty() ? " to [" : ", ") + std::to_string(end);
  return text + "]";
}

std::string toString(const Sbp &sbp) {
  switch (sbp.kind) {
  case Sbp::Kind::Split:
    return "S(" + std::to_string(sbp.dim) + (sbp.unit == 1 ? "" : " by " + std::to_string(sbp.unit)) +
           endsText(sbp.ends) + ")";
  case Sbp::Kind::FlatSplit:
    return "S(@" + sbp.slot.bucket + ", " + std::to_string(sbp.slot.offset) + " of " + std::to_string(sbp.slot.total) +
           endsText(sbp.slot.ends) + ")";
  case Sbp::Kind::Broadcast:
    return "B";
  case Sbp::Kind::Partial:
    return "P";
  case Sbp::Kind::At:
    return "At(" + std::to_string(sbp.dim) + ")";
  }
  return "";
}

std::string toString(const NdSbp &sbp) {
  std::string text = "[";
  for (size_t i = 0; i < sbp.size(); ++i)
    text += (i ? ", " : "") + toString(sbp[i]);
  return text + "]";
}

Interval pieceOf(int64_t extent, int64_t parts, int64_t index, int64_t unit) {
  int64_t units = extent / unit, base = units / parts, longer = units % parts;
  return {(index * base + std::min(index, longer)) * unit, (base + (index < longer ? 1 : 0)) * unit};
}

Interval pieceTo(const Ends &ends, int64_t extent, int64_t parts, int64_t index) {
  if (ends.empty())
    return pieceOf(extent, parts, index);
  const int64_t begin = index == 0 ? 0 : ends[index - 1];
  return {begin, ends[index] - begin};
}

Interval pieceOf(int64_t extent, int64_t parts, int64_t index, const Sbp &entry) {
  return entry.ends.empty() ? pieceOf(extent, parts, index, entry.unit) : pieceTo(entry.ends, extent, parts, index);
}

int64_t longestPiece(const Ends &ends) {
  int64_t longest = 0;
  for (int64_t index = 1; index < static_cast<int64_t>(ends.size()); ++index)
    if (pieceTo(ends, 0, 0, index).count > pieceTo(ends, 0, 0, longest).count)
      longest = index;
  return longest;
}

bool areEven(const Ends &ends, int64_t length) {
  const auto parts = static_cast<int64_t>(ends.size());
  for (int64_t index = 0; index < parts; ++index)
    if (!(pieceTo(ends, length, parts, index) == pieceOf(length, parts, index)))
      return false;
  return true;
}

std::string faultOfEnds(const Ends &ends, int64_t length, int64_t parts) {
  if (static_cast<int64_t>(ends.size()) != parts)
    return "has " + std::to_string(ends.size()) + " ends on " + std::to_string(parts) + " ranks; give one per rank";
  if (ends.front() < 0 || !std::is_sorted(ends.begin(), ends.end()))
    return "has ends" + endsText(ends).substr(3) + ", which " +
           (ends.front() < 0 ? "begin below 0; the first is at least 0" : "descend; give them in ascending order");
  if (ends.back() != length)
    return "ends at " + std::to_string(ends.back()) + " on the last rank, but its length is " + std::to_string(length) +
           "; give that as the last end";
  return areEven(ends, length) ? "has the ends of even pieces; leave them out" : "";
}

Interval overlap(const Interval &a, const Interval &b) {
  int64_t begin = std::max(a.begin, b.begin), end = std::min(a.begin + a.count, b.begin + b.count);
  return {begin, std::max<int64_t>(end - begin, 0)};
}

Grain Grain::afterSplit(const Sbp &entry, int64_t parts) const {
  if (entry.ends.empty())
    return afterSplit(entry.unit, parts);
  int64_t common = 0, begin = 0;
  for (int64_t end : entry.ends) {
    common = std::gcd(common, end - begin);
    begin = end;
  }
  return {common};
}

Grain grainBefore(int64_t axis, int64_t dim, const Shape &shape, const NdSbp &sbp, const Placement &placement) {
  Grain grain{shape[dim]};
  for (int64_t earlier = 0; earlier < axis; ++earlier)
    if (sbp[earlier].isSplit() && sbp[earlier].dim == dim)
      grain = grain.afterSplit(sbp[earlier], placement.axes[earlier].size);
  return grain;
}

bool unitsFit(const Shape &shape, const NdSbp &sbp, const Placement &placement) {
  for (size_t axis = 0; axis < sbp.size(); ++axis)
    if ((!sbp[axis].ends.empty() && static_cast<int64_t>(sbp[axis].ends.size()) != placement.axes[axis].size) ||
        (sbp[axis].isAt() && sbp[axis].dim >= placement.axes[axis].size) ||
        (sbp[axis].isSplit() && !grainBefore(axis, sbp[axis].dim, shape, sbp, placement).canSplitBy(sbp[axis].unit)))
      return false;
  return true;
}

NdSbp withoutIdleUnits(const Shape &shape, NdSbp sbp, const Placement &placement) {
  for (size_t axis = 0; axis < sbp.size(); ++axis)
    if (sbp[axis].isSplit() && sbp[axis].unit > 1 &&
        grainBefore(axis, sbp[axis].dim, shape, sbp, placement).splitsEvenly(sbp[axis].unit, placement.axes[axis].size))
      sbp[axis].unit = 1;
  return sbp;
}

NdSbp withUnitsFitted(const Shape &shape, NdSbp sbp, const Placement &placement) {
  for (size_t axis = 0; axis < sbp.size(); ++axis) {
    if (sbp[axis].isSplit() && sbp[axis].unit > 1)
      sbp[axis].unit = std::gcd(sbp[axis].unit, grainBefore(axis, sbp[axis].dim, shape, sbp, placement).elements);
    if (!sbp[axis].ends.empty() && sbp[axis].ends.back() != shape[sbp[axis].dim])
      sbp[axis].ends.clear();
  }
  return withoutIdleUnits(shape, std::move(sbp), placement);
}

SlotPiece slotPiece(const Slot &slot, int64_t elements, int64_t parts, int64_t index) {
  const Interval chunk = pieceTo(slot.ends, slot.total, parts, index);
  const Interval held = overlap(chunk, {slot.offset, elements});
  if (held.count == 0)
    return {};
  return {held.begin - slot.offset, held.begin - chunk.begin, held.count};
}

Box localBox(const Shape &shape, const NdSbp &sbp, const Placement &placement, const std::vector<int64_t> &coordinates,
             int64_t last) {
  Box box;
  for (int64_t extent : shape)
    box.push_back({0, extent});
  auto cut = [&](int64_t axis) {
    if (!sbp[axis].isSplit())
      return;
    Interval &interval = box[sbp[axis].dim];
    Interval piece = pieceOf(interval.count, placement.axes[axis].size, coordinates[axis], sbp[axis]);
    interval = {interval.begin + piece.begin, piece.count};
  };
  for (int64_t axis = 0; axis < static_cast<int64_t>(sbp.size()); ++axis)
    if (axis != last)
      cut(axis);
  if (last >= 0)
    cut(last);
  return box;
}

namespace {

Shape extents(const Box &box) {
  Shape shape;
  for (const Interval &interval : box)
    shape.push_back(interval.count);
  return shape;
}

/// Returns the axis whose entry is a flat split, or -1.
int64_t flatAxis(const NdSbp &sbp) {
  for (size_t axis = 0; axis < sbp.size(); ++axis)
    if (sbp[axis].isFlat())
      return axis;
  return -1;
}

/// Returns the runs of a box: its rows, of which adjacent ones are joined.
std::vector<Run> boxRuns(const Shape &shape, const Box &box) {
  int64_t elements = numElements(extents(box));
  if (elements == 0)
    return {};
  // The innermost dimensions that the box takes whole are contiguous, and so is the next one out.
  int64_t outer = shape.size(), runElements = 1;
  while (outer > 0) {
    runElements *= box[outer - 1].count;
    --outer;
    if (box[outer].count != shape[outer])
      break;
  }
  std::vector<Run> runs;
  std::vector<int64_t> at(outer, 0);
  for (int64_t local = 0; local < elements; local += runElements) {
    int64_t logical = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      logical = logical * shape[d] + box[d].begin + (static_cast<int64_t>(d) < outer ? at[d] : 0);
    runs.push_back({logical, local, runElements});
    for (int64_t d = outer - 1; d >= 0 && ++at[d] == box[d].count; --d)
      at[d] = 0;
  }
  return runs;
}

/// Keeps the elements [begin, begin + count) of the local order and numbers them from 0.
std::vector<Run> clip(const std::vector<Run> &runs, int64_t begin, int64_t count) {
  std::vector<Run> result;
  for (const Run &run : runs) {
    int64_t from = std::max(run.local, begin), to = std::min(run.local + run.count, begin + count);
    if (from < to)
      result.push_back({run.logical + from - run.local, from - begin, to - from});
  }
  return result;
}

} // namespace

bool isHeld(const NdSbp &sbp, const std::vector<int64_t> &coordinates) {
  for (size_t axis = 0; axis < sbp.size(); ++axis)
    if (!sbp[axis].isHeldAt(coordinates[axis]))
      return false;
  return true;
}

std::vector<int64_t> firstHolder(const NdSbp &sbp) {
  std::vector<int64_t> coordinates;
  for (const Sbp &entry : sbp)
    coordinates.push_back(entry.isAt() ? entry.dim : 0);
  return coordinates;
}

Shape localShape(const Shape &shape, const NdSbp &sbp, const Placement &placement,
                 const std::vector<int64_t> &coordinates, int64_t last) {
  if (!isHeld(sbp, coordinates))
    return {0};
  Shape box = extents(localBox(shape, sbp, placement, coordinates, last));
  int64_t axis = flatAxis(sbp);
  if (axis < 0)
    return box;
  return {slotPiece(sbp[axis].slot, numElements(box), placement.axes[axis].size, coordinates[axis]).count};
}

int64_t maxBoxElements(const Shape &shape, const NdSbp &sbp, const Placement &placement) {
  // Coordinate 0 holds the longest piece of every dimension, unless ends are
  // given.
  std::vector<int64_t> at(placement.axes.size(), 0);
  for (size_t axis = 0; axis < sbp.size(); ++axis)
    if (sbp[axis].isSplit() && !sbp[axis].ends.empty())
      at[axis] = longestPiece(sbp[axis].ends);
  return numElements(extents(localBox(shape, sbp, placement, at)));
}

// An axis that splits the dimension cuts each length that the earlier axes left
// into pieces of at most two lengths. Without units there are at most two
// lengths in the end; with units, their number may double with each such axis.
std::set<int64_t> boxExtents(int64_t dim, const Shape &shape, const NdSbp &sbp, const Placement &placement) {
  std::set<int64_t> lengths = {shape[dim]};
  for (size_t axis = 0; axis < sbp.size(); ++axis) {
    if (!sbp[axis].splitsSameDimAs(Sbp::split(dim)))
      continue;
    const int64_t ranks = placement.axes[axis].size;
    std::set<int64_t> pieces;
    if (sbp[axis].ends.empty())
      for (int64_t length : lengths)
        for (int64_t coordinate : {int64_t{0}, ranks - 1})
          pieces.insert(pieceOf(length, ranks, coordinate, sbp[axis].unit).count);
    else
      for (int64_t coordinate = 0; coordinate < ranks; ++coordinate)
        pieces.insert(pieceTo(sbp[axis].ends, shape[dim], ranks, coordinate).count);
    lengths = std::move(pieces);
  }
  return lengths;
}

std::set<int64_t> boxSizes(const Shape &shape, const NdSbp &sbp, const Placement &placement) {
  std::set<int64_t> sizes = {1};
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    std::set<int64_t> products;
    for (int64_t extent : boxExtents(dim, shape, sbp, placement))
      for (int64_t size : sizes)
        products.insert(size * extent);
    sizes = std::move(products);
  }
  return sizes;
}

std::vector<Run> pieces(const Shape &shape, const NdSbp &sbp, const Placement &placement,
                        const std::vector<int64_t> &coordinates) {
  if (!isHeld(sbp, coordinates))
    return {};
  std::vector<Interval> box = localBox(shape, sbp, placement, coordinates);
  std::vector<Run> runs = boxRuns(shape, box);
  int64_t axis = flatAxis(sbp);
  if (axis < 0)
    return runs;
  SlotPiece piece = slotPiece(sbp[axis].slot, numElements(extents(box)), placement.axes[axis].size, coordinates[axis]);
  return clip(runs, piece.elementBegin, piece.count);
}

bool ownsPiece(const NdSbp &sbp, const std::vector<int64_t> &coordinates) {
  for (size_t axis = 0; axis < sbp.size(); ++axis)
    if (sbp[axis].isBroadcast() && coordinates[axis] != 0)
      return false;
  return isHeld(sbp, coordinates);
}

} // namespace splitcast::sbp
