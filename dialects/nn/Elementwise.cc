// Defines one element, and the gradient, of each elementwise op.
// ElementwiseRules.cc has what all of them share: shapes, signatures and
// linalg.
#include "dialects/nn/ExactGrid.h"
#include "dialects/nn/Nn.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace splitcast;
using namespace splitcast::nn;

namespace {

/// Arithmetic on scalars with operators, float or integer by type.
struct Scalar {
  OpBuilder &builder;
  Location loc;
  Value value;

  Scalar constant(double number) const { return {builder, loc, scalarConstant(builder, loc, value.getType(), number)}; }
  template <typename FloatOp, typename IntOp> Scalar binary(const Scalar &other) const {
    if (isa<FloatType>(value.getType()))
      return {builder, loc, builder.create<FloatOp>(loc, value, other.value)};
    return {builder, loc, builder.create<IntOp>(loc, value, other.value)};
  }
  template <typename UnaryOp> Scalar unary() const { return {builder, loc, builder.create<UnaryOp>(loc, value)}; }
};

Scalar operator+(const Scalar &a, const Scalar &b) { return a.binary<arith::AddFOp, arith::AddIOp>(b); }
Scalar operator-(const Scalar &a, const Scalar &b) { return a.binary<arith::SubFOp, arith::SubIOp>(b); }
Scalar operator*(const Scalar &a, const Scalar &b) { return a.binary<arith::MulFOp, arith::MulIOp>(b); }
Scalar operator+(const Scalar &a, double b) { return a + a.constant(b); }
Scalar operator*(const Scalar &a, double b) { return a * a.constant(b); }

/// Sums a gradient to the shape of operand `index`, which may have been
/// broadcast.
Value shaped(Operation *op, OpBuilder &builder, Value gradient, unsigned index) {
  return sumToShape(builder, op->getLoc(), gradient, sbp::shapeOf(op->getOperand(index).getType()));
}

using Gradients = SmallVector<Value>;

/// The tanh approximation: gelu(x) = x/2 (1 + t), t = tanh(u), u = c (x + 0.044715 x^3), c = sqrt(2/pi).
struct TanhGelu {
  Scalar x, t;
  explicit TanhGelu(const Scalar &x) : x(x), t(((x + x * x * x * 0.044715) * kScale).unary<math::TanhOp>()) {}
  /// du/dx
  Scalar innerSlope() const { return (x * x * (3 * 0.044715) + 1.0) * kScale; }
  static constexpr double kScale = 0.7978845608028654; // sqrt(2 / pi)
};

constexpr double kInvSqrt2 = 0.7071067811865476;     // 1 / sqrt 2
constexpr double kTwoInvSqrtPi = 1.1283791670955126; // 2 / sqrt(pi)
constexpr double kInvSqrt2Pi = 0.3989422804014327;   // 1 / sqrt(2 pi), of the normal density

/// The normal distribution function at x.
Scalar normalCdf(const Scalar &x) { return ((x * kInvSqrt2).unary<math::ErfOp>() + 1.0) * 0.5; }

} // namespace

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value AddOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  return (Scalar{b, loc, x[0]} + Scalar{b, loc, x[1]}).value;
}
Gradients AddOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool> needed) {
  Gradients result(2);
  for (unsigned i : {0, 1})
    if (needed[i])
      result[i] = shaped(*this, b, g[0], i);
  return result;
}

Value SubOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  return (Scalar{b, loc, x[0]} - Scalar{b, loc, x[1]}).value;
}
Gradients SubOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool> needed) {
  Gradients result(2);
  if (needed[0])
    result[0] = shaped(*this, b, g[0], 0);
  if (needed[1])
    result[1] = b.create<NegOp>(getLoc(), shaped(*this, b, g[0], 1));
  return result;
}

