// Emits one step of a boxing as collectives. Collectives move flat blocks, one
// per rank. A tensor that is split along its first dimension already consists
// of such blocks. Along another dimension, pieces are cut out before the
// collective (all-to-all, reduce-scatter) or joined after it (all-gather,
// all-to-all). Extents are those of each rank, including ragged and empty ones.
//
//   S(1) -> B, tensor<4x5xf32> on 2 ranks, of which this is rank 0:
//            %0 = ccl.all_gather %x blocks [12, 8]      tensor<4x3xf32>, and wait: tensor<20xf32>
//            %1 = ccl.view %0 at 0                      tensor<4x3xf32>
//            %2 = ccl.view %0 at 12                     tensor<4x2xf32>
//            %3 = nn.concat %1, %2 {dim = 1}            tensor<4x5xf32>
//   S(0) -> S(1):
//            %0 = ccl.pack (columns 0 to 2 of %g), (columns 3 and 4)
//            %1 = ccl.all_to_all %0 blocks [6, 4] received [6, 6]
//            %2 = nn.concat (view %1 at 0), (view %1 at 6) {dim = 0}
//
// An exchange along several axes is one all-to-all, too. It moves boxes: the
// elements that one rank has and another one wants. The boxes that a rank
// receives tile what it wants, and are joined along one dimension after the
// other.
//
// A tensor that is at one rank of an axis is moved flat, in blocks of which all
// but one are empty:
//
//   At(0) -> At(1), tensor<4x5xf32>:
//            %0 = ccl.all_to_all (view %x flat) blocks [0, 20] received [0, 0]     on rank 0
//            %0 = ccl.all_to_all (nothing) blocks [0, 0] received [20, 0]          on rank 1
//
// On more than kMostSinglePieces ranks, pieces of equal extent are cut or
// joined together, by a transposition, so that the number of ops does not grow
// with the number of ranks. The number of ops of an exchange grows with the
// number of ranks to which a rank sends and from which it receives.
#include "passes/local/LocalizeBoxing.h"

#include <map>
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

template <typename OpTy>
Value CollectiveBuilder::run(Value input, RankedTensorType result, const ccl::Blocks &blocks,
                             DenseI64ArrayAttr received) {
  auto pending = ccl::PendingType::get(builder.getContext(), result);
  auto collective = builder.create<OpTy>(loc, pending, input, group, blocks, received, what);
  if constexpr (std::is_same_v<OpTy, ccl::AllGatherOp>)
    collective.setStored(isStored);
  return builder.create<ccl::WaitOp>(loc, result, collective.getPending());
}

Value CollectiveBuilder::allGather(Value input, ArrayRef<int64_t> blocks) {
  return run<ccl::AllGatherOp>(input, flatType(input, sum(blocks)), ccl::asBlocks(blocks.vec()));
}

Value CollectiveBuilder::reduceScatter(Value flat, ArrayRef<int64_t> blocks) {
  return run<ccl::ReduceScatterOp>(flat, flatType(flat, blocks[index]), ccl::asBlocks(blocks.vec()));
}

Value CollectiveBuilder::allReduce(Value input) {
  return run<ccl::AllReduceOp>(input, typeOf(input), {typeOf(input).getNumElements()});
}

Value CollectiveBuilder::allToAll(Value flat, ArrayRef<int64_t> sent, ArrayRef<int64_t> received) {
  return run<ccl::AllToAllOp>(flat, flatType(flat, sum(received)), ccl::asBlocks(sent.vec()),
                              builder.getDenseI64ArrayAttr(ccl::asBlocks(received.vec())));
}

Value CollectiveBuilder::view(Value input, int64_t offset, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, typeOf(input).getElementType());
  if (type == input.getType())
    return input;
  return builder.create<ccl::ViewOp>(loc, type, input, offset);
}

Value CollectiveBuilder::pack(ValueRange inputs, ArrayRef<int64_t> offsets, RankedTensorType type) {
  return builder.create<ccl::PackOp>(loc, type, inputs, offsets);
}

