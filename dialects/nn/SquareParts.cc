// Ops whose sums are the same in every order of the addends: see
// nn.square_parts.
#include "dialects/nn/Nn.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace splitcast;
using namespace splitcast::nn;

namespace {

constexpr int kPartBits = 20; ///< each unit is smaller than the one before by 2^kPartBits
constexpr double kPartRatio = 0x1p20;

/// The units of the parts of squares of one element type.
struct SquareGrid {
  int64_t numParts;
  double besideFirst; ///< 2^52 units of part 0
  double most;        ///< squares from here on count as infinite: sums of larger ones would be rounded

  static SquareGrid of(Type element) {
    return element.isF64() ? SquareGrid{SquarePartsOp::kNumPartsOfDouble, 0x1p1022, 0x1p989}
                           : SquareGrid{SquarePartsOp::kNumParts, 0x1p289, 0x1p256};
  }
};

/// Returns 2^52 units of part `number`, an i64. An f64 that is at least as
/// large has no bits below the unit, so adding this rounds a number that is not
/// negative to a multiple of the unit. The binary digits of `number` select the
/// powers of two by which the unit is smaller than that of part 0.
Value besideUnit(OpBuilder &b, Location loc, Value number, const SquareGrid &grid) {
  Value beside = scalarConstant(b, loc, b.getF64Type(), grid.besideFirst);
  for (int64_t digit = 1; digit < grid.numParts; digit *= 2) {
    Value has = b.create<arith::AndIOp>(loc, number, scalarConstant(b, loc, number.getType(), digit));
    Value isSet = compareWithNumber(b, loc, arith::CmpIPredicate::ne, has, 0);
    // Half of the power at a time: the largest is no f64.
    Value less = scalarConstant(b, loc, b.getF64Type(), std::ldexp(1.0, static_cast<int>(-kPartBits / 2 * digit)));
    Value factor = b.create<arith::SelectOp>(loc, isSet, less, scalarConstant(b, loc, b.getF64Type(), 1.0));
    beside = b.create<arith::MulFOp>(loc, b.create<arith::MulFOp>(loc, beside, factor), factor);
  }
  return beside;
}

/// Rounds a number that is not negative to a multiple of the unit. A number of
/// 2^52 units or more already is one.
Value roundedBeside(OpBuilder &b, Location loc, Value number, Value beside) {
  Value rounded = b.create<arith::SubFOp>(loc, b.create<arith::AddFOp>(loc, number, beside), beside);
  Value isSmall = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OLT, number, beside);
  return b.create<arith::SelectOp>(loc, isSmall, rounded, number);
}

/// Returns part `part`, an i64, of the square of x.
Value partOfSquare(OpBuilder &b, Location loc, Value x, Value part) {
  Value wide = x.getType().isF64() ? x : b.create<arith::ExtFOp>(loc, b.getF64Type(), x).getResult();
  Value square = b.create<arith::MulFOp>(loc, wide, wide);
  const SquareGrid grid = SquareGrid::of(x.getType());
  if (x.getType().isF64()) { // f32 has no larger squares
    Value most = scalarConstant(b, loc, b.getF64Type(), grid.most);
    Value isLarge = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OGE, square, most);
    Value infinite = scalarConstant(b, loc, b.getF64Type(), std::numeric_limits<double>::infinity());
    square = b.create<arith::SelectOp>(loc, isLarge, infinite, square);
  }
  Value zero = scalarConstant(b, loc, b.getF64Type(), 0.0);
  Value beside = besideUnit(b, loc, part, grid);
  Value besideBefore = b.create<arith::MulFOp>(loc, beside, scalarConstant(b, loc, b.getF64Type(), kPartRatio));
  Value isFirst = compareWithNumber(b, loc, arith::CmpIPredicate::eq, part, 0);
  Value taken = b.create<arith::SelectOp>(loc, isFirst, zero, roundedBeside(b, loc, square, besideBefore));
  Value rest = b.create<arith::SubFOp>(loc, roundedBeside(b, loc, square, beside), taken);
  // An infinite square is in part 0 as a whole. The later parts are 0, since
  // inf - inf would be a NaN.
  Value isTaken = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, square, taken);
  return b.create<arith::SelectOp>(loc, isTaken, zero, rest);
}

} // namespace

