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

std::vector<int64_t> Placement::groupAlong(int64_t axis, int64_t position) const {
  std::vector<int64_t> at = coordinates(position), group;
  for (at[axis] = 0; at[axis] < axes[axis].size; ++at[axis])
    group.push_back(positionOf(at));
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

std::string toString(const Sbp &sbp) {
  switch (sbp.kind) {
  case Sbp::Kind::Split:
    return "S(" + std::to_string(sbp.dim) + (sbp.unit == 1 ? "" : " by " + std::to_string(sbp.unit)) + ")";
  case Sbp::Kind::FlatSplit:
    return "S(@" + sbp.slot.bucket + ", " + std::to_string(sbp.slot.offset) + " of " + std::to_string(sbp.slot.total) +
           ")";
  case Sbp::Kind::Broadcast:
    return "B";
  case Sbp::Kind::Partial:
    return "P";
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

Interval overlap(const Interval &a, const Interval &b) {
  int64_t begin = std::max(a.begin, b.begin), end = std::min(a.begin + a.count, b.begin + b.count);
  return {begin, std::max<int64_t>(end - begin, 0)};
}

Grain grainBefore(int64_t axis, int64_t dim, const Shape &shape, const NdSbp &sbp, const Placement &placement) {
  Grain grain{shape[dim]};
  for (int64_t earlier = 0; earlier < axis; ++earlier)
    if (sbp[earlier].isSplit() && sbp[earlier].dim == dim)
      grain = grain.afterSplit(sbp[earlier].unit, placement.axes[earlier].size);
  return grain;
}

bool unitsFit(const Shape &shape, const NdSbp &sbp, const Placement &placement) {
  for (size_t axis = 0; axis < sbp.size(); ++axis)
    if (sbp[axis].isSplit() && !grainBefore(axis, sbp[axis].dim, shape, sbp, placement).canSplitBy(sbp[axis].unit))
      return false;
  return true;
}

NdSbp withoutIdleUnits(const Shape &shape, NdSbp sbp, const Placement &placement) {
  for (size_t axis = 0; axis < sbp.size(); ++axis)
    if (sbp[axis].isSplit() &&
        grainBefore(axis, sbp[axis].dim, shape, sbp, placement).splitsEvenly(sbp[axis].unit, placement.axes[axis].size))
      sbp[axis].unit = 1;
  return sbp;
}

NdSbp withUnitsFitted(const Shape &shape, NdSbp sbp, const Placement &placement) {
  for (size_t axis = 0; axis < sbp.size(); ++axis)
    if (sbp[axis].isSplit())
      sbp[axis].unit = std::gcd(sbp[axis].unit, grainBefore(axis, sbp[axis].dim, shape, sbp, placement).elements);
  return withoutIdleUnits(shape, std::move(sbp), placement);
}

SlotPiece slotPiece(const Slot &slot, int64_t elements, int64_t parts, int64_t index) {
  int64_t chunk = slot.total / parts;
  int64_t begin = std::max(slot.offset, index * chunk);
  int64_t end = std::min(slot.offset + elements, (index + 1) * chunk);
  if (begin >= end)
    return {};
  return {begin - slot.offset, begin - index * chunk, end - begin};
}

std::vector<Interval> localBox(const Shape &shape, const NdSbp &sbp, const Placement &placement,
                               const std::vector<int64_t> &coordinates) {
  std::vector<Interval> box;
  for (int64_t extent : shape)
    box.push_back({0, extent});
  for (size_t axis = 0; axis < sbp.size(); ++axis) {
    if (!sbp[axis].isSplit())
      continue;
    Interval &interval = box[sbp[axis].dim];
    Interval piece = pieceOf(interval.count, placement.axes[axis].size, coordinates[axis], sbp[axis].unit);
    interval = {interval.begin + piece.begin, piece.count};
  }
  return box;
}

namespace {

Shape extents(const std::vector<Interval> &box) {
  Shape shape;
  for (const Interval &interval : box)
    shape.push_back(interval.count);
  return shape;
}

/// The axis whose entry is a flat split, or -1.
int64_t flatAxis(const NdSbp &sbp) {
  for (size_t axis = 0; axis < sbp.size(); ++axis)
    if (sbp[axis].isFlat())
      return axis;
  return -1;
}

/// The runs of a box: one per row of it, neighbours joined.
std::vector<Run> boxRuns(const Shape &shape, const std::vector<Interval> &box) {
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

Shape localShape(const Shape &shape, const NdSbp &sbp, const Placement &placement,
                 const std::vector<int64_t> &coordinates) {
  Shape box = extents(localBox(shape, sbp, placement, coordinates));
  int64_t axis = flatAxis(sbp);
  if (axis < 0)
    return box;
  return {slotPiece(sbp[axis].slot, numElements(box), placement.axes[axis].size, coordinates[axis]).count};
}

int64_t maxBoxElements(const Shape &shape, const NdSbp &sbp, const Placement &placement) {
  // Coordinate 0 holds the longest piece of every dimension.
  return numElements(extents(localBox(shape, sbp, placement, std::vector<int64_t>(placement.axes.size(), 0))));
}

// Each axis that splits the dimension cuts each extent that the earlier ones left into two. Without units these are two
// in the end, with them no more than twice as many for each such axis.
std::set<int64_t> boxExtents(int64_t dim, const Shape &shape, const NdSbp &sbp, const Placement &placement) {
  std::set<int64_t> lengths = {shape[dim]};
  for (size_t axis = 0; axis < sbp.size(); ++axis) {
    if (!sbp[axis].splitsSameDimAs(Sbp::split(dim)))
      continue;
    const int64_t ranks = placement.axes[axis].size;
    std::set<int64_t> pieces;
    for (int64_t length : lengths)
      for (int64_t coordinate : {int64_t{0}, ranks - 1})
        pieces.insert(pieceOf(length, ranks, coordinate, sbp[axis].unit).count);
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
  return true;
}

} // namespace splitcast::sbp
