// Constants and ops that move elements: reshape, broadcast, slice, concat.
#include "dialects/nn/Nn.h"

#include <cmath>

using namespace mlir;
using namespace splitcast;
using namespace splitcast::nn;

namespace {

using Types = SmallVectorImpl<RankedTensorType>;
using Iterators = SmallVector<utils::IteratorType>;

Iterators parallelLoops(int64_t rank) { return Iterators(rank, utils::IteratorType::parallel); }

/// Adds one factor per dimension of `shape`. Dimension `whole` (-1: none) is
/// never split.
sbp::TensorFactors addLoops(sbp::LoopSpec &spec, ArrayRef<int64_t> shape, int64_t whole = -1) {
  sbp::TensorFactors dims;
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    bool isWhole = static_cast<int64_t>(dim) == whole;
    dims.push_back({spec.addFactor(extent, isWhole ? sbp::FactorKind::Whole : sbp::FactorKind::Parallel)});
  }
  return dims;
}

/// Returns linalg.index of every loop.
SmallVector<Value> loopIndices(OpBuilder &b, Location loc, int64_t rank) {
  SmallVector<Value> indices;
  for (int64_t dim = 0; dim < rank; ++dim)
    indices.push_back(b.create<linalg::IndexOp>(loc, dim));
  return indices;
}

Value addIndex(OpBuilder &b, Location loc, Value index, int64_t offset) {
  return b.create<arith::AddIOp>(loc, index, b.create<arith::ConstantIndexOp>(loc, offset));
}

} // namespace

//===----------------------------------------------------------------------===//
// Constant
//===----------------------------------------------------------------------===//

sbp::LoopSpec ConstantOp::getLoopSpec() {
  sbp::LoopSpec spec;
  spec.results = {addLoops(spec, getResult().getType().getShape())};
  return spec;
}

LogicalResult ConstantOp::inferResultTypes(Types &types) {
  double value = getValue().convertToDouble();
  Type element = getResult().getType().getElementType();
  // Doubles hold integers up to 2^53 exactly.
  double limit = element.isInteger(32) ? 0x1p31 : 0x1p53;
  if (isIndexElement(element) && !(value == std::trunc(value) && value >= -limit && value < limit))
    return emitOpError() << "has value " << value << "; a constant of " << element << " must be an integer from -2^"
                         << (element.isInteger(32) ? 31 : 53) << " to before 2^" << (element.isInteger(32) ? 31 : 53)
                         << ", all of which an f64 holds";
  types.push_back(undecided(getResult().getType()));
  return success();
}

SmallVector<Value> ConstantOp::lowerToLinalg(OpBuilder &builder, ValueRange) {
  RankedTensorType type = undecided(getResult().getType());
  return {buildGeneric(builder, getLoc(), type, {}, builder.getMultiDimIdentityMap(type.getRank()),
                       parallelLoops(type.getRank()), std::nullopt, [&](OpBuilder &b, Location loc, ValueRange) {
                         return scalarConstant(b, loc, type.getElementType(), getValue().convertToDouble());
                       })};
}

int64_t ConstantOp::getFlops() { return 0; }

//===----------------------------------------------------------------------===//
// Iota
//===----------------------------------------------------------------------===//

void IotaOp::build(OpBuilder &builder, OperationState &state, RankedTensorType type, int64_t dim) {
  build(builder, state, type, /*from=*/Value(), dim);
}

sbp::LoopSpec IotaOp::getLoopSpec() {
  sbp::LoopSpec spec;
  if (getFrom())
    spec.operands = {{}};
  spec.results = {addLoops(spec, getResult().getType().getShape())};
  return spec;
}

/// Returns the largest n such that the type holds all integers from 0 to n.
static int64_t largestInteger(Type element) {
  if (auto floating = dyn_cast<FloatType>(element))
    return int64_t{1} << floating.getFPMantissaWidth();
  return element.isInteger(32) ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int64_t>::max();
}

LogicalResult IotaOp::inferResultTypes(Types &types) {
  RankedTensorType type = undecided(getResult().getType());
  int64_t dim = getDim(), offset = getOffset(), most = largestInteger(type.getElementType());
  if (dim < 0 || dim >= type.getRank())
    return emitOpError() << "counts along dimension " << dim << " of " << type << "; it has " << type.getRank();
  if (RankedTensorType from = getFrom() ? undecided(getFrom().getType()) : RankedTensorType();
      from && (from.getRank() != 0 || !from.getElementType().isInteger(64)))
    return emitOpError() << "counts from " << from << "; it must be one i64, tensor<i64>";
  if (offset < 0)
    return emitOpError() << "begins at offset " << offset << "; it must not be negative";
  if (type.getDimSize(dim) > 0 && offset > most - (type.getDimSize(dim) - 1))
    return emitOpError() << "counts from " << offset << " over " << type.getDimSize(dim) << " numbers, and "
                         << type.getElementType() << " holds all integers up to " << most
                         << " only; count in a larger type, and cast";
  types.push_back(type);
  return success();
}