//===----------------------------------------------------------------------===//
// nn.square_parts
//===----------------------------------------------------------------------===//

void SquarePartsOp::build(OpBuilder &builder, OperationState &state, Value input) {
  const SquareGrid grid = SquareGrid::of(getElementTypeOrSelf(input.getType()));
  build(builder, state, RankedTensorType::get({grid.numParts}, builder.getF64Type()), input);
}

sbp::LoopSpec SquarePartsOp::getLoopSpec() {
  sbp::LoopSpec spec;
  sbp::TensorFactors operand;
  for (int64_t extent : getInput().getType().getShape())
    operand.push_back({spec.addFactor(extent, sbp::FactorKind::Sum)});
  spec.operands = {operand};
  spec.results = {{{spec.addFactor(numParts(), sbp::FactorKind::Whole)}}};
  spec.exactSums = true;
  return spec;
}

LogicalResult SquarePartsOp::inferResultTypes(SmallVectorImpl<RankedTensorType> &types) {
  types.push_back(RankedTensorType::get({numParts()}, Float64Type::get(getContext())));
  return success();
}

SmallVector<Value> SquarePartsOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  const int64_t rank = cast<RankedTensorType>(operands[0].getType()).getRank();
  const AffineMap loops = builder.getMultiDimIdentityMap(rank + 1);
  const AffineMap element = loops.dropResult(rank), result = loops.getMinorSubMap(1);
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::reduction);
  iterators.push_back(utils::IteratorType::parallel);
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
    Value number = b.create<arith::IndexCastOp>(loc, b.getI64Type(), b.create<linalg::IndexOp>(loc, rank));
    Value part = partOfSquare(b, loc, args[0], number);
    return rank == 0 ? part : b.create<arith::AddFOp>(loc, args[1], part).getResult();
  };
  return {buildGeneric(builder, getLoc(), RankedTensorType::get({numParts()}, builder.getF64Type()), operands,
                       {element, result}, iterators, rank == 0 ? std::nullopt : std::optional(0.0), body)};
}

int64_t SquarePartsOp::getFlops() { return 8 * numParts() * sbp::numElements(sbp::shapeOf(getInput().getType())); }

//===----------------------------------------------------------------------===//
// nn.nonfinite
//===----------------------------------------------------------------------===//

void NonfiniteOp::build(OpBuilder &builder, OperationState &state, Value input) {
  build(builder, state, RankedTensorType::get({}, builder.getF64Type()), input);
}

sbp::LoopSpec NonfiniteOp::getLoopSpec() {
  sbp::LoopSpec spec;
  sbp::TensorFactors operand;
  for (int64_t extent : getInput().getType().getShape())
    operand.push_back({spec.addFactor(extent, sbp::FactorKind::Sum)});
  spec.operands = {operand};
  spec.results = {{}};
  spec.exactSums = true;
  return spec;
}

LogicalResult NonfiniteOp::inferResultTypes(SmallVectorImpl<RankedTensorType> &types) {
  types.push_back(RankedTensorType::get({}, Float64Type::get(getContext())));
  return success();
}

