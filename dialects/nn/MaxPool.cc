// Max pooling: the largest element of each window, its position, and the
// gradient.
#include "dialects/nn/Windows.h"

#include <limits>

using namespace mlir;
using namespace splitcast;
using namespace splitcast::nn;

namespace {

template <typename OpTy> Windows windowsOfPool(OpTy op) {
  return windowsOf(op.getKernel(), op.getStrides(), op.getPadding(), op.getDilation());
}

template <typename OpTy> LogicalResult verifyPool(OpTy op) {
  auto input = cast<RankedTensorType>(op.getInput().getType());
  if (input.getRank() < 2)
    return op.emitOpError() << "takes " << undecided(input)
                            << "; it must have two dimensions or more, the last two for the windows";
  return verifyWindows(op, input.getShape(), op.getKernel(), op.getStrides(), op.getPadding(), op.getDilation());
}

/// Returns the type of the result. Requires verifyPool.
template <typename OpTy> RankedTensorType resultType(OpTy op) {
  RankedTensorType type = undecided(op.getInput().getType());
  SmallVector<int64_t> shape(type.getShape());
  for (auto [extent, along] : llvm::zip(MutableArrayRef(shape).take_back(2), windowsOfPool(op)))
    extent = along.windows(extent);
  return type.clone(shape);
}

/// The factors of a pool: all dimensions except the last two are parallel
/// loops.
struct Factors {
  sbp::LoopSpec spec;
  sbp::TensorFactors input, result;

  Factors(ArrayRef<int64_t> inputShape, ArrayRef<int64_t> resultShape) {
    for (int64_t extent : inputShape.drop_back(2))
      input.push_back({spec.addFactor(extent)});
    result = input;
    for (auto [dims, shape] : {std::pair(&input, inputShape), {&result, resultShape}})
      for (int64_t extent : shape.take_back(2))
        dims->push_back({spec.addFactor(extent, sbp::FactorKind::Whole)});
  }
};

/// Builds pools as linalg over the dimensions of a result and the taps of a
/// window.
class Pools {
public:
  Pools(OpBuilder &builder, Location loc, const Windows &along, RankedTensorType type)
      : builder(builder), loc(loc), along(along), rank(type.getRank()), inner(rank - 2), type(type) {}

  Value largest(Value input, RankedTensorType result) {
    Value least = constant(-std::numeric_limits<double>::infinity());
    return overTaps(result, -std::numeric_limits<double>::infinity(), [&](Value most, ArrayRef<Value> at) -> Value {
      return builder.create<arith::MaximumFOp>(loc, most, covered(input, at, least));
    });
  }

  /// Returns, per window, the number of the first tap whose element is the
  /// largest one, or that of the last one with a NaN; the number of taps if
  /// there is neither.
  Value positionOf(Value input, Value largest) {
    auto result = cast<RankedTensorType>(largest.getType()).clone(builder.getI64Type());
    const int64_t taps = along[0].kernel * along[1].kernel;
    Value none = builder.create<arith::ConstantIntOp>(loc, taps, 64);
    Value nowhere = constant(std::numeric_limits<double>::quiet_NaN());
    // Of the numbers below 0 that stand for taps with a NaN, the least is that of the last of them.
    Value codes = overTaps(result, static_cast<double>(taps), [&](Value first, ArrayRef<Value> at) -> Value {
      Value most = builder.create<tensor::ExtractOp>(loc, largest, at.take_front(rank));
      Value isMost = builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, covered(input, at, nowhere), most);
      Value number = builder.create<arith::SelectOp>(loc, isMost, numberOf(at), none);
      Value element = covered(input, at, constant(0.0));
      Value isNan = builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, element, element);
      number = builder.create<arith::SelectOp>(loc, isNan, complement(builder, numberOf(at)), number);
      return builder.create<arith::MinSIOp>(loc, first, number);
    });
    const AffineMap all = builder.getMultiDimIdentityMap(rank);
    const SmallVector<utils::IteratorType> parallel(rank, utils::IteratorType::parallel);
    return buildGeneric(builder, loc, result, codes, {all, all}, parallel, std::nullopt,
                        [&](OpBuilder &b, Location, ValueRange args) -> Value {
                          Value isOfNan = compareWithNumber(b, loc, arith::CmpIPredicate::slt, args[0], 0);
                          return b.create<arith::SelectOp>(loc, isOfNan, complement(b, args[0]), args[0]);
                        });
  }

  Value gradient(Value ofResult, Value first) {
    const auto positions = cast<RankedTensorType>(first.getType());
    ArrayRef<int64_t> windows = positions.getShape().take_back(2);
    Value zero = constant(0.0), none = scalarConstant(builder, loc, positions.getElementType(), -1);
    return overTaps(type, 0.0, [&](Value sum, ArrayRef<Value> at) -> Value {
      std::array<Place, 2> place;
      for (unsigned i : {0, 1})
        place[i] = covering(builder, loc, along[i], at[inner + i], at[rank + i], windows[i]);
      SmallVector<Value> before(at.take_front(inner));
      Value position = elementAt(builder, loc, first, before, place, none);
      if (!position.getType().isInteger(64))
        position = builder.create<arith::ExtSIOp>(loc, builder.getI64Type(), position);
      Value isFirst = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, position, numberOf(at));
      Value addend = elementAt(builder, loc, ofResult, before, place, zero);
      return builder.create<arith::AddFOp>(loc, sum, builder.create<arith::SelectOp>(loc, isFirst, addend, zero));
    });
  }

