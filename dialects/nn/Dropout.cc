// Dropout and random numbers. They depend on a key and a counter, and on no
// state.
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

/// Returns the loops of an op on elements at their places, with a key and
/// perhaps `from`.
template <typename OpT> sbp::LoopSpec placedLoops(OpT op) {
  sbp::LoopSpec spec;
  sbp::TensorFactors dims;
  for (int64_t extent : op.getInput().getType().getShape())
    dims.push_back({spec.addFactor(extent)});
  spec.operands = {dims, {}};
  if (op.getFrom())
    spec.operands.push_back({});
  spec.results = {dims};
  return spec;
}

template <typename OpT> LogicalResult verifyPlace(OpT op) {
  RankedTensorType type = undecided(op.getInput().getType()), key = undecided(op.getKey().getType());
  if (key.getRank() != 0 || !key.getElementType().isInteger(64))
    return op.emitOpError() << "has key " << key << "; it must be one i64, tensor<i64>";
  if (RankedTensorType from = op.getFrom() ? undecided(op.getFrom().getType()) : key;
      from.getRank() != 0 || !from.getElementType().isInteger(64))
    return op.emitOpError() << "counts from " << from << "; it must be one i64, tensor<i64>";
  ArrayRef<int64_t> shape = op.getGlobalShape().value_or(type.getShape());
  SmallVector<int64_t> zeros(type.getRank(), 0);
  ArrayRef<int64_t> offsets = op.getOffsets().value_or(zeros);
  bool fits = shape.size() == offsets.size() && static_cast<int64_t>(shape.size()) == type.getRank();
  for (int64_t dim = 0; fits && dim < type.getRank(); ++dim)
    fits = offsets[dim] >= 0 && offsets[dim] <= shape[dim] - type.getDimSize(dim);
  if (!fits)
    return op.emitOpError() << "has operand " << type << " at [" << offsets << "] of global shape [" << shape
                            << "]; the operand must lie within, and all must have as many dimensions";
  return success();
}

template <typename OpT> void setPlaceOf(OpT op, ArrayRef<int64_t> offsets, ArrayRef<int64_t> globalShape) {
  if (op.getGlobalShape()) { // the operand is already a part of another tensor
    SmallVector<int64_t> within(offsets);
    for (auto [dim, offset] : llvm::enumerate(within))
      offset += op.getOffsets() ? (*op.getOffsets())[dim] : 0;
    return op.setOffsets(within);
  }
  op.setOffsets(offsets);
  op.setGlobalShape(globalShape);
}

template <typename OpT> void setPartOf(OpT op, OpBuilder &builder, Value number, int64_t dim) {
  RankedTensorType type = op.getInput().getType();
  int64_t elements = type.getDimSize(dim);
  for (int64_t extent : op.getGlobalShape().value_or(type.getShape()).drop_front(dim + 1))
    elements *= extent;
  op.getFromMutable().assign(partBegin(builder, op.getLoc(), number, elements, op.getFrom()));
}

/// Emits the random word of the element at hand. `key` and `from`, which may be
/// null, are scalars.
template <typename OpT> Word randomWord(OpT op, OpBuilder &b, Location l, Value key, Value from) {
  RankedTensorType type = op.getInput().getType();
  // The index in the global tensor, in row-major order.
  Value index = b.create<arith::ConstantIndexOp>(l, 0);
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    int64_t extent = op.getGlobalShape() ? (*op.getGlobalShape())[dim] : type.getDimSize(dim);
    int64_t offset = op.getOffsets() ? (*op.getOffsets())[dim] : 0;
    Value here =
        b.create<arith::AddIOp>(l, b.create<linalg::IndexOp>(l, dim), b.create<arith::ConstantIndexOp>(l, offset));
    Value outer = b.create<arith::MulIOp>(l, index, b.create<arith::ConstantIndexOp>(l, extent));
    index = b.create<arith::AddIOp>(l, outer, here);
  }
  auto [keyLow, keyHigh] = halves(b, l, key);
  Value number = b.create<arith::IndexCastOp>(l, b.getI64Type(), index);
  if (from)
    number = b.create<arith::AddIOp>(l, number, from);
  auto [low, high] = halves(b, l, number);
  Word first = ((keyLow + keyLow.constant(0x9e3779b9U)).mixed() ^ keyHigh).mixed();
  Word second = (first + keyLow.constant(0x85ebca6bU)).mixed();
  return ((low ^ first).mixed() + second + high.mixed()).mixed();
}

/// Builds the generic of an op on elements, from the function that emits an
/// element of its operand, key and, if there is one, `from`.
template <typename OpT>
Value buildPlaced(OpT op, OpBuilder &builder, ValueRange operands,
                  function_ref<Value(OpBuilder &, Location, ValueRange)> body) {
  RankedTensorType type = undecided(op.getInput().getType());
  const int64_t rank = type.getRank();
  AffineMap identity = builder.getMultiDimIdentityMap(rank),
            scalar = AffineMap::get(rank, 0, ArrayRef<AffineExpr>(), builder.getContext());
  SmallVector<utils::IteratorType> parallel(rank, utils::IteratorType::parallel);
  SmallVector<AffineMap> maps = {identity, scalar};
  if (op.getFrom())
    maps.push_back(scalar);
  maps.push_back(identity);
  return buildGeneric(builder, op.getLoc(), type, operands, maps, parallel, std::nullopt, body);
}

} // namespace

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

