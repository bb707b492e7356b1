// Softmax cross-entropy with integer labels, and its gradient.
#include "dialects/nn/Nn.h"

#include <limits>

using namespace mlir;
using namespace splitcast;
using namespace splitcast::nn;

namespace {

/// linalg over the rows of logits: the row's statistics have all dimensions but the last.
class RowBuilder {
public:
  RowBuilder(OpBuilder &builder, Location loc, Value logits)
      : builder(builder), loc(loc), logits(logits), type(cast<RankedTensorType>(logits.getType())),
        rank(type.getRank()), identity(builder.getMultiDimIdentityMap(rank)), row(identity.dropResult(rank - 1)) {}

  using Body = function_ref<Value(OpBuilder &, Location, ValueRange)>;

  /// One value per row, from logits and per-row values; the body's last argument is the accumulator.
  Value reduce(ValueRange perRow, double init, Body body) {
    SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
    iterators.back() = utils::IteratorType::reduction;
    auto result = RankedTensorType::get(type.getShape().drop_back(), type.getElementType());
    return buildGeneric(builder, loc, result, inputsWith(perRow), mapsWith(perRow.size(), row), iterators, init, body);
  }

  /// One value per element.
  Value map(ValueRange perRow, Body body) {
    SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
    return buildGeneric(builder, loc, type, inputsWith(perRow), mapsWith(perRow.size(), identity), iterators,
                        std::nullopt, body);
  }

  Value rowMax() {
    return reduce({}, -std::numeric_limits<double>::infinity(), [](OpBuilder &b, Location l, ValueRange x) -> Value {
      return b.create<arith::MaximumFOp>(l, x[1], x[0]);
    });
  }

  /// Sum of exp(logit - max).
  Value rowSumExp(Value max) {
    return reduce(max, 0.0, [](OpBuilder &b, Location l, ValueRange x) -> Value {
      Value shifted = b.create<arith::SubFOp>(l, x[0], x[1]);
      return b.create<arith::AddFOp>(l, x[2], b.create<math::ExpOp>(l, shifted));
    });
  }

  /// Whether the element's class is `label`.
  Value isLabel(OpBuilder &b, Location l, Value label) {
    Value position = b.create<arith::IndexCastOp>(l, label.getType(), b.create<linalg::IndexOp>(l, rank - 1));
    return b.create<arith::CmpIOp>(l, arith::CmpIPredicate::eq, position, label);
  }

  RankedTensorType rowType() { return RankedTensorType::get(type.getShape().drop_back(), type.getElementType()); }

private:
  SmallVector<Value> inputsWith(ValueRange perRow) {
    SmallVector<Value> inputs = {logits};
    llvm::append_range(inputs, perRow);
    return inputs;
  }
  SmallVector<AffineMap> mapsWith(size_t perRow, AffineMap result) {
    SmallVector<AffineMap> maps = {identity};
    maps.append(perRow, row);
    maps.push_back(result);
    return maps;
  }

  OpBuilder &builder;
  Location loc;
  Value logits;
  RankedTensorType type;
  int64_t rank;
  AffineMap identity, row;
};

/// Factors of logits; the classes are needed whole.
sbp::TensorFactors logitsFactors(sbp::LoopSpec &spec, ArrayRef<int64_t> shape) {
  sbp::TensorFactors dims;
  for (int64_t extent : shape.drop_back())
    dims.push_back({spec.addFactor(extent)});
  dims.push_back({spec.addFactor(shape.back(), sbp::FactorKind::Whole)});
  return dims;
}

LogicalResult verifyRows(Operation *op, Value logits, Value labels) {
  auto type = cast<RankedTensorType>(logits.getType());
  if (type.getRank() == 0 || type.getShape().drop_back() != cast<RankedTensorType>(labels.getType()).getShape())
    return op->emitOpError() << "has logits " << undecided(type) << " and labels " << undecided(labels.getType())
                             << "; labels have the logits' dimensions but the last, the classes";
  return success();
}

} // namespace

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

void SoftmaxCrossEntropyOp::build(OpBuilder &builder, OperationState &state, Value logits, Value labels) {
  auto type = cast<RankedTensorType>(logits.getType());
  ArrayRef<int64_t> rows = type.getRank() ? type.getShape().drop_back() : type.getShape();
  build(builder, state, RankedTensorType::get(rows, type.getElementType()), logits, labels);
}

sbp::LoopSpec SoftmaxCrossEntropyOp::getLoopSpec() {
  sbp::LoopSpec spec;
  sbp::TensorFactors logits = logitsFactors(spec, getLogits().getType().getShape()),
                     rows(logits.begin(), logits.end() - 1);
  spec.operands = {logits, rows};
  spec.results = {rows};
  return spec;
}

