// Softmax, log-sum-exp and layer norm: ops that need whole rows.
#include "dialects/nn/Rows.h"

#include <limits>

using namespace mlir;
using namespace splitcast;
using namespace splitcast::nn;

namespace {

using Types = SmallVectorImpl<RankedTensorType>;

LogicalResult verifyHasRows(Operation *op, Value input) {
  auto type = cast<RankedTensorType>(input.getType());
  if (type.getRank() > 0)
    return success();
  return op->emitOpError() << "takes " << undecided(type)
                           << "; it works along the last dimension, so there must be one";
}

LogicalResult verifyOneShape(Operation *op, Value a, Value b) {
  RankedTensorType first = undecided(a.getType()), second = undecided(b.getType());
  if (first == second)
    return success();
  return op->emitOpError() << "takes " << first << " and " << second << "; these must have one shape and element type";
}

LogicalResult verifyColumns(Operation *op, Value input, ValueRange perColumn) {
  RankedTensorType type = undecided(input.getType());
  auto expected = RankedTensorType::get(type.getShape().take_back(), type.getElementType());
  for (Value value : perColumn)
    if (undecided(value.getType()) != expected)
      return op->emitOpError() << "takes " << type << " with " << undecided(value.getType())
                               << " for its last dimension; that must be " << expected;
  return success();
}

int64_t elementsOf(Value value) { return sbp::numElements(sbp::shapeOf(value.getType())); }

/// The mean of each row, and 1 / sqrt(variance + epsilon).
struct Moments {
  Value mean, scale;

  Moments(RowBuilder &rows, Value x, double epsilon) {
    double perElement = 1.0 / static_cast<double>(std::max<int64_t>(1, rows.rowExtent()));
    mean = rows.mapRows(rows.rowSum(x), [&](OpBuilder &b, Location l, ValueRange v) -> Value {
      return b.create<arith::MulFOp>(l, v[0], scalarConstant(b, l, v[0].getType(), perElement));
    });
    Value squares = rows.reduce({{x}, {mean}, {}}, 0.0, [](OpBuilder &b, Location l, ValueRange v) -> Value {
      Value centered = b.create<arith::SubFOp>(l, v[0], v[1]);
      return b.create<arith::AddFOp>(l, v[2], b.create<arith::MulFOp>(l, centered, centered));
    });
    scale = rows.mapRows(squares, [&](OpBuilder &b, Location l, ValueRange v) -> Value {
      Type type = v[0].getType();
      Value variance = b.create<arith::MulFOp>(l, v[0], scalarConstant(b, l, type, perElement));
      Value padded = b.create<arith::AddFOp>(l, variance, scalarConstant(b, l, type, epsilon));
      return b.create<arith::DivFOp>(l, scalarConstant(b, l, type, 1.0), b.create<math::SqrtOp>(l, padded));
    });
  }
};

/// (x - mean) scale
Value normalized(OpBuilder &b, Location l, Value x, Value mean, Value scale) {
  return b.create<arith::MulFOp>(l, b.create<arith::SubFOp>(l, x, mean), scale);
}

Value constantLike(OpBuilder &b, Location l, Value x, double value) { return scalarConstant(b, l, x.getType(), value); }

/// Returns `otherwise` where x is `value`, and x elsewhere.
Value unlessEqual(OpBuilder &b, Location l, Value x, double value, double otherwise) {
  Value isEqual = b.create<arith::CmpFOp>(l, arith::CmpFPredicate::OEQ, x, constantLike(b, l, x, value));
  return b.create<arith::SelectOp>(l, isEqual, constantLike(b, l, x, otherwise), x);
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

} // namespace

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

void SoftmaxOp::build(OpBuilder &builder, OperationState &state, Value input) {
  build(builder, state, undecided(input.getType()), input);
}

sbp::LoopSpec SoftmaxOp::getLoopSpec() {
  sbp::LoopSpec spec;
  sbp::TensorFactors dims = rowFactors(spec, getInput().getType().getShape());
  spec.operands = {dims};
  spec.results = {dims};
  return spec;
}

LogicalResult SoftmaxOp::inferResultTypes(Types &types) {
  types.push_back(undecided(getInput().getType()));
  return verifyHasRows(*this, getInput());
}

SmallVector<Value> SoftmaxOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  RowBuilder rows(builder, getLoc(), operands[0]);
  Value max = rows.rowMax(operands[0]), sum = rows.rowSumExp(operands[0], max);
  return {rows.map({{operands[0]}, {max, sum}, {}}, [](OpBuilder &b, Location l, ValueRange x) -> Value {
    Value shifted = b.create<arith::SubFOp>(l, x[0], x[1]);
    return b.create<arith::DivFOp>(l, b.create<math::ExpOp>(l, shifted), x[2]);
  })};
}

