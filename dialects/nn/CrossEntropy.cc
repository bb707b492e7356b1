// Softmax cross-entropy with integer labels, and its gradient.
#include "dialects/nn/Parts.h"
#include "dialects/nn/Rows.h"

#include <limits>

using namespace mlir;
using namespace splitcast;
using namespace splitcast::nn;

namespace {

/// Returns the element's class, counted from `first` on, as `type`. If no class
/// needs more bits, it is an i32, which vectors and GPUs compare at once.
Value classOf(const RowBuilder &rows, OpBuilder &b, Location l, Type type, int64_t first = 0) {
  const bool staysAsIs =
      type.getIntOrFloatBitWidth() <= 32 || first > std::numeric_limits<int32_t>::max() - rows.rowExtent();
  Value place =
      b.create<arith::IndexCastOp>(l, staysAsIs ? type : b.getI32Type(), b.create<linalg::IndexOp>(l, rows.rank() - 1));
  if (first == 0)
    return place;
  return b.create<arith::AddIOp>(l, place, b.create<arith::ConstantOp>(l, b.getIntegerAttr(place.getType(), first)));
}

/// Returns whether the class of the element, counted from `first` on, is
/// `label`. A label that is no class may compare equal to one, since it may be
/// truncated; such a label is ignored or refused.
Value isLabel(const RowBuilder &rows, OpBuilder &b, Location l, Value label, int64_t first = 0) {
  const Value position = classOf(rows, b, l, label.getType(), first);
  if (position.getType() != label.getType())
    label = b.create<arith::TruncIOp>(l, position.getType(), label);
  return b.create<arith::CmpIOp>(l, arith::CmpIPredicate::eq, position, label);
}

/// Returns 0 where the label is `ignored`, if there is such a label; else
/// `value`.
Value unlessIgnored(OpBuilder &b, Location l, std::optional<int64_t> ignored, Value label, Value value) {
  if (!ignored)
    return value;
  Value isIgnored = compareWithNumber(b, l, arith::CmpIPredicate::eq, label, *ignored);
  return b.create<arith::SelectOp>(l, isIgnored, scalarConstant(b, l, value.getType(), 0.0), value);
}

/// Replaces the logits of padding by -infinity, whose exponential is 0.
Value withoutPadding(RowBuilder &rows, Value logits, std::optional<int64_t> classes) {
  if (!classes || *classes == rows.rowExtent())
    return logits;
  return rows.map({{logits}, {}, {}}, [&](OpBuilder &b, Location l, ValueRange x) -> Value {
    const Value position = classOf(rows, b, l, b.getI64Type());
    Value end = b.create<arith::ConstantOp>(l, b.getIntegerAttr(position.getType(), *classes));
    Value isClass = b.create<arith::CmpIOp>(l, arith::CmpIPredicate::slt, position, end);
    Value nothing = scalarConstant(b, l, x[0].getType(), -std::numeric_limits<double>::infinity());
    return b.create<arith::SelectOp>(l, isClass, x[0], nothing);
  });
}

LogicalResult verifyRows(Operation *op, Value logits, Value labels, std::optional<int64_t> classes) {
  auto type = cast<RankedTensorType>(logits.getType());
  if (type.getRank() == 0 || type.getShape().drop_back() != cast<RankedTensorType>(labels.getType()).getShape())
    return op->emitOpError() << "has logits " << undecided(type) << " and labels " << undecided(labels.getType())
                             << "; labels must have the logits' dimensions except the last, the classes";
  if (classes && (*classes < 1 || *classes > type.getShape().back()))
    return op->emitOpError() << "has " << *classes << " classes and logits " << undecided(type)
                             << "; 'classes' must be from 1 to the logits' last dimension";
  return success();
}

} // namespace

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

void SoftmaxCrossEntropyOp::build(OpBuilder &builder, OperationState &state, Value logits, Value labels,
                                  IntegerAttr ignored) {
  auto type = cast<RankedTensorType>(logits.getType());
  ArrayRef<int64_t> rows = type.getRank() ? type.getShape().drop_back() : type.getShape();
  build(builder, state, RankedTensorType::get(rows, type.getElementType()), logits, labels, ignored, IntegerAttr());
}