LogicalResult SoftmaxCrossEntropyOp::inferResultTypes(SmallVectorImpl<RankedTensorType> &types) {
  if (failed(verifyRows(*this, getLogits(), getLabels())))
    return failure();
  auto type = cast<RankedTensorType>(getLogits().getType());
  types.push_back(RankedTensorType::get(type.getShape().drop_back(), type.getElementType()));
  return success();
}

SmallVector<Value> SoftmaxCrossEntropyOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  RowBuilder rows(builder, getLoc(), operands[0]);
  Value max = rows.rowMax(), sum = rows.rowSumExp(max);
  Value picked = rows.reduce(operands[1], 0.0, [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
    Value zero = scalarConstant(b, loc, x[0].getType(), 0.0);
    Value own = b.create<arith::SelectOp>(loc, rows.isLabel(b, loc, x[1]), x[0], zero);
    return b.create<arith::AddFOp>(loc, x[2], own);
  });
  RankedTensorType type = rows.rowType();
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> parallel(type.getRank(), utils::IteratorType::parallel);
  return {buildGeneric(builder, getLoc(), type, {max, sum, picked}, {identity, identity, identity, identity}, parallel,
                       std::nullopt, [](OpBuilder &b, Location loc, ValueRange x) -> Value {
                         Value logSum = b.create<arith::AddFOp>(loc, x[0], b.create<math::LogOp>(loc, x[1]));
                         return b.create<arith::SubFOp>(loc, logSum, x[2]);
                       })};
}

SmallVector<IndexOperand> SoftmaxCrossEntropyOp::getIndexOperands() {
  return {{1, getLogits().getType().getShape().back()}};
}

int64_t SoftmaxCrossEntropyOp::getFlops() { return 5 * sbp::numElements(sbp::shapeOf(getLogits().getType())); }

SmallVector<Value> SoftmaxCrossEntropyOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool>) {
  return {b.create<SoftmaxCrossEntropyGradOp>(getLoc(), g[0], getLogits(), getLabels()), Value()};
}

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

void SoftmaxCrossEntropyGradOp::build(OpBuilder &builder, OperationState &state, Value gradient, Value logits,
                                      Value labels) {
  build(builder, state, undecided(logits.getType()), gradient, logits, labels);
}

sbp::LoopSpec SoftmaxCrossEntropyGradOp::getLoopSpec() {
  sbp::LoopSpec spec;
  sbp::TensorFactors logits = logitsFactors(spec, getLogits().getType().getShape()),
                     rows(logits.begin(), logits.end() - 1);
  spec.operands = {rows, logits, rows};
  spec.results = {logits};
  spec.linear = {{{0}, {}}};
  return spec;
}

LogicalResult SoftmaxCrossEntropyGradOp::inferResultTypes(SmallVectorImpl<RankedTensorType> &types) {
  if (failed(verifyRows(*this, getLogits(), getLabels())))
    return failure();
  if (sbp::shapeOf(getGradient().getType()) != sbp::shapeOf(getLabels().getType()))
    return emitOpError() << "has gradient " << undecided(getGradient().getType()) << " and labels "
                         << undecided(getLabels().getType()) << "; both have one element per row";
  types.push_back(undecided(getLogits().getType()));
  return success();
}

SmallVector<Value> SoftmaxCrossEntropyGradOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  RowBuilder rows(builder, getLoc(), operands[1]);
  Value max = rows.rowMax(), sum = rows.rowSumExp(max);
  return {rows.map({max, sum, operands[0], operands[2]}, [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
    Type type = x[0].getType();
    Value shifted = b.create<arith::SubFOp>(loc, x[0], x[1]);
    Value softmax = b.create<arith::DivFOp>(loc, b.create<math::ExpOp>(loc, shifted), x[2]);
    Value oneHot = b.create<arith::SelectOp>(loc, rows.isLabel(b, loc, x[4]), scalarConstant(b, loc, type, 1.0),
                                             scalarConstant(b, loc, type, 0.0));
    return b.create<arith::MulFOp>(loc, b.create<arith::SubFOp>(loc, softmax, oneHot), x[3]);
  })};
}

SmallVector<IndexOperand> SoftmaxCrossEntropyGradOp::getIndexOperands() {
  return {{2, getLogits().getType().getShape().back()}};
}

int64_t SoftmaxCrossEntropyGradOp::getFlops() { return 7 * sbp::numElements(sbp::shapeOf(getLogits().getType())); }