int64_t SoftmaxOp::getFlops() { return 5 * elementsOf(getInput()); }

SmallVector<Value> SoftmaxOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool>) {
  return {b.create<SoftmaxGradOp>(getLoc(), g[0], getResult())};
}

//===----------------------------------------------------------------------===//
// Log of a sum of exponentials
//===----------------------------------------------------------------------===//

void LogSumExpOp::build(OpBuilder &builder, OperationState &state, Value input) {
  auto type = cast<RankedTensorType>(input.getType());
  ArrayRef<int64_t> rows = type.getRank() ? type.getShape().drop_back() : type.getShape();
  build(builder, state, RankedTensorType::get(rows, type.getElementType()), input);
}

sbp::LoopSpec LogSumExpOp::getLoopSpec() {
  sbp::LoopSpec spec;
  sbp::TensorFactors dims = rowFactors(spec, getInput().getType().getShape());
  spec.operands = {dims};
  spec.results = {sbp::TensorFactors(dims.begin(), dims.end() - 1)};
  return spec;
}

LogicalResult LogSumExpOp::inferResultTypes(Types &types) {
  if (failed(verifyHasRows(*this, getInput())))
    return failure();
  auto type = cast<RankedTensorType>(getInput().getType());
  types.push_back(RankedTensorType::get(type.getShape().drop_back(), type.getElementType()));
  return success();
}

SmallVector<Value> LogSumExpOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  RowBuilder rows(builder, getLoc(), operands[0]);
  // Neither infinity is subtracted: the result of a row of -infinity, as the
  // masked classes of one rank may be, is -infinity, and +infinity stays.
  Value shift = rows.mapRows(rows.rowMax(operands[0]), [](OpBuilder &b, Location l, ValueRange x) -> Value {
    return unlessEqual(b, l, unlessEqual(b, l, x[0], -kInfinity, 0.0), kInfinity, 0.0);
  });
  return {
      rows.mapRows({shift, rows.rowSumExp(operands[0], shift)}, [](OpBuilder &b, Location l, ValueRange x) -> Value {
        return b.create<arith::AddFOp>(l, x[0], b.create<math::LogOp>(l, x[1]));
      })};
}

int64_t LogSumExpOp::getFlops() { return 4 * elementsOf(getInput()); }

// The slope is the softmax, which is exp(x - result).
SmallVector<Value> LogSumExpOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool>) {
  SmallVector<int64_t> column(undecided(getInput().getType()).getShape());
  column.back() = 1; // one column, which is broadcast over the row
  auto perElement = [&](Value perRow) -> Value {
    return b.create<ReshapeOp>(getLoc(), undecided(perRow.getType()).clone(column), perRow);
  };
  Value shifted = b.create<SubOp>(getLoc(), getInput(), perElement(getResult()));
  return {b.create<MulOp>(getLoc(), perElement(g[0]), b.create<ExpOp>(getLoc(), shifted))};
}

void SoftmaxGradOp::build(OpBuilder &builder, OperationState &state, Value gradient, Value softmax) {
  build(builder, state, undecided(softmax.getType()), gradient, softmax);
}

sbp::LoopSpec SoftmaxGradOp::getLoopSpec() {
  sbp::LoopSpec spec;
  sbp::TensorFactors dims = rowFactors(spec, getSoftmax().getType().getShape());
  spec.operands = {dims, dims};
  spec.results = {dims};
  spec.linear = {{{0}, {}}};
  return spec;
}

