#include "passes/global/SplitBoxing.h"

using namespace mlir;

namespace splitcast {

namespace {

/// The signatures that a boxing passes through, its own last.
class Route {
public:
  Route(const sbp::Shape &shape, const sbp::NdSbp &from, const sbp::NdSbp &to, const sbp::Placement &placement)
      : placement(placement), last(from) {
    std::vector<sbp::BoxingStep> steps = sbp::planBoxing(shape, from, to, placement);
    // On axes of size 1 every entry means the same bytes: they are B while the others change.
    if (!steps.empty())
      relabelAxesOfOne(sbp::NdSbp(from.size(), sbp::Sbp::broadcast()));
    for (const sbp::BoxingStep &step : steps) // a unit may be idle on the way
      states.push_back(last = sbp::withoutIdleUnits(shape, step.to, placement));
    relabelAxesOfOne(to);
  }

  std::vector<sbp::NdSbp> states;

private:
  /// A slot comes last: what lies there is no member's alone any more.
  void relabelAxesOfOne(const sbp::NdSbp &target) {
    for (bool isFlat : {false, true})
      for (size_t axis = 0; axis < target.size(); ++axis) {
        if (placement.axes[axis].size > 1 || target[axis].isFlat() != isFlat || last[axis] == target[axis])
          continue;
        bool isSlotOfRows = (last[axis].isSplit() && isFlat) || (last[axis].isFlat() && target[axis].isSplit());
        for (const sbp::Sbp &entry : {isSlotOfRows ? sbp::Sbp::broadcast() : last[axis], target[axis]})
          if (last[axis] != entry) {
            last[axis] = entry;
            states.push_back(last);
          }
      }
  }

  const sbp::Placement &placement;
  sbp::NdSbp last;
};

/// A bucket has room for the piece that the other axes leave in the end: only steps that change no piece are its.
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
  Route route(sbp::shapeOf(op.getInput().getType()), from, to, algebra);
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