void IotaOp::setPlace(ArrayRef<int64_t> offsets, ArrayRef<int64_t>) { setOffset(getOffset() + offsets[getDim()]); }

void IotaOp::setPart(OpBuilder &builder, Value number, int64_t dim) {
  if (dim != static_cast<int64_t>(getDim()))
    return;
  getFromMutable().assign(partBegin(builder, getLoc(), number, getResult().getType().getDimSize(dim), getFrom()));
}

SmallVector<Value> IotaOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  RankedTensorType type = undecided(getResult().getType());
  int64_t rank = type.getRank(), dim = getDim(), offset = getOffset();
  auto body = [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
    Value index = addIndex(b, loc, b.create<linalg::IndexOp>(loc, dim), offset);
    Value number = b.create<arith::IndexCastOp>(loc, b.getI64Type(), index);
    if (getFrom())
      number = b.create<arith::AddIOp>(loc, number, x[0]);
    Type element = type.getElementType();
    if (element.isInteger(64))
      return number;
    if (element.isInteger(32))
      return b.create<arith::TruncIOp>(loc, element, number);
    if (element.getIntOrFloatBitWidth() >= 32)
      return b.create<arith::SIToFPOp>(loc, element, number);
    return b.create<arith::TruncFOp>(loc, element, b.create<arith::SIToFPOp>(loc, b.getF32Type(), number));
  };
  SmallVector<AffineMap> maps;
  if (getFrom())
    maps.push_back(AffineMap::get(rank, 0, ArrayRef<AffineExpr>(), builder.getContext()));
  maps.push_back(builder.getMultiDimIdentityMap(rank));
  return {buildGeneric(builder, getLoc(), type, operands, maps, parallelLoops(rank), std::nullopt, body)};
}

int64_t IotaOp::getFlops() { return 0; }

//===----------------------------------------------------------------------===//
// Transpose
//===----------------------------------------------------------------------===//

void TransposeOp::build(OpBuilder &builder, OperationState &state, Value input, ArrayRef<int64_t> permutation) {
  auto type = cast<RankedTensorType>(input.getType());
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(dim >= 0 && dim < type.getRank() ? type.getDimSize(dim) : 1); // the verifier refuses others
  build(builder, state, RankedTensorType::get(shape, type.getElementType()), input, permutation);
}

sbp::LoopSpec TransposeOp::getLoopSpec() {
  sbp::LoopSpec spec;
  sbp::TensorFactors input = addLoops(spec, getInput().getType().getShape()), result;
  for (int64_t dim : getPermutation())
    result.push_back(input[dim]);
  spec.operands = {input};
  spec.results = {result};
  spec.linear = {{{0}, {}}};
  return spec;
}

LogicalResult TransposeOp::inferResultTypes(Types &types) {
  RankedTensorType type = undecided(getInput().getType());
  SmallVector<int64_t> sorted(getPermutation()), shape;
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, type.getRank())))
    return emitOpError() << "orders the dimensions of " << type << " as [" << getPermutation()
                         << "]; each must be named once";
  for (int64_t dim : getPermutation())
    shape.push_back(type.getDimSize(dim));
  types.push_back(RankedTensorType::get(shape, type.getElementType()));
  return success();
}

SmallVector<Value> TransposeOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  RankedTensorType type = undecided(getResult().getType());
  SmallVector<AffineExpr> dims(type.getRank());
  for (auto [to, from] : llvm::enumerate(getPermutation()))
    dims[from] = builder.getAffineDimExpr(to);
  AffineMap input = AffineMap::get(type.getRank(), 0, dims, builder.getContext());
  return {buildGeneric(builder, getLoc(), type, operands, {input, builder.getMultiDimIdentityMap(type.getRank())},
                       parallelLoops(type.getRank()), std::nullopt,
                       [](OpBuilder &, Location, ValueRange args) { return args[0]; })};
}

int64_t TransposeOp::getFlops() { return 0; }

SmallVector<Value> TransposeOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool>) {
  SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [to, from] : llvm::enumerate(getPermutation()))
    inverse[from] = to;
  return {b.create<TransposeOp>(getLoc(), g[0], inverse)};
}