Value MulOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  return (Scalar{b, loc, x[0]} * Scalar{b, loc, x[1]}).value;
}
Gradients MulOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool> needed) {
  Gradients result(2);
  for (unsigned i : {0, 1})
    if (needed[i])
      result[i] = shaped(*this, b, b.create<MulOp>(getLoc(), g[0], getOperand(1 - i)), i);
  return result;
}

/// Divides integers, with results for the two divisions on which a CPU traps
/// and that a GPU leaves undefined: x / 0 is 0, and x / -1 is 0 - x, which
/// wraps around.
static Value divideIntegers(OpBuilder &b, Location loc, const Scalar &x, const Scalar &y) {
  auto equals = [&](double number) -> Value {
    return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, y.value, y.constant(number).value);
  };
  auto select = [&](Value condition, const Scalar &yes, const Scalar &no) -> Scalar {
    return {b, loc, b.create<arith::SelectOp>(loc, condition, yes.value, no.value)};
  };
  Value isZero = equals(0), isMinusOne = equals(-1);
  Value isSpecial = b.create<arith::OrIOp>(loc, isZero, isMinusOne);
  Scalar divisor = select(isSpecial, y.constant(1), y), zero = x.constant(0);
  Scalar quotient{b, loc, b.create<arith::DivSIOp>(loc, x.value, divisor.value)};
  return select(isZero, zero, select(isMinusOne, zero - x, quotient)).value;
}

Value DivOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  if (isa<FloatType>(x[0].getType()))
    return b.create<arith::DivFOp>(loc, x[0], x[1]);
  return divideIntegers(b, loc, {b, loc, x[0]}, {b, loc, x[1]});
}
Gradients DivOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool> needed) {
  Gradients result(2);
  Value overRhs = b.create<DivOp>(getLoc(), g[0], getRhs());
  if (needed[0])
    result[0] = shaped(*this, b, overRhs, 0);
  if (needed[1]) { // -g (lhs / rhs) / rhs
    Value product = b.create<MulOp>(getLoc(), overRhs, b.create<DivOp>(getLoc(), getLhs(), getRhs()));
    result[1] = shaped(*this, b, b.create<NegOp>(getLoc(), product), 1);
  }
  return result;
}

Value NegOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) { return b.create<arith::NegFOp>(loc, x[0]); }
Gradients NegOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool>) { return {b.create<NegOp>(getLoc(), g[0])}; }

Value ScaleOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  return (Scalar{b, loc, x[0]} * getValue().convertToDouble()).value;
}
Gradients ScaleOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool>) {
  return {b.create<ScaleOp>(getLoc(), g[0], getValue().convertToDouble())};
}

Value ShiftOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  return (Scalar{b, loc, x[0]} + getValue().convertToDouble()).value;
}
Gradients ShiftOp::buildGradient(OpBuilder &, ValueRange g, ArrayRef<bool>) { return {g[0]}; }

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

Value ExpOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) { return b.create<math::ExpOp>(loc, x[0]); }
Gradients ExpOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool>) {
  return {b.create<MulOp>(getLoc(), g[0], getResult())};
}

Value LogOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) { return b.create<math::LogOp>(loc, x[0]); }
Gradients LogOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool>) {
  return {b.create<DivOp>(getLoc(), g[0], getInput())};
}

Value SqrtOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) { return b.create<math::SqrtOp>(loc, x[0]); }
Gradients SqrtOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool>) {
  Value half = b.create<ScaleOp>(getLoc(), g[0], 0.5);
  return {b.create<DivOp>(getLoc(), half, getResult())};
}

Value TanhOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) { return b.create<math::TanhOp>(loc, x[0]); }
Gradients TanhOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool>) {
  // g (1 - y)(1 + y), in which 1 - y is exact near 1
  Value above = b.create<ShiftOp>(getLoc(), b.create<NegOp>(getLoc(), getResult()), 1.0);
  Value below = b.create<ShiftOp>(getLoc(), getResult(), 1.0);
  return {b.create<MulOp>(getLoc(), g[0], b.create<MulOp>(getLoc(), above, below))};
}