Value CollectiveBuilder::packTight(ValueRange inputs) {
  SmallVector<int64_t> offsets;
  int64_t elements = 0;
  for (Value input : inputs) {
    offsets.push_back(elements);
    elements += typeOf(input).getNumElements();
  }
  return pack(inputs, offsets, flatType(inputs.front(), elements));
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

/// Returns the numbers of elements before and after a dimension.
std::pair<int64_t, int64_t> around(const sbp::Shape &shape, int64_t dim) {
  return {sbp::numElements(sbp::Shape(shape.begin(), shape.begin() + dim)),
          sbp::numElements(sbp::Shape(shape.begin() + dim + 1, shape.end()))};
}

/// What the ranks of the group hold before and after a step, and what moves between them.
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

  /// Returns rank r's part of the dimension that is split after the step.
  sbp::Interval pieceAfter(int64_t r) const { return piece(to, r); }

  /// Returns the extents of what each rank gets of this rank's operand, along
  /// the dimension that is split after the step.
  std::vector<int64_t> extentsSent() const {
    std::vector<int64_t> extents;
    for (int64_t r = 0; r < group.size(); ++r)
      extents.push_back(from.splitsSameDimAs(to) ? sbp::overlap(piece(from, group.index), piece(to, r)).count
                                                 : piece(to, r).count);
    return extents;
  }

  /// Returns the extents of what this rank's result has of each rank, along the
  /// dimension that is split before the step.
  std::vector<int64_t> extentsReceived() const {
    std::vector<int64_t> extents;
    for (int64_t r = 0; r < group.size(); ++r)
      extents.push_back(from.splitsSameDimAs(to) ? sbp::overlap(piece(from, r), piece(to, group.index)).count
                                                 : piece(from, r).count);
    return extents;
  }

  const AxisGroup &group;

private:
  sbp::Interval piece(const sbp::Sbp &entry, int64_t r) const {
    return sbp::pieceOf(whole[entry.dim], group.size(), r, entry);
  }

  sbp::Shape shapeAt(const sbp::Sbp &entry, int64_t r) const {
    if (!entry.isHeldAt(r))
      return {0};
    sbp::Shape shape = whole;
    if (entry.isSplit())
      shape[entry.dim] = piece(entry, r).count;
    return shape;
  }

  std::vector<int64_t> elements(const sbp::Sbp &entry) const {
    std::vector<int64_t> counts;
    for (int64_t r = 0; r < group.size(); ++r)
      counts.push_back(sbp::numElements(shapeAt(entry, r)));
    return counts;
  }

  sbp::Sbp from, to;
  sbp::Shape whole; ///< the shape that the other axes leave
};

bool isLeading(const sbp::Shape &shape, int64_t dim) {
  return std::all_of(shape.begin(), shape.begin() + dim, [](int64_t extent) { return extent == 1; });
}

/// Up to this many pieces are cut and joined one by one. With more, one
/// transposition handles all pieces of the same extent, so that the number of
/// ops does not grow with the number of ranks.
constexpr size_t kMostSinglePieces = 8;

/// Adjacent pieces of a dimension that have the same extent, from `begin` on.
struct EqualPieces {
  int64_t begin, count, extent;
};

/// Returns the groups of equal pieces among pieces of these extents, without
/// the empty ones. There are few: the pieces of a dimension have two lengths,
/// and their overlaps with another piece have two more at its ends.
SmallVector<EqualPieces, 4> equalPieces(ArrayRef<int64_t> extents) {
  SmallVector<EqualPieces, 4> runs;
  int64_t begin = 0;
  for (int64_t extent : extents) {
    if (extent == 0)
      continue;
    if (runs.empty() || runs.back().extent != extent)
      runs.push_back({begin, 0, extent});
    ++runs.back().count;
    begin += extent;
  }
  return runs;
}

/// Joins pieces of these extents, which lie one after the other in `flat`,
/// along `dim`. `shape` is that of the result.
Value joinPieces(CollectiveBuilder &build, Value flat, const sbp::Shape &shape, int64_t dim,
                 ArrayRef<int64_t> extents) {
  const auto [outer, inner] = around(shape, dim);
  const bool isSingle = extents.size() <= kMostSinglePieces;
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
    for (int64_t extent : extents)
      add(1, extent);
  else
    for (const EqualPieces &run : equalPieces(extents))
      add(run.count, run.extent);
  if (parts.empty())
    return build.view(flat, 0, shape);
  return parts.size() == 1 ? parts.front() : build.concat(parts, dim);
}