//===----------------------------------------------------------------------===//
// Reshape
//===----------------------------------------------------------------------===//

namespace {

/// Matches the dimensions of two shapes: walks along both and, where the
/// products of the extents are equal, pairs the dimensions that were passed.
/// One dimension that is paired with several is made of their loops, outermost
/// first. If several are paired with several, none of them can be split.
struct ReshapeFactors {
  sbp::LoopSpec spec;
  sbp::TensorFactors from, to;

  ReshapeFactors(ArrayRef<int64_t> fromShape, ArrayRef<int64_t> toShape) : from(fromShape.size()), to(toShape.size()) {
    size_t i = 0, j = 0;
    while (i < fromShape.size() || j < toShape.size()) {
      size_t fromBegin = i, toBegin = j;
      int64_t fromProduct = i < fromShape.size() ? fromShape[i++] : 1,
              toProduct = j < toShape.size() ? toShape[j++] : 1;
      while (fromProduct != toProduct) {
        bool takeFrom = (fromProduct < toProduct && i < fromShape.size()) || j == toShape.size();
        if (takeFrom && i == fromShape.size())
          break; // zero extents: nothing more to match
        takeFrom ? fromProduct *= fromShape[i++] : toProduct *= toShape[j++];
      }
      pair(fromShape, fromBegin, i, toShape, toBegin, j);
    }
  }

  void pair(ArrayRef<int64_t> fromShape, size_t fromBegin, size_t fromEnd, ArrayRef<int64_t> toShape, size_t toBegin,
            size_t toEnd) {
    bool many = fromEnd - fromBegin > 1 && toEnd - toBegin > 1;
    if (!many && fromEnd - fromBegin == 1) {
      for (size_t d = toBegin; d < toEnd; ++d)
        share(from[fromBegin], to[d], toShape[d]);
      return;
    }
    if (!many && toEnd - toBegin == 1) {
      for (size_t d = fromBegin; d < fromEnd; ++d)
        share(from[d], to[toBegin], fromShape[d]);
      return;
    }
    for (size_t d = fromBegin; d < fromEnd; ++d)
      from[d].push_back(spec.addFactor(fromShape[d], sbp::FactorKind::Whole));
    for (size_t d = toBegin; d < toEnd; ++d)
      to[d].push_back(spec.addFactor(toShape[d], sbp::FactorKind::Whole));
  }

  void share(std::vector<int> &a, std::vector<int> &b, int64_t extent) {
    int factor = spec.addFactor(extent);
    a.push_back(factor);
    b.push_back(factor);
  }
};

} // namespace

sbp::LoopSpec ReshapeOp::getLoopSpec() {
  ReshapeFactors factors(getInput().getType().getShape(), getResult().getType().getShape());
  factors.spec.operands = {factors.from};
  factors.spec.results = {factors.to};
  factors.spec.linear = {{{0}, {}}};
  return factors.spec;
}

LogicalResult ReshapeOp::inferResultTypes(Types &types) {
  RankedTensorType from = undecided(getInput().getType()), to = undecided(getResult().getType());
  if (from.getNumElements() != to.getNumElements() || from.getElementType() != to.getElementType())
    return emitOpError() << "turns " << from << " into " << to << "; both must have as many elements, of one type";
  types.push_back(to);
  return success();
}

SmallVector<Value> ReshapeOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  RankedTensorType type = undecided(getResult().getType());
  auto shapeType = RankedTensorType::get({type.getRank()}, builder.getIndexType());
  Value shape =
      builder.create<arith::ConstantOp>(getLoc(), shapeType, DenseIntElementsAttr::get(shapeType, type.getShape()));
  return {builder.create<tensor::ReshapeOp>(getLoc(), type, operands[0], shape)};
}

int64_t ReshapeOp::getFlops() { return 0; }

SmallVector<Value> ReshapeOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool>) {
  return {b.create<ReshapeOp>(getLoc(), undecided(getInput().getType()), g[0])};
}

//===----------------------------------------------------------------------===//
// Broadcast
//===----------------------------------------------------------------------===//

sbp::LoopSpec BroadcastOp::getLoopSpec() {
  sbp::LoopSpec spec;
  sbp::TensorFactors result = addLoops(spec, getResult().getType().getShape()), operand;
  for (auto [dim, factors] : llvm::enumerate(result))
    if (!llvm::is_contained(getDims(), static_cast<int64_t>(dim)))
      operand.push_back(factors);
  spec.operands = {operand};
  spec.results = {result};
  spec.linear = {{{0}, {}}};
  return spec;
}