Value SinOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) { return b.create<math::SinOp>(loc, x[0]); }
Gradients SinOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool>) {
  return {b.create<MulOp>(getLoc(), g[0], b.create<CosOp>(getLoc(), getInput()))};
}

Value CosOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) { return b.create<math::CosOp>(loc, x[0]); }
Gradients CosOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool>) {
  Value product = b.create<MulOp>(getLoc(), g[0], b.create<SinOp>(getLoc(), getInput()));
  return {b.create<NegOp>(getLoc(), product)};
}

Value SigmoidOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) { // an infinite exp(-x) gives 0
  Scalar power = Scalar{b, loc, b.create<arith::NegFOp>(loc, x[0])}.unary<math::ExpOp>();
  return b.create<arith::DivFOp>(loc, power.constant(1.0).value, (power + 1.0).value);
}
Gradients SigmoidOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool>) {
  // g y (1 - y), in which 1 - y is exact near 1
  Value rest = b.create<ShiftOp>(getLoc(), b.create<NegOp>(getLoc(), getResult()), 1.0);
  return {b.create<MulOp>(getLoc(), g[0], b.create<MulOp>(getLoc(), getResult(), rest))};
}

Value ErfOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) { // upstream's polynomial makes 0 of -0
  return b.create<math::CopySignOp>(loc, b.create<math::ErfOp>(loc, x[0]), x[0]);
}
Gradients ErfOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool>) { // 2 / sqrt(pi) exp(-x^2)
  Value square = b.create<MulOp>(getLoc(), getInput(), getInput());
  Value density = b.create<ExpOp>(getLoc(), b.create<NegOp>(getLoc(), square));
  return {b.create<MulOp>(getLoc(), b.create<ScaleOp>(getLoc(), g[0], kTwoInvSqrtPi), density)};
}

Value ReluOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  return b.create<arith::MaximumFOp>(loc, x[0], scalarConstant(b, loc, x[0].getType(), 0.0));
}
Gradients ReluOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool>) {
  return {b.create<ReluGradOp>(getLoc(), g[0], getInput())};
}

Value ReluGradOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  Value zero = scalarConstant(b, loc, x[1].getType(), 0.0);
  // A NaN lets the gradient pass, as in PyTorch: a finite gradient would hide it.
  Value passes = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UGT, x[1], zero);
  return b.create<arith::SelectOp>(loc, passes, x[0], zero);
}

Value GeluOp::buildScalar(OpBuilder &b, Location loc, ValueRange args) {
  Scalar x{b, loc, args[0]};
  if (!getTanh())
    return (x * normalCdf(x)).value;
  return (x * 0.5 * (TanhGelu(x).t + 1.0)).value;
}
Gradients GeluOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool>) {
  return {b.create<GeluGradOp>(getLoc(), g[0], getInput(), getTanh())};
}