Value gather(CollectiveBuilder &build, Value input, const StepShapes &shapes, int64_t dim) {
  Value flat = build.allGather(input, shapes.elementsBefore());
  const sbp::Shape result = shapes.after(shapes.group.index);
  return isLeading(result, dim) ? build.view(flat, 0, result)
                                : joinPieces(build, flat, result, dim, shapes.extentsReceived());
}

/// Cuts the operand along `dim` into pieces of these extents, and packs them
/// one after the other.
Value packPieces(CollectiveBuilder &build, Value input, int64_t dim, ArrayRef<int64_t> extents) {
  sbp::Shape shape = sbp::shapeOf(input.getType());
  if (isLeading(shape, dim))
    return build.view(input, 0, {sbp::numElements(shape)});
  SmallVector<Value> pieces;
  if (extents.size() <= kMostSinglePieces) {
    int64_t begin = 0;
    for (int64_t extent : extents) {
      pieces.push_back(build.slice(input, dim, {begin, extent}));
      begin += extent;
    }
    return build.packTight(pieces);
  }
  const auto [outer, inner] = around(shape, dim);
  for (const EqualPieces &run : equalPieces(extents)) {
    const bool isAll = run.count * run.extent == shape[dim];
    Value part = isAll ? input : build.slice(input, dim, {run.begin, run.count * run.extent});
    pieces.push_back(build.swapLeading(build.view(part, 0, {outer, run.count, run.extent * inner})));
  }
  return pieces.empty() ? build.view(input, 0, {0}) : build.packTight(pieces);
}

Value scatter(CollectiveBuilder &build, Value input, const StepShapes &shapes, int64_t dim) {
  Value packed = packPieces(build, input, dim, shapes.extentsSent());
  Value block = build.reduceScatter(packed, shapes.elementsAfter());
  return build.view(block, 0, shapes.after(shapes.group.index));
}

/// The boxes that ranks send each other in an exchange along several axes.
class BoxesExchanged {
public:
  BoxesExchanged(const sbp::BoxingStep &step, const sbp::Shape &shape, const sbp::Placement &placement,
                 const AxisGroup &group)
      : own(group.index) {
    for (int64_t position : group.positions) {
      const std::vector<int64_t> at = placement.coordinates(position);
      before.push_back(sbp::localBox(shape, step.from, placement, at, step.fromLast));
      after.push_back(sbp::localBox(shape, step.to, placement, at, step.toLast));
    }
  }

  /// Return the boxes of the whole tensor that go to rank r of the group, and
  /// that come from it.
  sbp::Box sent(int64_t r) const { return given(own, r); }
  sbp::Box received(int64_t r) const { return given(r, own); }
  const sbp::Box &ownBefore() const { return before[own]; }
  const sbp::Box &ownAfter() const { return after[own]; }
  int64_t numRanks() const { return before.size(); }

private:
  sbp::Box given(int64_t from, int64_t to) const {
    sbp::Box box;
    for (auto [held, wanted] : llvm::zip(before[from], after[to]))
      box.push_back(sbp::overlap(held, wanted));
    return box;
  }

  int64_t own;
  std::vector<sbp::Box> before, after;
};

sbp::Shape shapeOf(const sbp::Box &box) {
  sbp::Shape shape;
  for (const sbp::Interval &interval : box)
    shape.push_back(interval.count);
  return shape;
}

/// A box of the whole tensor that lies in row-major order in a flat tensor,
/// from element `offset` on; or a value that has been joined from such boxes.
struct PlacedBox {
  sbp::Box box;
  int64_t offset = 0;
  Value joined = {};
};

Value valueOf(CollectiveBuilder &build, Value flat, const PlacedBox &placed) {
  return placed.joined ? placed.joined : build.view(flat, placed.offset, shapeOf(placed.box));
}