private:
  using Combine = llvm::function_ref<Value(Value, ArrayRef<Value>)>;

  Value overTaps(RankedTensorType result, double init, Combine combine) {
    // linalg takes the extents of its loops from operands. For the taps this is
    // a tensor whose elements are not used.
    Value taps =
        builder.create<tensor::EmptyOp>(loc, ArrayRef{along[0].kernel, along[1].kernel}, type.getElementType());
    taps = builder.create<linalg::FillOp>(loc, constant(0.0), taps).getResult(0);
    const unsigned loops = rank + 2;
    AffineMap all = builder.getMultiDimIdentityMap(loops);
    SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
    iterators.append(2, utils::IteratorType::reduction);
    AffineMap ofTaps = AffineMap::get(loops, 0, all.getResults().take_back(2), builder.getContext());
    AffineMap ofResult = AffineMap::get(loops, 0, all.getResults().take_front(rank), builder.getContext());
    return buildGeneric(builder, loc, result, taps, {ofTaps, ofResult}, iterators, init,
                        [&](OpBuilder &b, Location, ValueRange args) {
                          OpBuilder::InsertionGuard guard(builder);
                          builder.setInsertionPoint(b.getInsertionBlock(), b.getInsertionPoint());
                          SmallVector<Value> at;
                          for (unsigned loop = 0; loop < loops; ++loop)
                            at.push_back(builder.create<linalg::IndexOp>(loc, loop));
                          return combine(args[1], at);
                        });
  }

  Value covered(Value input, ArrayRef<Value> at, Value otherwise) {
    auto shape = cast<RankedTensorType>(input.getType()).getShape().take_back(2);
    std::array<Place, 2> place;
    for (unsigned i : {0, 1})
      place[i] = coveredBy(builder, loc, along[i], at[inner + i], at[rank + i], shape[i]);
    return elementAt(builder, loc, input, SmallVector<Value>(at.take_front(inner)), place, otherwise);
  }

  Value numberOf(ArrayRef<Value> at) {
    Value columns = builder.create<arith::ConstantIndexOp>(loc, along[1].kernel);
    Value number =
        builder.create<arith::AddIOp>(loc, builder.create<arith::MulIOp>(loc, at[rank], columns), at[rank + 1]);
    return builder.create<arith::IndexCastOp>(loc, builder.getI64Type(), number);
  }

  /// -1 - number
  Value complement(OpBuilder &b, Value number) {
    return b.create<arith::XOrIOp>(loc, number, b.create<arith::ConstantIntOp>(loc, -1, 64));
  }

  Value constant(double value) { return scalarConstant(builder, loc, type.getElementType(), value); }

  OpBuilder &builder;
  const Location loc;
  const Windows along;
  const unsigned rank, inner;  ///< the rank of the tensors; the first of the last two dimensions
  const RankedTensorType type; ///< of the input
};

int64_t comparisons(RankedTensorType windows, ArrayRef<int64_t> kernel) {
  const double all =
      static_cast<double>(sbp::numElements(sbp::shapeOf(windows))) * static_cast<double>(kernel[0] * kernel[1]);
  return static_cast<int64_t>(std::min(all, 0x1p62));
}

} // namespace

sbp::LoopSpec MaxPoolOp::getLoopSpec() {
  Factors factors(getInput().getType().getShape(), getResult().getType().getShape());
  factors.spec.operands = {factors.input};
  factors.spec.results = {factors.result};
  return factors.spec;
}

LogicalResult MaxPoolOp::inferResultTypes(SmallVectorImpl<RankedTensorType> &types) {
  if (failed(verifyPool(*this)))
    return failure();
  types.push_back(resultType(*this));
  return success();
}