Value GeluGradOp::buildScalar(OpBuilder &b, Location loc, ValueRange args) {
  Scalar g{b, loc, args[0]}, x{b, loc, args[1]};
  if (!getTanh()) { // Phi(x) + x phi(x)
    Scalar density = (x * x * -0.5).unary<math::ExpOp>() * kInvSqrt2Pi;
    return (g * (normalCdf(x) + x * density)).value;
  }
  TanhGelu gelu(x); // (1 + t)/2 + x/2 (1 - t^2) du/dx
  Scalar slope = (gelu.t + 1.0) * 0.5 + x * 0.5 * (x.constant(1.0) - gelu.t * gelu.t) * gelu.innerSlope();
  return (g * slope).value;
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

namespace {

struct Predicate {
  const char *name;
  arith::CmpFPredicate ofFloats;
  arith::CmpIPredicate ofIntegers;
};
constexpr Predicate kPredicates[] = {{"eq", arith::CmpFPredicate::OEQ, arith::CmpIPredicate::eq},
                                     {"ne", arith::CmpFPredicate::UNE, arith::CmpIPredicate::ne},
                                     {"lt", arith::CmpFPredicate::OLT, arith::CmpIPredicate::slt},
                                     {"le", arith::CmpFPredicate::OLE, arith::CmpIPredicate::sle},
                                     {"gt", arith::CmpFPredicate::OGT, arith::CmpIPredicate::sgt},
                                     {"ge", arith::CmpFPredicate::OGE, arith::CmpIPredicate::sge}};

const Predicate *predicateOf(StringRef name) {
  const auto *found = llvm::find_if(kPredicates, [&](const Predicate &each) { return name == each.name; });
  return found == std::end(kPredicates) ? nullptr : found;
}

} // namespace

LogicalResult CompareOp::verify() {
  if (!predicateOf(getPredicate())) {
    InFlightDiagnostic error = emitOpError() << "has predicate '" << getPredicate() << "'; it is one of ";
    llvm::interleaveComma(kPredicates, error, [&](const Predicate &each) { error << each.name; });
    return error;
  }
  Type lhs = getLhs().getType().getElementType(), rhs = getRhs().getType().getElementType();
  if (lhs == rhs)
    return success();
  return emitOpError() << "operands have element types " << lhs << " and " << rhs << "; use nn.cast to make them equal";
}

Value CompareOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  const Predicate &predicate = *predicateOf(getPredicate());
  Value holds = isa<FloatType>(x[0].getType())
                    ? b.create<arith::CmpFOp>(loc, predicate.ofFloats, x[0], x[1]).getResult()
                    : b.create<arith::CmpIOp>(loc, predicate.ofIntegers, x[0], x[1]).getResult();
  Type type = getResult().getType().getElementType();
  return b.create<arith::SelectOp>(loc, holds, scalarConstant(b, loc, type, 1.0), scalarConstant(b, loc, type, 0.0));
}

Value StopGradientOp::buildScalar(OpBuilder &, Location, ValueRange x) { return x[0]; }

Value NotEqualOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  Type type = getResult().getType().getElementType();
  Value differs = compareWithNumber(b, loc, arith::CmpIPredicate::ne, x[0], getValue());
  return b.create<arith::SelectOp>(loc, differs, scalarConstant(b, loc, type, 1.0), scalarConstant(b, loc, type, 0.0));
}

std::vector<sbp::LinearSet> splitcast::nn::linearIfExtending(Operation *cast) {
  auto from = dyn_cast<FloatType>(getElementTypeOrSelf(cast->getOperand(0).getType()));
  auto to = dyn_cast<FloatType>(getElementTypeOrSelf(cast->getResult(0).getType()));
  if (from && to && from.getWidth() < to.getWidth())
    return {{{0}, {}}};
  return {};
}

Value ClampOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  Value least = scalarConstant(b, loc, x[0].getType(), getLeast().convertToDouble());
  Value most = scalarConstant(b, loc, x[0].getType(), getMost().convertToDouble());
  return b.create<arith::MinimumFOp>(loc, b.create<arith::MaximumFOp>(loc, x[0], least), most);
}
Value SelectOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  Value zero = scalarConstant(b, loc, x[0].getType(), 0.0);
  const bool isFloat = isa<FloatType>(x[0].getType());
  Value isChosen = isFloat ? b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNE, x[0], zero).getResult()
                           : b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, x[0], zero).getResult();
  return b.create<arith::SelectOp>(loc, isChosen, x[1], x[2]);
}
Gradients SelectOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool> needed) {
  Gradients result(3);
  Value zero = splat(b, getLoc(), g[0].getType(), 0.0);
  if (needed[0]) // the condition's gradient is 0 everywhere
    result[0] = splat(b, getLoc(), undecided(getCondition().getType()), 0.0);
  if (needed[1])
    result[1] = shaped(*this, b, b.create<SelectOp>(getLoc(), getCondition(), g[0], zero), 1);
  if (needed[2])
    result[2] = shaped(*this, b, b.create<SelectOp>(getLoc(), getCondition(), zero, g[0]), 2);
  return result;
}