/// Joins boxes that follow one another along `dim` and are equal in all other
/// dimensions.
PlacedBox joinAlong(CollectiveBuilder &build, Value flat, size_t dim, ArrayRef<PlacedBox> parts) {
  PlacedBox whole = parts.front();
  bool liesSo = isLeading(shapeOf(whole.box), dim) && !whole.joined;
  int64_t end = whole.offset + sbp::numElements(shapeOf(whole.box));
  for (const PlacedBox &part : parts.drop_front()) {
    liesSo &= !part.joined && part.offset == end;
    end += sbp::numElements(shapeOf(part.box));
    whole.box[dim].count += part.box[dim].count;
  }
  if (parts.size() == 1 || liesSo)
    return whole;
  SmallVector<Value> values;
  for (const PlacedBox &part : parts)
    values.push_back(valueOf(build, flat, part));
  whole.joined = build.concat(values, dim);
  return whole;
}

/// Joins boxes that tile a larger one, those that differ only in the last
/// dimension first.
PlacedBox joinBoxes(CollectiveBuilder &build, Value flat, size_t dim, ArrayRef<PlacedBox> boxes) {
  if (dim == boxes.front().box.size())
    return boxes.front();
  std::map<int64_t, SmallVector<PlacedBox>> slabs; // by where they begin
  for (const PlacedBox &placed : boxes)
    slabs[placed.box[dim].begin].push_back(placed);
  SmallVector<PlacedBox> joined;
  for (const auto &[begin, slab] : slabs)
    joined.push_back(joinBoxes(build, flat, dim + 1, slab));
  return joinAlong(build, flat, dim, joined);
}

Value sliceBox(CollectiveBuilder &build, Value input, const sbp::Box &box, const sbp::Box &within) {
  for (size_t dim = 0; dim < box.size(); ++dim)
    if (box[dim].count != within[dim].count)
      input = build.slice(input, dim, {box[dim].begin - within[dim].begin, box[dim].count});
  return input;
}

Value exchangeBoxes(CollectiveBuilder &build, Value input, const BoxesExchanged &boxes) {
  std::vector<int64_t> sent, received;
  SmallVector<Value> pieces;
  SmallVector<PlacedBox> arrived;
  int64_t offset = 0;
  for (int64_t r = 0; r < boxes.numRanks(); ++r) {
    const sbp::Box to = boxes.sent(r), from = boxes.received(r);
    sent.push_back(sbp::numElements(shapeOf(to)));
    received.push_back(sbp::numElements(shapeOf(from)));
    if (sent.back() > 0)
      pieces.push_back(sliceBox(build, input, to, boxes.ownBefore()));
    if (received.back() > 0)
      arrived.push_back({from, offset});
    offset += received.back();
  }
  Value packed = pieces.empty()       ? build.view(input, 0, {0})
                 : pieces.size() == 1 ? build.view(pieces.front(), 0, {typeOf(pieces.front()).getNumElements()})
                                      : build.packTight(pieces);
  Value flat = build.allToAll(packed, sent, received);
  return arrived.empty() ? build.view(flat, 0, shapeOf(boxes.ownAfter()))
                         : valueOf(build, flat, joinBoxes(build, flat, 0, arrived));
}

Value exchange(CollectiveBuilder &build, Value input, const StepShapes &shapes, int64_t fromDim, int64_t toDim) {
  const int64_t own = shapes.group.index;
  const sbp::Shape after = shapes.after(own);
  const auto [beforeOuter, beforeInner] = around(shapes.before(own), toDim);
  const auto [afterOuter, afterInner] = around(after, fromDim);
  const std::vector<int64_t> extentsSent = shapes.extentsSent(), extentsReceived = shapes.extentsReceived();
  std::vector<int64_t> sent, received;
  for (int64_t r = 0; r < shapes.group.size(); ++r) {
    sent.push_back(beforeOuter * beforeInner * extentsSent[r]);
    received.push_back(afterOuter * afterInner * extentsReceived[r]);
  }
  Value flat = build.allToAll(packPieces(build, input, toDim, extentsSent), sent, received);
  return joinPieces(build, flat, after, fromDim, extentsReceived);
}

} // namespace