sbp::LoopSpec SoftmaxCrossEntropyOp::getLoopSpec() {
  sbp::LoopSpec spec;
  sbp::TensorFactors logits = rowFactors(spec, getLogits().getType().getShape()),
                     rows(logits.begin(), logits.end() - 1);
  spec.operands = {logits, rows};
  spec.results = {rows};
  return spec;
}

LogicalResult SoftmaxCrossEntropyOp::inferResultTypes(SmallVectorImpl<RankedTensorType> &types) {
  if (failed(verifyRows(*this, getLogits(), getLabels(), getClasses())))
    return failure();
  auto type = cast<RankedTensorType>(getLogits().getType());
  types.push_back(RankedTensorType::get(type.getShape().drop_back(), type.getElementType()));
  return success();
}

SmallVector<Value> SoftmaxCrossEntropyOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  RowBuilder rows(builder, getLoc(), operands[0]);
  Value logits = withoutPadding(rows, operands[0], getClasses()), labels = operands[1];
  Value max = rows.rowMax(logits), sum = rows.rowSumExp(logits, max);
  Value picked =
      rows.reduce({{operands[0]}, {labels}, {}}, 0.0, [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
        Value zero = scalarConstant(b, loc, x[0].getType(), 0.0);
        Value own = b.create<arith::SelectOp>(loc, isLabel(rows, b, loc, x[1]), x[0], zero);
        return b.create<arith::AddFOp>(loc, x[2], own);
      });
  return {rows.mapRows({max, sum, picked, labels}, [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
    // Large logits are subtracted from each other first; the logarithm would lose its digits beside them.
    Value distance = b.create<arith::SubFOp>(loc, x[0], x[2]);
    Value loss = b.create<arith::AddFOp>(loc, distance, b.create<math::LogOp>(loc, x[1]));
    return unlessIgnored(b, loc, getIgnored(), x[3], loss);
  })};
}

SmallVector<IndexOperand> SoftmaxCrossEntropyOp::getIndexOperands() {
  return {{1, static_cast<int64_t>(getClasses().value_or(getLogits().getType().getShape().back())), getIgnored()}};
}

int64_t SoftmaxCrossEntropyOp::getFlops() { return 5 * sbp::numElements(sbp::shapeOf(getLogits().getType())); }

SmallVector<Value> SoftmaxCrossEntropyOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool>) {
  return {
      b.create<SoftmaxCrossEntropyGradOp>(getLoc(), g[0], getLogits(), getLabels(), getIgnoredAttr(), getClassesAttr()),
      Value()};
}

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

void SoftmaxCrossEntropyGradOp::build(OpBuilder &builder, OperationState &state, Value gradient, Value logits,
                                      Value labels, IntegerAttr ignored, IntegerAttr classes) {
  build(builder, state, undecided(logits.getType()), gradient, logits, labels, /*log_sum=*/Value(), ignored, classes,
        IntegerAttr(), IntegerAttr());
}

sbp::LoopSpec SoftmaxCrossEntropyGradOp::getLoopSpec() {
  sbp::LoopSpec spec;
  sbp::TensorFactors logits = rowFactors(spec, getLogits().getType().getShape()),
                     rows(logits.begin(), logits.end() - 1);
  spec.operands = {rows, logits, rows};
  if (getLogSum()) { // each class is computed by itself
    spec.factors[logits.back().front()].kind = sbp::FactorKind::Parallel;
    spec.operands.push_back(rows);
  }
  spec.results = {logits};
  spec.linear = {{{0}, {}}};
  return spec;
}