SmallVector<Value> MaxPoolOp::lowerToLinalg(OpBuilder &builder, ValueRange x) {
  return {Pools(builder, getLoc(), windowsOfPool(*this), undecided(getInput().getType()))
              .largest(x[0], undecided(getResult().getType()))};
}

int64_t MaxPoolOp::getFlops() { return comparisons(resultType(*this), getKernel()); }

SmallVector<Value> MaxPoolOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool>) {
  Value positions =
      b.create<MaxPoolPositionsOp>(getLoc(), undecided(getResult().getType()).clone(b.getI64Type()), getInput(),
                                   getResult(), getKernel(), getStrides(), getPadding(), getDilation());
  const RankedTensorType input = undecided(getInput().getType());
  return {b.create<MaxPoolGradOp>(getLoc(), input, g[0], positions, input.getShape().take_back(2), getKernel(),
                                  getStrides(), getPadding(), getDilation())};
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

sbp::LoopSpec MaxPoolPositionsOp::getLoopSpec() {
  Factors factors(getInput().getType().getShape(), getLargest().getType().getShape());
  factors.spec.operands = {factors.input, factors.result};
  factors.spec.results = {factors.result};
  return factors.spec;
}

LogicalResult MaxPoolPositionsOp::inferResultTypes(SmallVectorImpl<RankedTensorType> &types) {
  if (failed(verifyPool(*this)))
    return failure();
  RankedTensorType expected = resultType(*this);
  if (const RankedTensorType found = undecided(getLargest().getType()); found != expected)
    return emitOpError() << "takes " << found << ", but the windows of " << undecided(getInput().getType()) << " give "
                         << expected << "; 'largest' must have this type";
  types.push_back(expected.clone(IntegerType::get(getContext(), 64)));
  return success();
}

SmallVector<Value> MaxPoolPositionsOp::lowerToLinalg(OpBuilder &builder, ValueRange x) {
  return {Pools(builder, getLoc(), windowsOfPool(*this), undecided(getInput().getType())).positionOf(x[0], x[1])};
}

int64_t MaxPoolPositionsOp::getFlops() { return comparisons(resultType(*this), getKernel()); }

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

/// Returns the type of the pool's input. Requires two extents, and a gradient
/// of two dimensions or more.
static RankedTensorType inputType(MaxPoolGradOp op) {
  RankedTensorType type = undecided(op.getGradient().getType());
  SmallVector<int64_t> shape(type.getShape().drop_back(2));
  llvm::append_range(shape, op.getExtents());
  return type.clone(shape);
}

sbp::LoopSpec MaxPoolGradOp::getLoopSpec() {
  Factors factors(inputType(*this).getShape(), getGradient().getType().getShape());
  factors.spec.operands = {factors.result, factors.result};
  factors.spec.results = {factors.input};
  factors.spec.linear = {{{0}, {}}};
  return factors.spec;
}

LogicalResult MaxPoolGradOp::inferResultTypes(SmallVectorImpl<RankedTensorType> &types) {
  const RankedTensorType gradient = undecided(getGradient().getType()), positions = undecided(getPositions().getType());
  if (gradient.getRank() < 2)
    return emitOpError() << "takes " << gradient
                         << "; it must have two dimensions or more, the last two for the windows";
  if (positions.getShape() != gradient.getShape())
    return emitOpError() << "takes " << positions << " as positions of " << gradient
                         << "; their shapes must be the same";
  if (getExtents().size() != 2 || llvm::any_of(getExtents(), [](int64_t extent) { return extent < 0; }))
    return emitOpError() << "has extents [" << getExtents() << "]; give two numbers from 0 to " << exec::Window::kMost;
  const RankedTensorType input = inputType(*this);
  if (failed(verifyWindows(*this, input.getShape(), getKernel(), getStrides(), getPadding(), getDilation())))
    return failure();
  for (auto [found, extent, along] : llvm::zip(gradient.getShape().take_back(2), getExtents(), windowsOfPool(*this)))
    if (found != along.windows(extent))
      return emitOpError() << "takes " << gradient << ", but " << extent << " elements have " << along.windows(extent)
                           << " windows, not " << found << "; it must be the gradient of nn.max_pool's result";
  types.push_back(input);
  return success();
}

SmallVector<Value> MaxPoolGradOp::lowerToLinalg(OpBuilder &builder, ValueRange x) {
  return {Pools(builder, getLoc(), windowsOfPool(*this), inputType(*this)).gradient(x[0], x[1])};
}

int64_t MaxPoolGradOp::getFlops() { return comparisons(undecided(getGradient().getType()), getKernel()); }
