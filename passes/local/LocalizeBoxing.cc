#include "passes/local/LocalizeBoxing.h"

#include <numeric>

using namespace mlir;

namespace splitcast {

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

RankedTensorType flatType(Value like, int64_t elements) {
  return RankedTensorType::get({elements}, typeOf(like).getElementType());
}

int64_t sum(ArrayRef<int64_t> values) { return std::accumulate(values.begin(), values.end(), int64_t{0}); }

} // namespace

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

Value CollectiveBuilder::wait(Value pending) {
  return builder.create<ccl::WaitOp>(loc, cast<ccl::PendingType>(pending.getType()).getTensor(), pending);
}

Value CollectiveBuilder::allGather(Value input, ArrayRef<int64_t> blocks) {
  auto type = ccl::PendingType::get(builder.getContext(), flatType(input, sum(blocks)));
  return wait(builder.create<ccl::AllGatherOp>(loc, type, input, group.ranks, group.index, blocks, what));
}

Value CollectiveBuilder::reduceScatter(Value flat, ArrayRef<int64_t> blocks) {
  auto type = ccl::PendingType::get(builder.getContext(), flatType(flat, blocks[group.index]));
  return wait(builder.create<ccl::ReduceScatterOp>(loc, type, flat, group.ranks, group.index, blocks, what));
}

Value CollectiveBuilder::allReduce(Value input) {
  SmallVector<int64_t> blocks;
  for (int64_t r = 0; r < group.size(); ++r)
    blocks.push_back(sbp::pieceOf(typeOf(input).getNumElements(), group.size(), r).count);
  auto type = ccl::PendingType::get(builder.getContext(), typeOf(input));
  return wait(builder.create<ccl::AllReduceOp>(loc, type, input, group.ranks, group.index, blocks, what));
}

Value CollectiveBuilder::allToAll(Value flat, ArrayRef<int64_t> sent, ArrayRef<int64_t> received) {
  auto type = ccl::PendingType::get(builder.getContext(), flatType(flat, sum(received)));
  return wait(builder.create<ccl::AllToAllOp>(loc, type, flat, group.ranks, group.index, sent, received, what));
}

Value CollectiveBuilder::view(Value input, int64_t offset, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, typeOf(input).getElementType());
  if (type == input.getType())
    return input;
  return builder.create<ccl::ViewOp>(loc, type, input, offset);
}

Value CollectiveBuilder::pack(ValueRange inputs, ArrayRef<int64_t> offsets, int64_t elements) {
  return builder.create<ccl::PackOp>(loc, flatType(inputs.front(), elements), inputs, offsets);
}

Value CollectiveBuilder::packTight(ValueRange inputs) {
  SmallVector<int64_t> offsets;
  int64_t elements = 0;
  for (Value input : inputs) {
    offsets.push_back(elements);
    elements += typeOf(input).getNumElements();
  }
  return pack(inputs, offsets, elements);
}

Value CollectiveBuilder::slice(Value input, int64_t dim, sbp::Interval interval) {
  sbp::Shape shape = sbp::shapeOf(input.getType());
  int64_t inner = 1, outer = 1;
  for (size_t d = 0; d < shape.size(); ++d)
    (static_cast<int64_t>(d) < dim ? outer : inner) *= shape[d];
  int64_t rowElements = shape[dim] ? inner / shape[dim] : 0;
  shape[dim] = interval.count;
  if (outer == 1) // rows lie one after the other
    return view(input, interval.begin * rowElements, shape);
  auto type = RankedTensorType::get(shape, typeOf(input).getElementType());
  return builder.create<nn::SliceOp>(loc, type, input, builder.getI64IntegerAttr(dim),
                                     builder.getI64IntegerAttr(interval.begin));
}

Value CollectiveBuilder::swapLeading(Value input) {
  ArrayRef<int64_t> shape = typeOf(input).getShape();
  if (shape[0] == 1 || shape[1] == 1) // nothing moves
    return view(input, 0, {shape[1], shape[0], shape[2]});
  return builder.create<nn::TransposeOp>(loc, input, ArrayRef<int64_t>{1, 0, 2});
}