LogicalResult BroadcastOp::inferResultTypes(Types &types) {
  RankedTensorType from = undecided(getInput().getType()), to = undecided(getResult().getType());
  int64_t last = -1;
  for (int64_t dim : getDims()) {
    if (dim <= last || dim >= to.getRank())
      return emitOpError() << "has new dimensions [" << getDims() << "] in " << to
                           << "; they must be its own, ascending";
    last = dim;
  }
  SmallVector<int64_t> kept;
  for (auto [dim, extent] : llvm::enumerate(to.getShape()))
    if (!llvm::is_contained(getDims(), static_cast<int64_t>(dim)))
      kept.push_back(extent);
  if (ArrayRef<int64_t>(kept) != from.getShape())
    return emitOpError() << "turns " << from << " into " << to << " with new dimensions [" << getDims()
                         << "]; without these the result must have the operand's shape";
  types.push_back(RankedTensorType::get(to.getShape(), from.getElementType()));
  return success();
}

SmallVector<Value> BroadcastOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  RankedTensorType type = undecided(getResult().getType());
  SmallVector<AffineExpr> kept;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (!llvm::is_contained(getDims(), dim))
      kept.push_back(builder.getAffineDimExpr(dim));
  AffineMap map = AffineMap::get(type.getRank(), 0, kept, builder.getContext());
  return {buildGeneric(builder, getLoc(), type, operands, {map, builder.getMultiDimIdentityMap(type.getRank())},
                       parallelLoops(type.getRank()), std::nullopt,
                       [](OpBuilder &, Location, ValueRange args) { return args[0]; })};
}

int64_t BroadcastOp::getFlops() { return 0; }

SmallVector<Value> BroadcastOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool>) {
  return {b.create<ReduceSumOp>(getLoc(), g[0], getDims())};
}

//===----------------------------------------------------------------------===//
// Slice
//===----------------------------------------------------------------------===//

sbp::LoopSpec SliceOp::getLoopSpec() {
  sbp::LoopSpec spec;
  int64_t dim = getDim();
  sbp::TensorFactors operand = addLoops(spec, getInput().getType().getShape(), dim), result = operand;
  result[dim] = {spec.addFactor(getResult().getType().getDimSize(dim), sbp::FactorKind::Whole)};
  spec.operands = {operand};
  spec.results = {result};
  spec.linear = {{{0}, {}}};
  return spec;
}

LogicalResult SliceOp::inferResultTypes(Types &types) {
  RankedTensorType from = undecided(getInput().getType()), to = undecided(getResult().getType());
  int64_t dim = getDim(), start = getStart();
  if (to.getRank() != from.getRank())
    return emitOpError() << "slices " << from << " to " << to << "; both must have equally many dimensions";
  if (dim < 0 || dim >= from.getRank())
    return emitOpError() << "slices dimension " << dim << " of " << from << "; it has " << from.getRank();
  SmallVector<int64_t> shape(from.getShape());
  shape[dim] = to.getDimSize(dim);
  if (start < 0 || start > from.getDimSize(dim) - shape[dim])
    return emitOpError() << "takes " << shape[dim] << " from " << start << " on, of " << from.getDimSize(dim)
                         << " along dimension " << dim << "; they must lie within";
  types.push_back(RankedTensorType::get(shape, from.getElementType()));
  return success();
}

SmallVector<Value> SliceOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  RankedTensorType type = undecided(getResult().getType());
  const int64_t rank = type.getRank(), dim = getDim(), start = getStart();
  const AffineMap own = builder.getMultiDimIdentityMap(rank);
  // linalg takes a dimension of a map for that of the operand, and no map where a loop is empty.
  if (start == 0 || type.getNumElements() == 0)
    return {buildGeneric(builder, getLoc(), type, {}, own, parallelLoops(rank), std::nullopt,
                         [&](OpBuilder &b, Location loc, ValueRange) -> Value {
                           SmallVector<Value> at = loopIndices(b, loc, rank);
                           at[dim] = addIndex(b, loc, at[dim], start);
                           return b.create<tensor::ExtractOp>(loc, operands[0], at);
                         })};
  SmallVector<AffineExpr> places;
  for (int64_t d = 0; d < rank; ++d)
    places.push_back(builder.getAffineDimExpr(d) + (d == dim ? start : 0));
  return {buildGeneric(builder, getLoc(), type, operands, {AffineMap::get(rank, 0, places, builder.getContext()), own},
                       parallelLoops(rank), std::nullopt,
                       [](OpBuilder &, Location, ValueRange args) { return args[0]; })};
}

int64_t SliceOp::getFlops() { return 0; }