LogicalResult ClampOp::verify() {
  const double least = getLeast().convertToDouble(), most = getMost().convertToDouble();
  if (!(least <= most))
    return emitOpError() << "has least = " << least << " and most = " << most << "; least must not be more than most";
  return success();
}

Value CastOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  Type from = x[0].getType(), to = getResult().getType().getElementType();
  if (from == to)
    return x[0];
  auto fromFloat = dyn_cast<FloatType>(from), toFloat = dyn_cast<FloatType>(to);
  if (fromFloat && toFloat) {
    if (fromFloat.getWidth() < toFloat.getWidth())
      return b.create<arith::ExtFOp>(loc, to, x[0]);
    if (fromFloat.getWidth() > toFloat.getWidth())
      return b.create<arith::TruncFOp>(loc, to, x[0]);
    // Neither of bf16 and f16 contains the other; f32 contains both.
    return b.create<arith::TruncFOp>(loc, to, b.create<arith::ExtFOp>(loc, b.getF32Type(), x[0]));
  }
  if (toFloat && toFloat.getWidth() < 32) // by way of f64, which holds each i32 exactly, so that it is rounded once
    return b.create<arith::TruncFOp>(loc, to, b.create<arith::SIToFPOp>(loc, b.getF64Type(), x[0]));
  if (toFloat)
    return b.create<arith::SIToFPOp>(loc, to, x[0]);
  if (fromFloat)
    return b.create<arith::FPToSIOp>(loc, to, x[0]);
  if (from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
    return b.create<arith::ExtSIOp>(loc, to, x[0]);
  return b.create<arith::TruncIOp>(loc, to, x[0]);
}
Gradients CastOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool>) {
  Type from = getInput().getType().getElementType(), to = getResult().getType().getElementType();
  if (!isa<FloatType>(from) || !isa<FloatType>(to)) // the slope of a step is 0
    return {Value()};
  return {b.create<CastOp>(getLoc(), g[0], from)};
}

//===----------------------------------------------------------------------===//
// Sums without rounding
//===----------------------------------------------------------------------===//

namespace {

/// Rounds an f64 to a multiple of `unit`, ties to even. A number of 2^52 units or
/// more has no bits below the unit; a smaller one has none after it was added
/// to 2^52 units of its sign. A result of 0 is positive.
Scalar roundedTo(const Scalar &x, double unit) {
  OpBuilder &b = x.builder;
  const Scalar beside = x.constant(0x1p52 * unit);
  Value isNegative = b.create<arith::CmpFOp>(x.loc, arith::CmpFPredicate::OLT, x.value, x.constant(0.0).value);
  const Scalar ofSign{b, x.loc,
                      b.create<arith::SelectOp>(x.loc, isNegative, x.constant(-0x1p52 * unit).value, beside.value)};
  const Scalar rounded = (x + ofSign) - ofSign;
  Value isSmall =
      b.create<arith::CmpFOp>(x.loc, arith::CmpFPredicate::OLT, x.unary<math::AbsFOp>().value, beside.value);
  return {b, x.loc, b.create<arith::SelectOp>(x.loc, isSmall, rounded.value, x.value)};
}

/// Carries what exceeds half a unit of the part before, from the last part to
/// the first. No step rounds: see ExactGrid::mostAddends.
SmallVector<Value> carried(OpBuilder &b, Location loc, ValueRange parts) {
  const ExactGrid grid{static_cast<int64_t>(parts.size())};
  SmallVector<Value> result(parts);
  for (size_t number = parts.size() - 1; number > 0; --number) {
    const double beside = 1.5 * 0x1p52 * grid.unit(static_cast<int64_t>(number) - 1);
    const Scalar part{b, loc, result[number]}, moved = part + beside + -beside;
    result[number] = (part - moved).value;
    result[number - 1] = (Scalar{b, loc, result[number - 1]} + moved).value;
  }
  return result;
}

} // namespace

