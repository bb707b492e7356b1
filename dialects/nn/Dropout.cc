// Dropout. Its random numbers depend on a key and a counter, and on no state.
#include "dialects/nn/Nn.h"

using namespace mlir;
using namespace splitcast;
using namespace splitcast::nn;

namespace {

/// A value with arithmetic modulo 2^32.
struct Word {
  OpBuilder &builder;
  Location l;
  Value value;

  Word constant(uint32_t number) const {
    TypedAttr bits = builder.getI32IntegerAttr(static_cast<int32_t>(number));
    return {builder, l, builder.create<arith::ConstantOp>(l, bits)};
  }
  Word operator+(const Word &other) const { return make<arith::AddIOp>(other.value); }
  Word operator^(const Word &other) const { return make<arith::XOrIOp>(other.value); }
  Word operator*(uint32_t number) const { return make<arith::MulIOp>(constant(number).value); }
  Word operator>>(uint32_t bits) const { return make<arith::ShRUIOp>(constant(bits).value); }

  template <typename OpT> Word make(Value other) const { return {builder, l, builder.create<OpT>(l, value, other)}; }

  /// Returns a permutation of the 32-bit numbers in which each bit of the
  /// operand changes each bit of the result about half of the time. The
  /// constants are those of C. Wellons' "lowbias32", which were found by search
  /// (public domain).
  Word mixed() const {
    Word a = (*this ^ (*this >> 16)) * 0x7feb352dU;
    Word b = (a ^ (a >> 15)) * 0x846ca68bU;
    return b ^ (b >> 16);
  }
};

/// Returns the lower and the upper half of an i64.
std::pair<Word, Word> halves(OpBuilder &b, Location l, Value number) {
  Type word = b.getI32Type();
  Value bits = b.create<arith::ConstantOp>(l, b.getI64IntegerAttr(32));
  Value upper = b.create<arith::ShRUIOp>(l, number, bits);
  return {{b, l, b.create<arith::TruncIOp>(l, word, number)}, {b, l, b.create<arith::TruncIOp>(l, word, upper)}};
}

} // namespace

void DropoutOp::build(OpBuilder &builder, OperationState &state, Value input, Value key, double rate) {
  build(builder, state, undecided(input.getType()), input, key, /*from=*/Value(), builder.getF64FloatAttr(rate),
        DenseI64ArrayAttr(), DenseI64ArrayAttr());
}

sbp::LoopSpec DropoutOp::getLoopSpec() {
  sbp::LoopSpec spec;
  sbp::TensorFactors dims;
  for (int64_t extent : getInput().getType().getShape())
    dims.push_back({spec.addFactor(extent)});
  spec.operands = {dims, {}};
  if (getFrom())
    spec.operands.push_back({});
  spec.results = {dims};
  spec.linear = {{{0}, {}}};
  return spec;
}

LogicalResult DropoutOp::inferResultTypes(SmallVectorImpl<RankedTensorType> &types) {
  RankedTensorType type = undecided(getInput().getType()), key = undecided(getKey().getType());
  double rate = getRate().convertToDouble();
  if (!(rate >= 0 && rate < 1))
    return emitOpError() << "has rate " << rate << "; it must be a probability, at least 0 and below 1";
  if (key.getRank() != 0 || !key.getElementType().isInteger(64))
    return emitOpError() << "has key " << key << "; it must be one i64, tensor<i64>";
  if (RankedTensorType from = getFrom() ? undecided(getFrom().getType()) : key;
      from.getRank() != 0 || !from.getElementType().isInteger(64))
    return emitOpError() << "counts from " << from << "; it must be one i64, tensor<i64>";
  ArrayRef<int64_t> shape = getGlobalShape().value_or(type.getShape());
  SmallVector<int64_t> zeros(type.getRank(), 0);
  ArrayRef<int64_t> offsets = getOffsets().value_or(zeros);
  bool fits = shape.size() == offsets.size() && static_cast<int64_t>(shape.size()) == type.getRank();
  for (int64_t dim = 0; fits && dim < type.getRank(); ++dim)
    fits = offsets[dim] >= 0 && offsets[dim] <= shape[dim] - type.getDimSize(dim);
  if (!fits)
    return emitOpError() << "has operand " << type << " at [" << offsets << "] of global shape [" << shape
                         << "]; the operand must lie within, and all must have as many dimensions";
  types.push_back(type);
  return success();
}

