// Splits boxings that involve a bucket into single steps, so that
// 'sbp-join-buckets' can join equal steps of several members.
//
// The signatures in between are those of the steps that sbp::planBoxing
// chooses; each new boxing is then planned by itself. A step belongs to the
// bucket, and keeps its `bucket`, if after it no axis changes the piece any
// more, except by sums.
//
//   before   %0 = sbp.boxing %g : [P, P] -> [S(@l), B]                       on [dp = 2, tp = 2]
//   after    %0 = sbp.boxing %g : [P, P] -> [P, B]                           all-reduce along tp
//            %1 = sbp.boxing %0 : [P, B] -> [S(@l), B]                       reduce-scatter along dp, into the bucket
#include "passes/global/SplitBoxing.h"

using namespace mlir;

namespace splitcast {

namespace {

/// The signatures that a boxing passes through, its result's last. While a
/// tensor is a slot, nothing else may change, since a bucket does not belong to
/// one member alone: a slot is left first and entered last. In between, axes of
/// size 1, where all entries mean the same bytes, take the entries of the
/// result.
class Route {
public:
  Route(const sbp::Shape &shape, const sbp::NdSbp &from, const sbp::NdSbp &to, const sbp::Placement &placement)
      : shape(shape), placement(placement), last(from) {
    std::vector<sbp::BoxingStep> steps = sbp::planBoxing(shape, from, to, placement);
    size_t next = 0;
    for (size_t axis = 0; axis < to.size(); ++axis)
      if (from[axis].isFlat() && isOfOne(axis) && from != to)
        set(axis, sbp::Sbp::broadcast());
      else if (from[axis].isFlat() && !steps.empty())
        set(axis, steps[next++].to[axis]);
    for (size_t axis = 0; axis < to.size(); ++axis)
      if (isOfOne(axis) && !to[axis].isFlat())
        set(axis, to[axis]);
      else if (isOfOne(axis) && (last[axis].isSplit() || last[axis].isAt()))
        set(axis, sbp::Sbp::broadcast());
    for (; next < steps.size(); ++next) {
      const sbp::NdSbp &before = steps[next].from;
      next += steps[next].toLast >= 0; // the signature between these two steps cannot be written
      set(before, steps[next].to);
    }
    for (size_t axis = 0; axis < to.size(); ++axis)
      set(axis, to[axis]);
  }

  std::vector<sbp::NdSbp> states;

private:
  bool isOfOne(size_t axis) const { return placement.axes[axis].size == 1; }

  void set(size_t axis, const sbp::Sbp &entry) {
    if (last[axis] == entry)
      return;
    last[axis] = entry;
    addState();
  }

  /// Sets all entries that change between two signatures.
  void set(const sbp::NdSbp &from, const sbp::NdSbp &to) {
    const sbp::NdSbp before = last;
    for (size_t axis = 0; axis < to.size(); ++axis)
      if (from[axis] != to[axis])
        last[axis] = to[axis];
    if (last != before)
      addState();
  }

  void addState() {
    states.push_back(sbp::withoutIdleUnits(shape, last, placement)); // a unit may make no difference on the way
  }

  const sbp::Shape &shape;
  const sbp::Placement &placement;
  sbp::NdSbp last;
};

/// Whether a step to `state` belongs to the bucket: the bucket has room only
/// for the piece that the other axes leave in the end, so these may only have
/// sums left.
bool fitsSlot(const sbp::NdSbp &state, const sbp::NdSbp &to) {
  for (size_t axis = 0; axis < to.size(); ++axis)
    if (state[axis] != to[axis] && !(state[axis].isPartial() && to[axis].isBroadcast()))
      return false;
  return true;
}

void split(sbp::BoxingOp op) {
  sbp::PlacementAttr placement = sbp::signatureOf(op.getOutput()).getPlacement();
  sbp::NdSbp from = sbp::signatureOf(op.getInput()).toAlgebra(), to = sbp::signatureOf(op.getOutput()).toAlgebra();
  sbp::Placement algebra = placement.toAlgebra();
  const sbp::Shape shape = sbp::shapeOf(op.getInput().getType());
  Route route(shape, from, to, algebra);
  if (route.states.size() < 2)
    return;
  OpBuilder builder(op);
  Value value = op.getInput();
  for (const sbp::NdSbp &state : route.states)
    value =
        builder.create<sbp::BoxingOp>(op.getLoc(), sbp::withSignature(op.getType(), sbp::NdAttr::get(placement, state)),
                                      value, fitsSlot(state, to) ? op.getBucketAttr() : sbp::SlotAttr());
  op.replaceAllUsesWith(value);
  op.erase();
}

bool involvesBucket(sbp::BoxingOp op) {
  return op.getBucketAttr() || sbp::signatureOf(op.getInput()).getFlatSlot() ||
         sbp::signatureOf(op.getOutput()).getFlatSlot();
}

} // namespace

void splitBucketBoxings(Block &block) {
  for (auto op : llvm::make_early_inc_range(block.getOps<sbp::BoxingOp>()))
    if (involvesBucket(op))
      split(op);
}

} // namespace splitcast