Value CollectiveBuilder::concat(ValueRange inputs, int64_t dim) {
  sbp::Shape shape = sbp::shapeOf(inputs.front().getType());
  shape[dim] = 0;
  for (Value input : inputs)
    shape[dim] += typeOf(input).getDimSize(dim);
  auto type = RankedTensorType::get(shape, typeOf(inputs.front()).getElementType());
  return builder.create<nn::ConcatOp>(loc, type, inputs, builder.getI64IntegerAttr(dim));
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {

/// Elements before and after a dimension.
std::pair<int64_t, int64_t> around(const sbp::Shape &shape, int64_t dim) {
  return {sbp::numElements(sbp::Shape(shape.begin(), shape.begin() + dim)),
          sbp::numElements(sbp::Shape(shape.begin() + dim + 1, shape.end()))};
}

/// Shapes along the group before and after a step, and the intervals that its pieces are cut at.
class StepShapes {
public:
  StepShapes(const sbp::BoxingStep &step, const sbp::Shape &shape, const sbp::Placement &placement,
             const AxisGroup &group)
      : group(group), from(step.from[step.axis]), to(step.to[step.axis]) {
    sbp::NdSbp others = step.from;
    others[step.axis] = sbp::Sbp::broadcast();
    whole = sbp::localShape(shape, others, placement, placement.coordinates(group.positions[group.index]));
  }

  sbp::Shape before(int64_t r) const { return shapeAt(from, r); }
  sbp::Shape after(int64_t r) const { return shapeAt(to, r); }
  std::vector<int64_t> elementsBefore() const { return elements(from); }
  std::vector<int64_t> elementsAfter() const { return elements(to); }

  /// Piece r of `extent` along the group.
  sbp::Interval piece(int64_t extent, int64_t r) const { return sbp::pieceOf(extent, group.size(), r); }

  const AxisGroup &group;

private:
  sbp::Shape shapeAt(const sbp::Sbp &entry, int64_t r) const {
    sbp::Shape shape = whole;
    if (entry.isSplit())
      shape[entry.dim] = piece(shape[entry.dim], r).count;
    return shape;
  }

  std::vector<int64_t> elements(const sbp::Sbp &entry) const {
    if (!entry.isSplit())
      return std::vector<int64_t>(group.size(), sbp::numElements(whole));
    const auto [outer, inner] = around(whole, entry.dim);
    std::vector<int64_t> counts;
    for (int64_t r = 0; r < group.size(); ++r)
      counts.push_back(outer * inner * piece(whole[entry.dim], r).count);
    return counts;
  }

  sbp::Sbp from, to;
  sbp::Shape whole; ///< what the other axes leave
};

bool isLeading(const sbp::Shape &shape, int64_t dim) {
  return std::all_of(shape.begin(), shape.begin() + dim, [](int64_t extent) { return extent == 1; });
}

/// Up to so many pieces are cut and joined one by one. More are by a transposition of all that have the same extent, so
/// that the number of ops does not grow with the number of ranks.
constexpr int64_t kMostSinglePieces = 8;

/// Neighbouring pieces of a dimension, cut for `ranks`, that have the same extent, from `begin` on.
struct EqualPieces {
  int64_t begin, count, extent;
};

SmallVector<EqualPieces, 2> equalPieces(int64_t extent, int64_t ranks) {
  const int64_t least = extent / ranks, longer = extent % ranks;
  SmallVector<EqualPieces, 2> runs;
  if (longer > 0)
    runs.push_back({0, longer, least + 1});
  if (least > 0)
    runs.push_back({longer * (least + 1), ranks - longer, least});
  return runs;
}

/// Joins along `dim` the pieces that lie one after the other in `flat`; `shape` is that of the result.
Value joinPieces(CollectiveBuilder &build, Value flat, const sbp::Shape &shape, int64_t dim, const StepShapes &shapes) {
  const auto [outer, inner] = around(shape, dim);
  const bool isSingle = shapes.group.size() <= kMostSinglePieces;
  SmallVector<Value> parts;
  int64_t offset = 0;
  auto add = [&](int64_t count, int64_t extent) {
    sbp::Shape part = shape;
    part[dim] = count * extent;
    Value joined = flat;
    int64_t at = offset;
    if (!isSingle) {
      joined = build.swapLeading(build.view(flat, offset, {count, outer, extent * inner}));
      at = 0;
    }
    parts.push_back(build.view(joined, at, part));
    offset += sbp::numElements(part);
  };
  if (isSingle)
    for (int64_t r = 0; r < shapes.group.size(); ++r)
      add(1, shapes.piece(shape[dim], r).count);
  else
    for (const EqualPieces &run : equalPieces(shape[dim], shapes.group.size()))
      add(run.count, run.extent);
  if (parts.empty())
    return build.view(flat, 0, shape);
  return parts.size() == 1 ? parts.front() : build.concat(parts, dim);
}

Value gather(CollectiveBuilder &build, Value input, const StepShapes &shapes, int64_t dim) {
  Value flat = build.allGather(input, shapes.elementsBefore());
  const sbp::Shape result = shapes.after(shapes.group.index);
  return isLeading(result, dim) ? build.view(flat, 0, result) : joinPieces(build, flat, result, dim, shapes);
}

/// The operand cut along `dim` for each rank, one cut after the other.
Value packPieces(CollectiveBuilder &build, Value input, const StepShapes &shapes, int64_t dim) {
  sbp::Shape shape = sbp::shapeOf(input.getType());
  if (isLeading(shape, dim))
    return build.view(input, 0, {sbp::numElements(shape)});
  SmallVector<Value> pieces;
  if (shapes.group.size() <= kMostSinglePieces) {
    for (int64_t r = 0; r < shapes.group.size(); ++r)
      pieces.push_back(build.slice(input, dim, shapes.piece(shape[dim], r)));
    return build.packTight(pieces);
  }
  const auto [outer, inner] = around(shape, dim);
  for (const EqualPieces &run : equalPieces(shape[dim], shapes.group.size())) {
    const bool isAll = run.count * run.extent == shape[dim];
    Value part = isAll ? input : build.slice(input, dim, {run.begin, run.count * run.extent});
    pieces.push_back(build.swapLeading(build.view(part, 0, {outer, run.count, run.extent * inner})));
  }
  return pieces.empty() ? build.view(input, 0, {0}) : build.packTight(pieces);
}

Value scatter(CollectiveBuilder &build, Value input, const StepShapes &shapes, int64_t dim) {
  Value packed = packPieces(build, input, shapes, dim);
  Value block = build.reduceScatter(packed, shapes.elementsAfter());
  return build.view(block, 0, shapes.after(shapes.group.index));
}

Value exchange(CollectiveBuilder &build, Value input, const StepShapes &shapes, int64_t fromDim, int64_t toDim) {
  const int64_t own = shapes.group.index;
  const sbp::Shape before = shapes.before(own), after = shapes.after(own);
  const auto [beforeOuter, beforeInner] = around(before, toDim);
  const auto [afterOuter, afterInner] = around(after, fromDim);
  std::vector<int64_t> sent, received;
  for (int64_t r = 0; r < shapes.group.size(); ++r) {
    sent.push_back(beforeOuter * beforeInner * shapes.piece(before[toDim], r).count);
    received.push_back(afterOuter * afterInner * shapes.piece(after[fromDim], r).count);
  }
  Value flat = build.allToAll(packPieces(build, input, shapes, toDim), sent, received);
  return joinPieces(build, flat, after, fromDim, shapes);
}

} // namespace

Value localizeStep(CollectiveBuilder &build, Value input, const sbp::BoxingStep &step, const sbp::Shape &shape,
                   const sbp::Placement &placement, const AxisGroup &group) {
  StepShapes shapes(step, shape, placement, group);
  int64_t fromDim = step.from[step.axis].dim, toDim = step.to[step.axis].dim;
  switch (step.collective) {
  case sbp::Collective::Slice:
    return build.slice(input, toDim, shapes.piece(sbp::shapeOf(input.getType())[toDim], group.index));
  case sbp::Collective::AllGather:
    return gather(build, input, shapes, fromDim);
  case sbp::Collective::AllReduce:
    return build.allReduce(input);
  case sbp::Collective::ReduceScatter:
    return scatter(build, input, shapes, toDim);
  case sbp::Collective::AllToAll:
    return exchange(build, input, shapes, fromDim, toDim);
  }
  return input;
}

} // namespace splitcast
