// Convolutions and the gradients of their input and weight. Each of the three
// ops sums products of two of the tensors into the third.
#include "dialects/nn/Windows.h"

using namespace mlir;
using namespace splitcast;
using namespace splitcast::nn;

namespace {

/// Which tensor an op computes: the output, or the gradient of the input or of
/// the weight.
enum class Kind { Forward, Data, Weight };

/// The tensors of a convolution, whichever of them the op computes.
struct Convolution {
  RankedTensorType input, weight, output;
  ArrayRef<int64_t> strides, padding, dilation;

  explicit Convolution(ConvolutionOp op) : Convolution(op, op.getInput(), op.getWeight(), op.getResult()) {}
  explicit Convolution(ConvolutionDataGradOp op) : Convolution(op, op.getResult(), op.getWeight(), op.getGradient()) {}
  explicit Convolution(ConvolutionWeightGradOp op) : Convolution(op, op.getInput(), op.getResult(), op.getGradient()) {}

  int64_t channels() const {
    return weight.getDimSize(1);
  } ///< of a group; like all functions below, it requires verify()
  int64_t groups() const { return channels() == 0 ? 1 : input.getDimSize(1) / channels(); }
  int64_t outputs() const { return groups() == 0 ? 0 : weight.getDimSize(0) / groups(); } ///< of a group
  Windows windows() const { return windowsOf(weight.getShape().take_back(2), strides, padding, dilation); }

  RankedTensorType outputType() const {
    const Windows along = windows();
    return RankedTensorType::get({input.getDimSize(0), weight.getDimSize(0), along[0].windows(input.getDimSize(2)),
                                  along[1].windows(input.getDimSize(3))},
                                 input.getElementType());
  }

  LogicalResult verify(Operation *op) const {
    if (input.getRank() != 4 || weight.getRank() != 4 || input.getElementType() != weight.getElementType())
      return op->emitOpError()
             << "takes input " << input << " and weight " << weight
             << "; the input must have the dimensions samples, channels, height and width, the weight "
                "outputs, channels, rows and columns, and both one element type";
    if (failed(verifyWindows(op, input.getShape(), weight.getShape().take_back(2), strides, padding, dilation)))
      return failure();
    const bool hasWholeGroups = channels() == 0 ? input.getDimSize(1) == 0 : input.getDimSize(1) % channels() == 0;
    if (hasWholeGroups && (groups() == 0 ? weight.getDimSize(0) == 0 : weight.getDimSize(0) % groups() == 0))
      return success();
    return op->emitOpError() << "takes input " << input << " and weight " << weight
                             << "; the weight's channels must divide the input's into groups, and the number of groups "
                                "must divide the outputs";
  }

  LogicalResult verifyOutput(Operation *op) const {
    if (output == outputType())
      return success();
    return op->emitOpError() << "takes gradient " << output << ", but the convolution of " << input << " and " << weight
                             << " gives " << outputType() << "; change the types";
  }

  /// Returns the number of multiplications and additions. It is the same for
  /// the output and for either gradient.
  int64_t flops() const {
    const double taps =
        static_cast<double>(channels()) * static_cast<double>(weight.getDimSize(2) * weight.getDimSize(3));
    const double all = 2.0 * taps * static_cast<double>(outputType().getNumElements());
    return static_cast<int64_t>(std::min(all, 0x1p62));
  }

  std::optional<LibraryCall> call(Kind kind) const {
    const Type type = input.getElementType();
    for (RankedTensorType tensor : {input, weight, output})
      for (int64_t extent : tensor.getShape())
        if (extent < 1 || extent > exec::Window::kMost)
          return std::nullopt;
    if (type.isF64() || !isCountable()) // the library has no such convolution
      return std::nullopt;
    auto array = [&](ArrayRef<int64_t> numbers) { return DenseI64ArrayAttr::get(type.getContext(), numbers); };
    return LibraryCall{exec::ConvolutionAttr::get(type.getContext(), callOf(kind), array(input.getShape()),
                                                  array(weight.getShape()), array(output.getShape()), array(strides),
                                                  array(padding), array(dilation), type, std::nullopt)};
  }

private:
  /// Whether oneDNN, which counts with 32 bits, can count the strides and the
  /// bytes from one row of a window to another, in blocks of 16 channels.
  bool isCountable() const {
    constexpr double kMostElements = 0x1p31 / (16 * 4);
    constexpr int64_t kMostStride = 1 << 15;
    double elements = 1;
    for (auto [along, extent] : llvm::zip(windows(), input.getShape().take_back(2))) {
      if (along.stride > kMostStride)
        return false;
      elements *= static_cast<double>(extent + 2 * along.padding + along.span());
    }
    return elements < kMostElements;
  }