SmallVector<Value> SliceOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool>) {
  RankedTensorType type = undecided(getInput().getType());
  int64_t dim = getDim(), start = getStart(), count = getResult().getType().getDimSize(dim);
  SmallVector<Value> parts;
  auto addZeros = [&](int64_t extent) {
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = extent;
    if (extent > 0)
      parts.push_back(splat(b, getLoc(), RankedTensorType::get(shape, type.getElementType()), 0.0));
  };
  addZeros(start);
  parts.push_back(g[0]);
  addZeros(type.getDimSize(dim) - start - count);
  return {b.create<ConcatOp>(getLoc(), type, parts, getDimAttr())};
}

//===----------------------------------------------------------------------===//
// Concat
//===----------------------------------------------------------------------===//

sbp::LoopSpec ConcatOp::getLoopSpec() {
  sbp::LoopSpec spec;
  int64_t dim = getDim();
  sbp::TensorFactors result = addLoops(spec, getResult().getType().getShape(), dim);
  sbp::LinearSet all;
  for (auto [index, input] : llvm::enumerate(getInputs())) {
    sbp::TensorFactors operand = result;
    operand[dim] = {spec.addFactor(sbp::shapeOf(input.getType())[dim], sbp::FactorKind::Whole)};
    spec.operands.push_back(operand);
    all.operands.push_back(index);
  }
  spec.results = {result};
  spec.linear = {all};
  return spec;
}

LogicalResult ConcatOp::inferResultTypes(Types &types) {
  if (getInputs().empty())
    return emitOpError() << "has no operand; give at least one";
  auto first = cast<RankedTensorType>(getInputs().front().getType());
  int64_t dim = getDim();
  if (dim < 0 || dim >= first.getRank())
    return emitOpError() << "joins dimension " << dim << " of " << undecided(first) << "; it has " << first.getRank();
  SmallVector<int64_t> shape(first.getShape());
  shape[dim] = 0;
  for (Value input : getInputs()) {
    auto type = cast<RankedTensorType>(input.getType());
    if (type.getRank() != first.getRank() || type.getElementType() != first.getElementType())
      return emitOpError() << "joins " << undecided(first) << " and " << undecided(type)
                           << "; ranks and types must agree";
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (d != dim && type.getDimSize(d) != first.getDimSize(d))
        return emitOpError() << "joins " << undecided(first) << " and " << undecided(type) << " along dimension " << dim
                             << "; the other extents must agree";
    shape[dim] += type.getDimSize(dim);
  }
  types.push_back(RankedTensorType::get(shape, first.getElementType()));
  return success();
}

SmallVector<Value> ConcatOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  RankedTensorType type = undecided(getResult().getType());
  int64_t rank = type.getRank(), dim = getDim();
  auto body = [&](OpBuilder &b, Location loc, ValueRange) -> Value {
    SmallVector<Value> at = loopIndices(b, loc, rank);
    Value position = at[dim], result;
    int64_t start = 0;
    for (Value operand : operands) {
      int64_t extent = cast<RankedTensorType>(operand.getType()).getDimSize(dim);
      if (extent == 0)
        continue;
      // Read every operand at a clamped place, and keep the element of the
      // operand that owns the place.
      Value relative =
          b.create<arith::MaxSIOp>(loc, addIndex(b, loc, position, -start), b.create<arith::ConstantIndexOp>(loc, 0));
      at[dim] = b.create<arith::MinSIOp>(loc, relative, b.create<arith::ConstantIndexOp>(loc, extent - 1));
      Value element = b.create<tensor::ExtractOp>(loc, operand, at);
      Value isHere = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, position,
                                             b.create<arith::ConstantIndexOp>(loc, start));
      result = result ? b.create<arith::SelectOp>(loc, isHere, element, result).getResult() : element;
      start += extent;
    }
    return result ? result : scalarConstant(b, loc, type.getElementType(), 0.0);
  };
  return {buildGeneric(builder, getLoc(), type, {}, builder.getMultiDimIdentityMap(rank), parallelLoops(rank),
                       std::nullopt, body)};
}

int64_t ConcatOp::getFlops() { return 0; }

SmallVector<Value> ConcatOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool> needed) {
  SmallVector<Value> result;
  int64_t start = 0;
  for (auto [index, input] : llvm::enumerate(getInputs())) {
    RankedTensorType type = undecided(input.getType());
    result.push_back(needed[index] ? b.create<SliceOp>(getLoc(), type, g[0], getDimAttr(), b.getI64IntegerAttr(start))
                                   : Value());
    start += type.getDimSize(getDim());
  }
  return result;
}