LogicalResult SoftmaxCrossEntropyGradOp::inferResultTypes(SmallVectorImpl<RankedTensorType> &types) {
  if (failed(verifyRows(*this, getLogits(), getLabels(), getClasses())))
    return failure();
  if (sbp::shapeOf(getGradient().getType()) != sbp::shapeOf(getLabels().getType()))
    return emitOpError() << "has gradient " << undecided(getGradient().getType()) << " and labels "
                         << undecided(getLabels().getType()) << "; both must have one element per row";
  if (getGradient().getType().getElementType() != getLogits().getType().getElementType())
    return emitOpError() << "has gradient " << undecided(getGradient().getType()) << " and logits "
                         << undecided(getLogits().getType()) << "; both must have one element type";
  if (getLogSum() && undecided(getLogSum().getType()) != undecided(getGradient().getType()))
    return emitOpError() << "has gradient " << undecided(getGradient().getType()) << " and log_sum "
                         << undecided(getLogSum().getType()) << "; both must have one element per row, of one type";
  if (getLogSum() && getClasses())
    return emitOpError() << "has both a log_sum and " << *getClasses()
                         << " classes; where classes are padded, leave out "
                         << "log_sum";
  if (!getLogSum() && (getFirst() || getPlaces()))
    return emitOpError() << "has a part of the classes and no log_sum; give log_sum, since a part does not give the "
                            "sum over all classes";
  if (failed(verifyPart(*this, "classes", getLogits().getType().getShape().back(), getFirst(), getPlaces())))
    return failure();
  types.push_back(undecided(getLogits().getType()));
  return success();
}

bool SoftmaxCrossEntropyGradOp::isPlacedAlong(int64_t dim) {
  return getLogSum() && dim == getLogits().getType().getRank() - 1;
}
bool SoftmaxCrossEntropyGradOp::canBePart() { return false; }

void SoftmaxCrossEntropyGradOp::setPlace(ArrayRef<int64_t> offsets, ArrayRef<int64_t> shape) {
  setPiece(*this, static_cast<int64_t>(shape.size()) - 1, getLogits().getType().getShape().back(), offsets, shape);
}

void SoftmaxCrossEntropyGradOp::setPart(OpBuilder &, Value, int64_t) { llvm_unreachable("canBePart"); }

SmallVector<Value> SoftmaxCrossEntropyGradOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  RowBuilder rows(builder, getLoc(), operands[1]);
  const int64_t first = getFirst().value_or(0);
  auto slopeOf = [&](OpBuilder &b, Location loc, Value softmax, Value gradient, Value label) -> Value {
    Type type = softmax.getType();
    Value oneHot = b.create<arith::SelectOp>(loc, isLabel(rows, b, loc, label, first),
                                             scalarConstant(b, loc, type, 1.0), scalarConstant(b, loc, type, 0.0));
    Value slope = b.create<arith::MulFOp>(loc, b.create<arith::SubFOp>(loc, softmax, oneHot), gradient);
    return unlessIgnored(b, loc, getIgnored(), label, slope);
  };
  if (getLogSum())
    return {rows.map({{operands[1]}, {operands[3], operands[0], operands[2]}, {}},
                     [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
                       Value softmax = b.create<math::ExpOp>(loc, b.create<arith::SubFOp>(loc, x[0], x[1]));
                       return slopeOf(b, loc, softmax, x[2], x[3]);
                     })};
  Value logits = withoutPadding(rows, operands[1], getClasses());
  Value max = rows.rowMax(logits), sum = rows.rowSumExp(logits, max);
  // Divide once per row: a division per element would take as long as the
  // exponential.
  Value share = rows.mapRows({sum}, [](OpBuilder &b, Location loc, ValueRange x) -> Value {
    return b.create<arith::DivFOp>(loc, scalarConstant(b, loc, x[0].getType(), 1.0), x[0]);
  });
  RowBuilder::Inputs inputs{{logits}, {max, share, operands[0], operands[2]}, {}};
  return {rows.map(inputs, [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
    Value shifted = b.create<arith::SubFOp>(loc, x[0], x[1]);
    Value softmax = b.create<arith::MulFOp>(loc, b.create<math::ExpOp>(loc, shifted), x[2]);
    return slopeOf(b, loc, softmax, x[3], x[4]);
  })};
}

SmallVector<IndexOperand> SoftmaxCrossEntropyGradOp::getIndexOperands() {
  const auto classes = static_cast<int64_t>(getClasses().value_or(getLogits().getType().getShape().back()));
  return {{2, static_cast<int64_t>(getPlaces().value_or(classes)), getIgnored()}};
}

int64_t SoftmaxCrossEntropyGradOp::getFlops() { return 7 * sbp::numElements(sbp::shapeOf(getLogits().getType())); }