LogicalResult SoftmaxGradOp::inferResultTypes(Types &types) {
  types.push_back(undecided(getSoftmax().getType()));
  return success(succeeded(verifyOneShape(*this, getGradient(), getSoftmax())) &&
                 succeeded(verifyHasRows(*this, getSoftmax())));
}

SmallVector<Value> SoftmaxGradOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  RowBuilder rows(builder, getLoc(), operands[1]);
  Value dot =
      rows.reduce({{operands[0], operands[1]}, {}, {}}, 0.0, [](OpBuilder &b, Location l, ValueRange x) -> Value {
        return b.create<arith::AddFOp>(l, x[2], b.create<arith::MulFOp>(l, x[0], x[1]));
      });
  return {rows.map({{operands[0], operands[1]}, {dot}, {}}, [](OpBuilder &b, Location l, ValueRange x) -> Value {
    return b.create<arith::MulFOp>(l, x[1], b.create<arith::SubFOp>(l, x[0], x[2]));
  })};
}

int64_t SoftmaxGradOp::getFlops() { return 4 * elementsOf(getSoftmax()); }

//===----------------------------------------------------------------------===//
// Layer norm
//===----------------------------------------------------------------------===//

void LayerNormOp::build(OpBuilder &builder, OperationState &state, Value input, Value weight, Value bias,
                        double epsilon) {
  build(builder, state, undecided(input.getType()), input, weight, bias, builder.getF64FloatAttr(epsilon));
}

sbp::LoopSpec LayerNormOp::getLoopSpec() {
  sbp::LoopSpec spec;
  sbp::TensorFactors dims = rowFactors(spec, getInput().getType().getShape());
  spec.operands = {dims, {dims.back()}, {dims.back()}};
  spec.results = {dims};
  return spec;
}

LogicalResult LayerNormOp::inferResultTypes(Types &types) {
  types.push_back(undecided(getInput().getType()));
  return success(succeeded(verifyHasRows(*this, getInput())) &&
                 succeeded(verifyColumns(*this, getInput(), {getWeight(), getBias()})));
}

SmallVector<Value> LayerNormOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  RowBuilder rows(builder, getLoc(), operands[0]);
  Moments moments(rows, operands[0], getEpsilon().convertToDouble());
  RowBuilder::Inputs inputs{{operands[0]}, {moments.mean, moments.scale}, {operands[1], operands[2]}};
  return {rows.map(inputs, [](OpBuilder &b, Location l, ValueRange x) -> Value {
    Value weighted = b.create<arith::MulFOp>(l, normalized(b, l, x[0], x[1], x[2]), x[3]);
    return b.create<arith::AddFOp>(l, weighted, x[4]);
  })};
}

int64_t LayerNormOp::getFlops() { return 8 * elementsOf(getInput()); }

SmallVector<Value> LayerNormOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool> needed) {
  Location loc = getLoc();
  RankedTensorType type = undecided(getInput().getType());
  double epsilon = getEpsilon().convertToDouble();
  int64_t last = type.getRank() - 1;
  auto leading = llvm::to_vector(llvm::seq<int64_t>(0, last));
  SmallVector<Value> result(3);
  if (needed[0])
    result[0] = b.create<LayerNormGradOp>(loc, g[0], getInput(), getWeight(), epsilon);
  if (needed[1]) { // sum over rows of g (x - mean) scale
    auto moments = b.create<RowMomentsOp>(loc, getInput(), epsilon);
    auto perElement = [&](Value perRow) -> Value { return b.create<BroadcastOp>(loc, type, perRow, last); };
    Value centered = b.create<SubOp>(loc, getInput(), perElement(moments.getMean()));
    Value z = b.create<MulOp>(loc, centered, perElement(moments.getScale()));
    result[1] = b.create<ReduceSumOp>(loc, b.create<MulOp>(loc, g[0], z), leading);
  }
  if (needed[2])
    result[2] = b.create<ReduceSumOp>(loc, g[0], leading);
  return result;
}

void RowMomentsOp::build(OpBuilder &builder, OperationState &state, Value input, double epsilon) {
  auto type = cast<RankedTensorType>(input.getType());
  auto rows = RankedTensorType::get(type.getShape().drop_back(), type.getElementType());
  build(builder, state, rows, rows, input, builder.getF64FloatAttr(epsilon));
}