namespace {

Value flat(CollectiveBuilder &build, Value input) { return build.view(input, 0, {typeOf(input).getNumElements()}); }

/// Arranges what arrived from the ranks, one block after the other, as this
/// rank holds the tensor after the step.
Value receive(CollectiveBuilder &build, Value received, const StepShapes &shapes, const sbp::Sbp &from) {
  const sbp::Shape after = shapes.after(shapes.group.index);
  if (!from.isSplit() || typeOf(received).getNumElements() == 0 || isLeading(after, from.dim))
    return build.view(received, 0, after);
  return joinPieces(build, received, after, from.dim, shapes.extentsReceived());
}

/// Emits an all-to-all in which one rank sends everything, or one rank receives
/// everything.
Value sendAndReceive(CollectiveBuilder &build, Value input, const StepShapes &shapes, const sbp::Sbp &from,
                     const sbp::Sbp &to) {
  const int64_t own = shapes.group.index, ranks = shapes.group.size();
  std::vector<int64_t> sent(ranks, 0), received(ranks, 0);
  if (from.isHeldAt(own))
    for (int64_t r = 0; r < ranks; ++r)
      sent[r] = to.isAt() ? (to.isHeldAt(r) ? shapes.elementsBefore()[own] : 0) : shapes.elementsAfter()[r];
  if (to.isHeldAt(own))
    for (int64_t r = 0; r < ranks; ++r)
      received[r] = from.isAt() ? (from.isHeldAt(r) ? shapes.elementsAfter()[own] : 0) : shapes.elementsBefore()[r];
  const bool cuts = to.isSplit() && from.isHeldAt(own);
  Value packed = cuts ? packPieces(build, input, to.dim, shapes.extentsSent()) : flat(build, input);
  return receive(build, build.allToAll(packed, sent, received), shapes, from);
}

/// Emits a step from or to ranks at one coordinate of its axis. A tensor of
/// which a rank holds nothing has 0 elements, in one dimension.
Value localizeMove(CollectiveBuilder &build, Value input, const sbp::BoxingStep &step, const sbp::Shape &shape,
                   const sbp::Placement &placement, const AxisGroup &group) {
  const StepShapes shapes(step, shape, placement, group);
  const sbp::Sbp &from = step.from[step.axis], &to = step.to[step.axis];
  switch (step.collective) {
  case sbp::Collective::Slice:
    return to.isHeldAt(group.index) ? input : build.view(flat(build, input), 0, {0});
  case sbp::Collective::AllGather:
    return build.view(build.allGather(flat(build, input), shapes.elementsBefore()), 0, shapes.after(group.index));
  case sbp::Collective::ReduceScatter:
    return build.view(build.reduceScatter(flat(build, input), shapes.elementsAfter()), 0, shapes.after(group.index));
  default:
    return sendAndReceive(build, input, shapes, from, to);
  }
}

} // namespace

Value localizeStep(CollectiveBuilder &build, Value input, const sbp::BoxingStep &step, const sbp::Shape &shape,
                   const sbp::Placement &placement, const AxisGroup &group) {
  if (step.collective == sbp::Collective::Exchange)
    return exchangeBoxes(build, input, BoxesExchanged(step, shape, placement, group));
  if (step.from[step.axis].isAt() || step.to[step.axis].isAt())
    return localizeMove(build, input, step, shape, placement, group);
  StepShapes shapes(step, shape, placement, group);
  int64_t fromDim = step.from[step.axis].dim, toDim = step.to[step.axis].dim;
  switch (step.collective) {
  case sbp::Collective::Slice:
    return build.slice(input, toDim, shapes.pieceAfter(group.index));
  case sbp::Collective::AllGather:
    return gather(build, input, shapes, fromDim);
  case sbp::Collective::AllReduce:
    return build.allReduce(input);
  case sbp::Collective::ReduceScatter:
    return scatter(build, input, shapes, toDim);
  case sbp::Collective::AllToAll:
    return exchange(build, input, shapes, fromDim, toDim);
  case sbp::Collective::Exchange: // above
    break;
  }
  return input;
}

} // namespace splitcast