void DropoutOp::setPlace(ArrayRef<int64_t> offsets, ArrayRef<int64_t> globalShape) {
  if (getGlobalShape()) { // the operand is already a part of another tensor
    SmallVector<int64_t> within(offsets);
    for (auto [dim, offset] : llvm::enumerate(within))
      offset += getOffsets() ? (*getOffsets())[dim] : 0;
    return setOffsets(within);
  }
  setOffsets(offsets);
  setGlobalShape(globalShape);
}

void DropoutOp::setPart(OpBuilder &builder, Value number, int64_t dim) {
  RankedTensorType type = getInput().getType();
  int64_t elements = type.getDimSize(dim);
  for (int64_t extent : getGlobalShape().value_or(type.getShape()).drop_front(dim + 1))
    elements *= extent;
  getFromMutable().assign(partBegin(builder, getLoc(), number, elements, getFrom()));
}

SmallVector<Value> DropoutOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  RankedTensorType type = undecided(getInput().getType());
  int64_t rank = type.getRank();
  AffineMap identity = builder.getMultiDimIdentityMap(rank),
            scalar = AffineMap::get(rank, 0, ArrayRef<AffineExpr>(), builder.getContext());
  double rate = getRate().convertToDouble();
  auto body = [&](OpBuilder &b, Location l, ValueRange x) -> Value {
    // The index in the global tensor, in row-major order.
    Value index = b.create<arith::ConstantIndexOp>(l, 0);
    for (int64_t dim = 0; dim < rank; ++dim) {
      int64_t extent = getGlobalShape() ? (*getGlobalShape())[dim] : type.getDimSize(dim);
      int64_t offset = getOffsets() ? (*getOffsets())[dim] : 0;
      Value here =
          b.create<arith::AddIOp>(l, b.create<linalg::IndexOp>(l, dim), b.create<arith::ConstantIndexOp>(l, offset));
      Value outer = b.create<arith::MulIOp>(l, index, b.create<arith::ConstantIndexOp>(l, extent));
      index = b.create<arith::AddIOp>(l, outer, here);
    }
    auto [keyLow, keyHigh] = halves(b, l, x[1]);
    Value number = b.create<arith::IndexCastOp>(l, b.getI64Type(), index);
    if (getFrom())
      number = b.create<arith::AddIOp>(l, number, x[2]);
    auto [low, high] = halves(b, l, number);
    Word first = ((keyLow + keyLow.constant(0x9e3779b9U)).mixed() ^ keyHigh).mixed();
    Word second = (first + keyLow.constant(0x85ebca6bU)).mixed();
    Word random = ((low ^ first).mixed() + second + high.mixed()).mixed();
    Value threshold = random.constant(static_cast<uint32_t>(rate * 0x1p32)).value;
    Value isKept = b.create<arith::CmpIOp>(l, arith::CmpIPredicate::uge, random.value, threshold);
    Value scaled = b.create<arith::MulFOp>(l, x[0], scalarConstant(b, l, x[0].getType(), 1.0 / (1.0 - rate)));
    return b.create<arith::SelectOp>(l, isKept, scaled, scalarConstant(b, l, x[0].getType(), 0.0));
  };
  SmallVector<utils::IteratorType> parallel(rank, utils::IteratorType::parallel);
  SmallVector<AffineMap> maps = {identity, scalar};
  if (getFrom())
    maps.push_back(scalar);
  maps.push_back(identity);
  return {buildGeneric(builder, getLoc(), type, operands, maps, parallel, std::nullopt, body)};
}

int64_t DropoutOp::getFlops() { return sbp::numElements(sbp::shapeOf(getInput().getType())); }

SmallVector<Value> DropoutOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool>) {
  SmallVector<Value> gradients(getNumOperands()); // keys have no gradient
  gradients.front() = b.create<DropoutOp>(getLoc(), undecided(getInput().getType()), g[0], getKey(), getFrom(),
                                          getRateAttr(), getOffsetsAttr(), getGlobalShapeAttr());
  return gradients;
}