LogicalResult ExactPartOp::verify() {
  if (getPart() < getOf())
    return success();
  return emitOpError() << "has part = " << getPart() << " of " << getOf() << "; parts count from 0";
}

Value ExactPartOp::buildScalar(OpBuilder &b, Location loc, ValueRange args) {
  Value wide = args[0];
  if (!wide.getType().isF64())
    wide = b.create<arith::ExtFOp>(loc, b.getF64Type(), wide);
  const Scalar x{b, loc, wide};
  const ExactGrid grid{static_cast<int64_t>(getOf())};
  const int64_t part = static_cast<int64_t>(getPart());
  Value isLarge = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OGE, x.unary<math::AbsFOp>().value,
                                          x.constant(std::ldexp(1.0, ExactGrid::kTopExponent)).value);
  // An infinity is in part 0 as a whole: infinity - infinity would be a NaN.
  const Scalar large = part == 0 ? x * std::numeric_limits<double>::infinity() : x.constant(0.0);
  const Scalar limited{b, loc, b.create<arith::SelectOp>(loc, isLarge, large.value, wide)};
  const Scalar rounded = roundedTo(limited, grid.unit(part));
  return part == 0 ? rounded.value : (rounded - roundedTo(limited, grid.unit(part - 1))).value;
}

Value ExactRestOp::buildScalar(OpBuilder &b, Location loc, ValueRange args) {
  const Scalar x{b, loc, args[0]}, zero = x.constant(0.0);
  Value isSmall = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OLT, x.unary<math::AbsFOp>().value,
                                          x.constant(std::ldexp(1.0, ExactGrid::kTopExponent)).value);
  const Scalar limited{b, loc, b.create<arith::SelectOp>(loc, isSmall, x.value, zero.value)};
  const ExactGrid grid{static_cast<int64_t>(getOf())};
  const Scalar rounded = roundedTo(limited, grid.unit(grid.numParts - 1));
  Value isRounded = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::ONE, limited.value, rounded.value);
  return b.create<arith::SelectOp>(loc, isRounded, x.constant(std::numeric_limits<double>::infinity()).value,
                                   zero.value);
}

LogicalResult ExactSumOp::verify() {
  const int64_t count = static_cast<int64_t>(getParts().size());
  if (count >= ExactGrid::kFewestParts && count <= ExactGrid::kMostParts)
    return success();
  return emitOpError() << "has " << count << " parts; nn.exact_part makes " << int64_t{ExactGrid::kFewestParts}
                       << " to " << int64_t{ExactGrid::kMostParts};
}

/// Adds the errors of the sums of the carried parts to the last sum. After the
/// carries, a sum of earlier parts that is not 0 is at least twice the next
/// part, so the difference that Dekker's FastTwoSum takes is the error (Ogita,
/// Rump and Oishi 2005, "Accurate sum and dot product").
Value ExactSumOp::buildScalar(OpBuilder &b, Location loc, ValueRange operands) {
  const SmallVector<Value> parts = carried(b, loc, operands);
  SmallVector<Scalar> sums = {{b, loc, parts.front()}}, errors;
  for (Value part : llvm::drop_begin(parts)) {
    const Scalar next{b, loc, part}, last = sums.back();
    sums.push_back(last + next);
    errors.push_back(next - (sums.back() - last));
  }
  Value lost = errors.back().value;
  for (const Scalar &error : llvm::drop_begin(llvm::reverse(errors)))
    lost = (error + Scalar{b, loc, lost}).value;
  const Scalar &sum = sums.back();
  Value isFinite = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, (sum - sum).value, sum.constant(0.0).value);
  const Scalar rest{b, loc, b.create<arith::SelectOp>(loc, isFinite, lost, sum.constant(0.0).value)};
  Value result = (sum + rest).value;
  Type to = getResult().getType().getElementType();
  if (to.isF64())
    return result;
  result = b.create<arith::TruncFOp>(loc, b.getF32Type(), result);
  return to.isF32() ? result : b.create<arith::TruncFOp>(loc, to, result).getResult();
}
