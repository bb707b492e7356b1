// Takes the element of each row that an index names.
#include "dialects/nn/Parts.h"

using namespace mlir;
using namespace splitcast;
using namespace splitcast::nn;

void TakeOp::build(OpBuilder &builder, OperationState &state, Value input, Value ids, IntegerAttr ignored) {
  auto type = cast<RankedTensorType>(input.getType());
  ArrayRef<int64_t> rows = type.getRank() ? type.getShape().drop_back() : type.getShape();
  build(builder, state, RankedTensorType::get(rows, type.getElementType()), input, ids, ignored, IntegerAttr(),
        IntegerAttr());
}

// If a row is divided among ranks, one of them adds the element and the others
// zeros, so that the sum is not rounded.
sbp::LoopSpec TakeOp::getLoopSpec() {
  sbp::LoopSpec spec;
  sbp::TensorFactors rows;
  ArrayRef<int64_t> shape = getInput().getType().getShape();
  for (int64_t extent : shape.drop_back())
    rows.push_back({spec.addFactor(extent)});
  sbp::TensorFactors all = rows;
  all.push_back({spec.addFactor(shape.back(), sbp::FactorKind::Sum)});
  spec.operands = {all, rows};
  spec.results = {rows};
  spec.linear = {{{0}, {}}};
  return spec;
}

LogicalResult TakeOp::inferResultTypes(SmallVectorImpl<RankedTensorType> &types) {
  RankedTensorType type = undecided(getInput().getType()), ids = undecided(getIds().getType());
  if (type.getRank() == 0 || type.getShape().drop_back() != ids.getShape())
    return emitOpError() << "takes elements of " << type << " at " << ids
                         << "; the indices must have the operand's dimensions except the last";
  if (failed(verifyPart(*this, "elements of a row", type.getShape().back(), getFirst(), getPlaces())))
    return failure();
  types.push_back(RankedTensorType::get(ids.getShape(), type.getElementType()));
  return success();
}

Value TakeOp::getPlaced() { return getInput(); }
bool TakeOp::isPlacedAlong(int64_t dim) { return dim == getInput().getType().getRank() - 1; }
bool TakeOp::canBePart() { return false; }

void TakeOp::setPlace(ArrayRef<int64_t> offsets, ArrayRef<int64_t> shape) {
  setPiece(*this, static_cast<int64_t>(shape.size()) - 1, getInput().getType().getShape().back(), offsets, shape);
}

void TakeOp::setPart(OpBuilder &, Value, int64_t) { llvm_unreachable("canBePart"); }

SmallVector<Value> TakeOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  RankedTensorType type = undecided(getResult().getType());
  const int64_t rank = type.getRank();
  Value input = operands[0];
  AffineMap identity = builder.getMultiDimIdentityMap(rank);
  SmallVector<utils::IteratorType> parallel(rank, utils::IteratorType::parallel);
  return {buildGeneric(builder, getLoc(), type, operands[1], {identity, identity}, parallel, std::nullopt,
                       [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
                         SmallVector<Value> at;
                         for (int64_t dim = 0; dim < rank; ++dim)
                           at.push_back(b.create<linalg::IndexOp>(loc, dim));
                         at.push_back(b.create<arith::IndexCastOp>(loc, b.getIndexType(), args[0]));
                         if (getFirst() || getIgnored())
                           return elementOfPart(b, loc, input, at, rank, getFirst().value_or(0));
                         return b.create<tensor::ExtractOp>(loc, input, at);
                       })};
}

SmallVector<IndexOperand> TakeOp::getIndexOperands() {
  return {{1, static_cast<int64_t>(getPlaces().value_or(getInput().getType().getShape().back())), getIgnored()}};
}

int64_t TakeOp::getFlops() { return 0; }