sbp::LoopSpec RowMomentsOp::getLoopSpec() {
  sbp::LoopSpec spec;
  sbp::TensorFactors dims = rowFactors(spec, getInput().getType().getShape()), rows(dims.begin(), dims.end() - 1);
  spec.operands = {dims};
  spec.results = {rows, rows};
  return spec;
}

LogicalResult RowMomentsOp::inferResultTypes(Types &types) {
  if (failed(verifyHasRows(*this, getInput())))
    return failure();
  RankedTensorType type = undecided(getInput().getType());
  types.assign(2, RankedTensorType::get(type.getShape().drop_back(), type.getElementType()));
  return success();
}

SmallVector<Value> RowMomentsOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  RowBuilder rows(builder, getLoc(), operands[0]);
  Moments moments(rows, operands[0], getEpsilon().convertToDouble());
  return {moments.mean, moments.scale};
}

int64_t RowMomentsOp::getFlops() { return 4 * elementsOf(getInput()); }

void LayerNormGradOp::build(OpBuilder &builder, OperationState &state, Value gradient, Value input, Value weight,
                            double epsilon) {
  build(builder, state, undecided(input.getType()), gradient, input, weight, builder.getF64FloatAttr(epsilon));
}

sbp::LoopSpec LayerNormGradOp::getLoopSpec() {
  sbp::LoopSpec spec;
  sbp::TensorFactors dims = rowFactors(spec, getInput().getType().getShape());
  spec.operands = {dims, dims, {dims.back()}};
  spec.results = {dims};
  spec.linear = {{{0}, {}}, {{2}, {}}};
  return spec;
}

LogicalResult LayerNormGradOp::inferResultTypes(Types &types) {
  types.push_back(undecided(getInput().getType()));
  return success(succeeded(verifyHasRows(*this, getInput())) &&
                 succeeded(verifyOneShape(*this, getGradient(), getInput())) &&
                 succeeded(verifyColumns(*this, getInput(), getWeight())));
}

SmallVector<Value> LayerNormGradOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  RowBuilder rows(builder, getLoc(), operands[1]);
  Moments moments(rows, operands[1], getEpsilon().convertToDouble());
  double perElement = 1.0 / static_cast<double>(std::max<int64_t>(1, rows.rowExtent()));
  auto mean = [&](Value sum) {
    return rows.mapRows(sum, [&](OpBuilder &b, Location l, ValueRange x) -> Value {
      return b.create<arith::MulFOp>(l, x[0], scalarConstant(b, l, x[0].getType(), perElement));
    });
  };
  Value meanH =
      mean(rows.reduce({{operands[0]}, {}, {operands[2]}}, 0.0, [](OpBuilder &b, Location l, ValueRange x) -> Value {
        return b.create<arith::AddFOp>(l, x[2], b.create<arith::MulFOp>(l, x[0], x[1]));
      }));
  RowBuilder::Inputs all{{operands[0], operands[1]}, {moments.mean, moments.scale}, {operands[2]}};
  Value meanHz = mean(rows.reduce(all, 0.0, [](OpBuilder &b, Location l, ValueRange x) -> Value {
    Value h = b.create<arith::MulFOp>(l, x[0], x[4]);
    return b.create<arith::AddFOp>(l, x[5], b.create<arith::MulFOp>(l, h, normalized(b, l, x[1], x[2], x[3])));
  }));
  llvm::append_range(all.perRow, ArrayRef<Value>{meanH, meanHz});
  return {rows.map(all, [](OpBuilder &b, Location l, ValueRange x) -> Value {
    Value h = b.create<arith::MulFOp>(l, x[0], x[6]), z = normalized(b, l, x[1], x[2], x[3]);
    Value centered = b.create<arith::SubFOp>(l, h, x[4]);
    Value slope = b.create<arith::SubFOp>(l, centered, b.create<arith::MulFOp>(l, z, x[5]));
    return b.create<arith::MulFOp>(l, slope, x[3]);
  })};
}

int64_t LayerNormGradOp::getFlops() { return 14 * elementsOf(getInput()); }