void DropoutOp::build(OpBuilder &builder, OperationState &state, Value input, Value key, double rate) {
  build(builder, state, undecided(input.getType()), input, key, /*from=*/Value(), builder.getF64FloatAttr(rate),
        DenseI64ArrayAttr(), DenseI64ArrayAttr());
}

sbp::LoopSpec DropoutOp::getLoopSpec() {
  sbp::LoopSpec spec = placedLoops(*this);
  spec.linear = {{{0}, {}}};
  return spec;
}

LogicalResult DropoutOp::inferResultTypes(SmallVectorImpl<RankedTensorType> &types) {
  double rate = getRate().convertToDouble();
  if (!(rate >= 0 && rate < 1))
    return emitOpError() << "has rate " << rate << "; it must be a probability, at least 0 and below 1";
  types.push_back(undecided(getInput().getType()));
  return verifyPlace(*this);
}

void DropoutOp::setPlace(ArrayRef<int64_t> offsets, ArrayRef<int64_t> globalShape) {
  setPlaceOf(*this, offsets, globalShape);
}

void DropoutOp::setPart(OpBuilder &builder, Value number, int64_t dim) { setPartOf(*this, builder, number, dim); }

SmallVector<Value> DropoutOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  double rate = getRate().convertToDouble();
  return {buildPlaced(*this, builder, operands, [&](OpBuilder &b, Location l, ValueRange x) -> Value {
    Word random = randomWord(*this, b, l, x[1], getFrom() ? x[2] : Value());
    Value threshold = random.constant(static_cast<uint32_t>(rate * 0x1p32)).value;
    Value isKept = b.create<arith::CmpIOp>(l, arith::CmpIPredicate::uge, random.value, threshold);
    // A NaN that is dropped stays one, as in PyTorch: 0 in its place would hide that a step has gone wrong.
    Value factor = b.create<arith::SelectOp>(l, isKept, scalarConstant(b, l, x[0].getType(), 1.0 / (1.0 - rate)),
                                             scalarConstant(b, l, x[0].getType(), 0.0));
    return b.create<arith::MulFOp>(l, x[0], factor);
  })};
}

int64_t DropoutOp::getFlops() { return sbp::numElements(sbp::shapeOf(getInput().getType())); }

SmallVector<Value> DropoutOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool>) {
  SmallVector<Value> gradients(getNumOperands()); // keys have no gradient
  gradients.front() = b.create<DropoutOp>(getLoc(), undecided(getInput().getType()), g[0], getKey(), getFrom(),
                                          getRateAttr(), getOffsetsAttr(), getGlobalShapeAttr());
  return gradients;
}

//===----------------------------------------------------------------------===//
// Uniform random numbers
//===----------------------------------------------------------------------===//

void UniformOp::build(OpBuilder &builder, OperationState &state, Value input, Value key) {
  build(builder, state, undecided(input.getType()), input, key, /*from=*/Value(), DenseI64ArrayAttr(),
        DenseI64ArrayAttr());
}

sbp::LoopSpec UniformOp::getLoopSpec() { return placedLoops(*this); }

LogicalResult UniformOp::inferResultTypes(SmallVectorImpl<RankedTensorType> &types) {
  types.push_back(undecided(getInput().getType()));
  return verifyPlace(*this);
}

void UniformOp::setPlace(ArrayRef<int64_t> offsets, ArrayRef<int64_t> globalShape) {
  setPlaceOf(*this, offsets, globalShape);
}

void UniformOp::setPart(OpBuilder &builder, Value number, int64_t dim) { setPartOf(*this, builder, number, dim); }

// f32 has 24 digits, so that no number is rounded up to 1.
SmallVector<Value> UniformOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  return {buildPlaced(*this, builder, operands, [&](OpBuilder &b, Location l, ValueRange x) -> Value {
    Word random = randomWord(*this, b, l, x[1], getFrom() ? x[2] : Value());
    const auto scaled = [&](Type type, Word word, double unit) -> Value {
      Value number = b.create<arith::UIToFPOp>(l, type, word.value);
      return b.create<arith::MulFOp>(l, number, scalarConstant(b, l, type, unit));
    };
    if (x[0].getType().isF64())
      return scaled(b.getF64Type(), random, 0x1p-32);
    Value number = scaled(b.getF32Type(), random >> 8, 0x1p-24);
    return x[0].getType().isF32() ? number : b.create<arith::TruncFOp>(l, x[0].getType(), number).getResult();
  })};
}

int64_t UniformOp::getFlops() { return sbp::numElements(sbp::shapeOf(getInput().getType())); }
