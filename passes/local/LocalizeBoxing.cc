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

/// Shapes along the group before and after a step, and the intervals that its pieces are cut at.
class StepShapes {
public:
  StepShapes(const sbp::BoxingStep &step, const sbp::Shape &shape, const sbp::Placement &placement,
             const AxisGroup &group)
      : group(group) {
    for (int64_t position : group.positions) {
      std::vector<int64_t> at = placement.coordinates(position);
      before.push_back(sbp::localShape(shape, step.from, placement, at));
      after.push_back(sbp::localShape(shape, step.to, placement, at));
    }
  }

  static std::vector<int64_t> elements(const std::vector<sbp::Shape> &shapes) {
    std::vector<int64_t> counts;
    for (const sbp::Shape &shape : shapes)
      counts.push_back(sbp::numElements(shape));
    return counts;
  }

  /// Piece r of `extent` along the group.
  sbp::Interval piece(int64_t extent, int64_t r) const { return sbp::pieceOf(extent, group.size(), r); }

  const AxisGroup &group;
  std::vector<sbp::Shape> before, after;
};

bool isLeading(const sbp::Shape &shape, int64_t dim) {
  return std::all_of(shape.begin(), shape.begin() + dim, [](int64_t extent) { return extent == 1; });
}

Value gather(CollectiveBuilder &build, Value input, const StepShapes &shapes, int64_t dim) {
  std::vector<int64_t> blocks = StepShapes::elements(shapes.before);
  Value flat = build.allGather(input, blocks);
  const sbp::Shape &result = shapes.after[shapes.group.index];
  if (isLeading(result, dim))
    return build.view(flat, 0, result);
  SmallVector<Value> pieces;
  int64_t offset = 0;
  for (int64_t r = 0; r < shapes.group.size(); ++r) {
    pieces.push_back(build.view(flat, offset, shapes.before[r]));
    offset += blocks[r];
  }
  return build.concat(pieces, dim);
}

/// The operand cut along `dim` for each rank, one cut after the other.
Value packPieces(CollectiveBuilder &build, Value input, const StepShapes &shapes, int64_t dim) {
  sbp::Shape shape = sbp::shapeOf(input.getType());
  if (isLeading(shape, dim))
    return build.view(input, 0, {sbp::numElements(shape)});
  SmallVector<Value> pieces;
  for (int64_t r = 0; r < shapes.group.size(); ++r)
    pieces.push_back(build.slice(input, dim, shapes.piece(shape[dim], r)));
  return build.packTight(pieces);
}

Value scatter(CollectiveBuilder &build, Value input, const StepShapes &shapes, int64_t dim) {
  Value packed = packPieces(build, input, shapes, dim);
  Value block = build.reduceScatter(packed, StepShapes::elements(shapes.after));
  return build.view(block, 0, shapes.after[shapes.group.index]);
}

Value exchange(CollectiveBuilder &build, Value input, const StepShapes &shapes, int64_t fromDim, int64_t toDim) {
  int64_t own = shapes.group.index;
  std::vector<int64_t> sent, received;
  std::vector<sbp::Shape> receivedShapes;
  for (int64_t r = 0; r < shapes.group.size(); ++r) {
    sbp::Shape toPeer = shapes.before[own], fromPeer = shapes.before[r];
    toPeer[toDim] = shapes.piece(toPeer[toDim], r).count;
    fromPeer[toDim] = shapes.piece(fromPeer[toDim], own).count;
    sent.push_back(sbp::numElements(toPeer));
    received.push_back(sbp::numElements(fromPeer));
    receivedShapes.push_back(fromPeer);
  }
  Value flat = build.allToAll(packPieces(build, input, shapes, toDim), sent, received);
  SmallVector<Value> pieces;
  int64_t offset = 0;
  for (int64_t r = 0; r < shapes.group.size(); ++r) {
    pieces.push_back(build.view(flat, offset, receivedShapes[r]));
    offset += received[r];
  }
  return build.concat(pieces, fromDim);
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