  static StringRef callOf(Kind kind) {
    switch (kind) {
    case Kind::Forward:
      return exec::ConvolutionAttr::kOutput;
    case Kind::Data:
      return exec::ConvolutionAttr::kInput;
    case Kind::Weight:
      return exec::ConvolutionAttr::kWeight;
    }
    llvm_unreachable("a kind");
  }

  template <typename OpTy>
  Convolution(OpTy op, Value input, Value weight, Value output)
      : input(undecided(input.getType())), weight(undecided(weight.getType())), output(undecided(output.getType())),
        strides(op.getStrides()), padding(op.getPadding()), dilation(op.getDilation()) {}
};

/// The loops that the tensors run over. An output is a sum over channels and
/// taps, a gradient of the input one over outputs and taps, and a gradient of
/// the weight one over samples and windows.
struct Factors {
  sbp::LoopSpec spec;
  sbp::TensorFactors input, weight, output;

  Factors(const Convolution &of, Kind kind) {
    auto kindOf = [&](bool isSummed) { return isSummed ? sbp::FactorKind::Sum : sbp::FactorKind::Parallel; };
    auto whole = [&](RankedTensorType type, unsigned dim) {
      return std::vector<int>{spec.addFactor(type.getDimSize(dim), sbp::FactorKind::Whole)};
    };
    int sample = spec.addFactor(of.input.getDimSize(0), kindOf(kind == Kind::Weight));
    std::vector<int> ofInput, ofWeight;
    if (of.groups() != 1)
      ofInput = ofWeight = {spec.addFactor(of.groups())};
    ofWeight.push_back(spec.addFactor(of.outputs(), kindOf(kind == Kind::Data)));
    int channel = spec.addFactor(of.channels(), kindOf(kind == Kind::Forward));
    ofInput.push_back(channel);
    input = {{sample}, ofInput, whole(of.input, 2), whole(of.input, 3)};
    weight = {ofWeight, {channel}, whole(of.weight, 2), whole(of.weight, 3)};
    output = {{sample}, ofWeight, whole(of.output, 2), whole(of.output, 3)};
    spec.linear = {{{0}, {}}, {{1}, {}}};
  }

  sbp::LoopSpec with(const sbp::TensorFactors &first, const sbp::TensorFactors &second,
                     const sbp::TensorFactors &result) {
    spec.operands = {first, second};
    spec.results = {result};
    return spec;
  }
};

/// Builds the three sums as linalg, with loops over the result and then over
/// the three dimensions that are summed.
class Sums {
public:
  Sums(OpBuilder &builder, Location loc, const Convolution &of)
      : builder(builder), loc(loc), of(of), along(of.windows()) {}

  Value output(Value input, Value weight) {
    return sum(of.output, {of.channels(), along[0].kernel, along[1].kernel}, [&](Loops at) {
      Value group = quotient(at[1], of.outputs()), channel = add(times(group, of.channels()), at[4]);
      Value covered =
          elementAt(builder, loc, input, {at[0], channel}, coveredPlace(at[2], at[3], at[5], at[6]), zero());
      return times(covered, element(weight, {at[1], at[4], at[5], at[6]}));
    });
  }

  Value input(Value gradient, Value weight) {
    return sum(of.input, {of.outputs(), along[0].kernel, along[1].kernel}, [&](Loops at) {
      Value group = quotient(at[1], of.channels()), output = add(times(group, of.outputs()), at[4]);
      Value channel = builder.create<arith::SubIOp>(loc, at[1], times(group, of.channels()));
      std::array<Place, 2> place;
      for (unsigned i : {0, 1})
        place[i] = covering(builder, loc, along[i], at[2 + i], at[5 + i], of.output.getDimSize(2 + i));
      // An element that no tap reaches has no addend, even if the weight is
      // infinite or a NaN.
      Value product = times(elementAt(builder, loc, gradient, {at[0], output}, place, zero()),
                            element(weight, {output, channel, at[5], at[6]}));
      Value isThere = builder.create<arith::AndIOp>(loc, place[0].isThere, place[1].isThere);
      return builder.create<arith::SelectOp>(loc, isThere, product, zero());
    });
  }