SmallVector<Value> NonfiniteOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  const int64_t rank = cast<RankedTensorType>(operands[0].getType()).getRank();
  const AffineMap element = builder.getMultiDimIdentityMap(rank);
  const SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::reduction);
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
    Value difference = b.create<arith::SubFOp>(loc, args[0], args[0]); // 0, or a NaN
    Value isFinite = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::ORD, difference, difference);
    Value one = scalarConstant(b, loc, b.getF64Type(), 1.0), zero = scalarConstant(b, loc, b.getF64Type(), 0.0);
    Value count = b.create<arith::SelectOp>(loc, isFinite, zero, one);
    return rank == 0 ? count : b.create<arith::AddFOp>(loc, args[1], count).getResult();
  };
  return {buildGeneric(builder, getLoc(), RankedTensorType::get({}, builder.getF64Type()), operands,
                       {element, AffineMap::get(rank, 0, builder.getContext())}, iterators,
                       rank == 0 ? std::nullopt : std::optional(0.0), body)};
}

int64_t NonfiniteOp::getFlops() { return sbp::numElements(sbp::shapeOf(getInput().getType())); }

//===----------------------------------------------------------------------===//
// nn.total_of_parts
//===----------------------------------------------------------------------===//

void TotalOfPartsOp::build(OpBuilder &builder, OperationState &state, Value parts) {
  build(builder, state, RankedTensorType::get({}, builder.getF64Type()), parts);
}

sbp::LoopSpec TotalOfPartsOp::getLoopSpec() {
  sbp::LoopSpec spec;
  spec.operands = {{{spec.addFactor(getParts().getType().getNumElements(), sbp::FactorKind::Whole)}}};
  spec.results = {{}};
  return spec;
}

LogicalResult TotalOfPartsOp::inferResultTypes(SmallVectorImpl<RankedTensorType> &types) {
  RankedTensorType type = undecided(getParts().getType());
  const int64_t few = SquarePartsOp::kNumParts, many = SquarePartsOp::kNumPartsOfDouble;
  if (type.getRank() != 1 || (type.getDimSize(0) != few && type.getDimSize(0) != many))
    return emitOpError() << "has an operand of type " << type << "; it takes the " << few << " or " << many
                         << " parts of nn.square_parts";
  types.push_back(RankedTensorType::get({}, type.getElementType()));
  return success();
}

SmallVector<Value> TotalOfPartsOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  const AffineMap parts = builder.getMultiDimIdentityMap(1);
  return {buildGeneric(builder, getLoc(), RankedTensorType::get({}, builder.getF64Type()), operands,
                       {parts, parts.dropResult(0)}, {utils::IteratorType::reduction}, 0.0,
                       [](OpBuilder &b, Location loc, ValueRange args) -> Value {
                         return b.create<arith::AddFOp>(loc, args[1], args[0]);
                       })};
}

int64_t TotalOfPartsOp::getFlops() { return getParts().getType().getNumElements(); }

//===----------------------------------------------------------------------===//
// nn.sum_parts
//===----------------------------------------------------------------------===//

void SumPartsOp::build(OpBuilder &builder, OperationState &state, ValueRange parts) {
  build(builder, state, undecided(parts.front().getType()), parts);
}

sbp::LoopSpec SumPartsOp::getLoopSpec() {
  sbp::LinearSet all;
  for (unsigned i = 0; i < getNumOperands(); ++i)
    all.operands.push_back(static_cast<int>(i));
  sbp::LoopSpec spec = elementwiseLoopSpec(*this, {all});
  spec.anyShape = false;
  spec.exactSums = true;
  return spec;
}

LogicalResult SumPartsOp::inferResultTypes(SmallVectorImpl<RankedTensorType> &types) {
  if (getParts().empty())
    return emitOpError() << "has no operand; give at least one";
  return inferElementwiseTypes(*this, types);
}

SmallVector<Value> SumPartsOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  return {lowerElementwise(*this, builder, operands, [](OpBuilder &b, Location loc, ValueRange elements) {
    Value sum = elements.front();
    for (Value element : elements.drop_front())
      sum = b.create<arith::AddFOp>(loc, sum, element);
    return sum;
  })};
}

int64_t SumPartsOp::getFlops() {
  return (getNumOperands() - 1) * sbp::numElements(sbp::shapeOf(getResult().getType()));
}