  Value weight(Value gradient, Value input) {
    ArrayRef<int64_t> shape = of.output.getShape();
    return sum(of.weight, {shape[0], shape[2], shape[3]}, [&](Loops at) {
      Value group = quotient(at[0], of.outputs()), channel = add(times(group, of.channels()), at[1]);
      Value covered =
          elementAt(builder, loc, input, {at[4], channel}, coveredPlace(at[5], at[6], at[2], at[3]), zero());
      return times(element(gradient, {at[4], at[0], at[5], at[6]}), covered);
    });
  }

private:
  using Loops = ArrayRef<Value>;

  Value sum(RankedTensorType type, ArrayRef<int64_t> summed, llvm::function_ref<Value(Loops)> addend) {
    // linalg takes the extents of its loops from operands. For the summed loops
    // this is a tensor whose elements are not used.
    Value extents = builder.create<tensor::EmptyOp>(loc, summed, type.getElementType());
    extents = builder.create<linalg::FillOp>(loc, zero(), extents).getResult(0);
    SmallVector<AffineExpr> dims;
    for (unsigned loop = 0; loop < 7; ++loop)
      dims.push_back(builder.getAffineDimExpr(loop));
    auto map = [&](ArrayRef<AffineExpr> of) { return AffineMap::get(7, 0, of, builder.getContext()); };
    SmallVector<utils::IteratorType> iterators(4, utils::IteratorType::parallel);
    iterators.append(3, utils::IteratorType::reduction);
    return buildGeneric(builder, loc, type, extents,
                        {map(ArrayRef(dims).drop_front(4)), map(ArrayRef(dims).take_front(4))}, iterators, 0.0,
                        [&](OpBuilder &b, Location, ValueRange args) -> Value {
                          OpBuilder::InsertionGuard guard(builder);
                          builder.setInsertionPoint(b.getInsertionBlock(), b.getInsertionPoint());
                          SmallVector<Value> at;
                          for (unsigned loop = 0; loop < 7; ++loop)
                            at.push_back(builder.create<linalg::IndexOp>(loc, loop));
                          return builder.create<arith::AddFOp>(loc, args[1], addend(at));
                        });
  }

  std::array<Place, 2> coveredPlace(Value down, Value across, Value row, Value column) {
    return {coveredBy(builder, loc, along[0], down, row, of.input.getDimSize(2)),
            coveredBy(builder, loc, along[1], across, column, of.input.getDimSize(3))};
  }

  Value element(Value tensor, ArrayRef<Value> at) {
    return builder.create<tensor::ExtractOp>(loc, tensor, ValueRange(at));
  }
  Value zero() { return scalarConstant(builder, loc, of.input.getElementType(), 0.0); }
  Value add(Value a, Value b) { return builder.create<arith::AddIOp>(loc, a, b); }
  Value times(Value a, int64_t number) {
    return builder.create<arith::MulIOp>(loc, a, builder.create<arith::ConstantIndexOp>(loc, number));
  }
  Value times(Value a, Value b) { return builder.create<arith::MulFOp>(loc, a, b); }
  /// Divides the number of a channel. If the divisor is 0, there are no
  /// channels, and the result is not used.
  Value quotient(Value number, int64_t divisor) {
    Value by = builder.create<arith::ConstantIndexOp>(loc, std::max<int64_t>(divisor, 1));
    return builder.create<arith::DivSIOp>(loc, number, by);
  }

  OpBuilder &builder;
  const Location loc;
  const Convolution of;
  const Windows along;
};

template <typename OpTy>
OpTy make(OpBuilder &b, Location loc, Type type, Value first, Value second, const Convolution &as) {
  return b.create<OpTy>(loc, type, first, second, as.strides, as.padding, as.dilation);
}

} // namespace

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

sbp::LoopSpec ConvolutionOp::getLoopSpec() {
  Factors factors(Convolution(*this), Kind::Forward);
  return factors.with(factors.input, factors.weight, factors.output);
}

LogicalResult ConvolutionOp::inferResultTypes(SmallVectorImpl<RankedTensorType> &types) {
  const Convolution convolution(*this);
  if (failed(convolution.verify(*this)))
    return failure();
  types.push_back(convolution.outputType());
  return success();
}

SmallVector<Value> ConvolutionOp::lowerToLinalg(OpBuilder &builder, ValueRange x) {
  return {Sums(builder, getLoc(), Convolution(*this)).output(x[0], x[1])};
}

int64_t ConvolutionOp::getFlops() { return Convolution(*this).flops(); }

std::optional<LibraryCall> ConvolutionOp::getLibraryCall() { return Convolution(*this).call(Kind::Forward); }

SmallVector<Value> ConvolutionOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool> needed) {
  const Convolution as(*this);
  SmallVector<Value> result(2);
  if (needed[0])
    result[0] = make<ConvolutionDataGradOp>(b, getLoc(), as.input, g[0], getWeight(), as);
  if (needed[1])
    result[1] = make<ConvolutionWeightGradOp>(b, getLoc(), as.weight, g[0], getInput(), as);
  return result;
}

//===----------------------------------------------------------------------===//
// Gradient of the input
//===----------------------------------------------------------------------===//

sbp::LoopSpec ConvolutionDataGradOp::getLoopSpec() {
  Factors factors(Convolution(*this), Kind::Data);
  return factors.with(factors.output, factors.weight, factors.input);
}

LogicalResult ConvolutionDataGradOp::inferResultTypes(SmallVectorImpl<RankedTensorType> &types) {
  const Convolution convolution(*this);
  if (failed(convolution.verify(*this)) || failed(convolution.verifyOutput(*this)))
    return failure();
  types.push_back(convolution.input);
  return success();
}

SmallVector<Value> ConvolutionDataGradOp::lowerToLinalg(OpBuilder &builder, ValueRange x) {
  return {Sums(builder, getLoc(), Convolution(*this)).input(x[0], x[1])};
}

int64_t ConvolutionDataGradOp::getFlops() { return Convolution(*this).flops(); }

std::optional<LibraryCall> ConvolutionDataGradOp::getLibraryCall() { return Convolution(*this).call(Kind::Data); }

SmallVector<Value> ConvolutionDataGradOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool> needed) {
  const Convolution as(*this);
  SmallVector<Value> result(2);
  if (needed[0])
    result[0] = make<ConvolutionOp>(b, getLoc(), as.output, g[0], getWeight(), as);
  if (needed[1])
    result[1] = make<ConvolutionWeightGradOp>(b, getLoc(), as.weight, getGradient(), g[0], as);
  return result;
}

//===----------------------------------------------------------------------===//
// Gradient of the weight
//===----------------------------------------------------------------------===//

sbp::LoopSpec ConvolutionWeightGradOp::getLoopSpec() {
  Factors factors(Convolution(*this), Kind::Weight);
  return factors.with(factors.output, factors.input, factors.weight);
}

LogicalResult ConvolutionWeightGradOp::inferResultTypes(SmallVectorImpl<RankedTensorType> &types) {
  const Convolution convolution(*this);
  if (failed(convolution.verify(*this)) || failed(convolution.verifyOutput(*this)))
    return failure();
  types.push_back(convolution.weight);
  return success();
}

SmallVector<Value> ConvolutionWeightGradOp::lowerToLinalg(OpBuilder &builder, ValueRange x) {
  return {Sums(builder, getLoc(), Convolution(*this)).weight(x[0], x[1])};
}

int64_t ConvolutionWeightGradOp::getFlops() { return Convolution(*this).flops(); }

std::optional<LibraryCall> ConvolutionWeightGradOp::getLibraryCall() { return Convolution(*this).call(Kind::Weight); }

SmallVector<Value> ConvolutionWeightGradOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool> needed) {
  const Convolution as(*this);
  SmallVector<Value> result(2);
  if (needed[0])
    result[0] = make<ConvolutionOp>(b, getLoc(), as.output, getInput(), g[0], as);
  if (needed[1])
    result[1] = make<ConvolutionDataGradOp>(b, getLoc(), as.input, getGradient(), g[0], as);
  return result;
}
