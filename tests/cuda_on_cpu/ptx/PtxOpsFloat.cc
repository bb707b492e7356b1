#include "tests/cuda_on_cpu/ptx/PtxFloat.h"
#include "tests/cuda_on_cpu/ptx/PtxOps.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace splitcast::cuda_on_cpu {
namespace {

/// Half and Bfloat: exactly, or in enough digits that rounding twice is rounding once.
template <class T, class F> T rounded(F value) {
  if constexpr (isNarrow<T>)
    return narrowed<T>(value, Rounding::Nearest);
  else
    return canonical(value);
}
template <class T> auto operand(T value) {
  if constexpr (isNarrow<T>)
    return widened(value);
  else
    return value;
}

template <class T> struct Add {
  static T of(T a, T b) { return rounded<T>(operand(a) + operand(b)); }
};
template <class T> struct Subtract {
  static T of(T a, T b) { return rounded<T>(operand(a) - operand(b)); }
};
template <class T> struct Multiply {
  static T of(T a, T b) { return rounded<T>(operand(a) * operand(b)); }
};
template <class T> struct Divide {
  static T of(T a, T b) { return rounded<T>(operand(a) / operand(b)); }
};
template <class T> struct Fuse {
  static T of(T a, T b, T c) {
    if constexpr (isNarrow<T>)
      return rounded<T>(fusedToOdd(operand(a), operand(b), operand(c)));
    else
      return rounded<T>(std::fma(a, b, c));
  }
};
/// -0 is less than 0; a NaN loses, or wins if Nan.
template <class T, bool Greatest, bool Nan> struct Extreme {
  static T of(T a, T b) {
    const auto x = operand(a), y = operand(b);
    if (x != x || y != y)
      return Nan || (x != x && y != y) ? rounded<T>(x + y) : x != x ? b : a;
    if (x == y) // of zeros, whose signs may differ
      return std::signbit(x) == Greatest ? b : a;
    return (x < y) == Greatest ? b : a;
  }
};
template <class T> struct Minimum : Extreme<T, false, false> {};
template <class T> struct MinimumNan : Extreme<T, false, true> {};
template <class T> struct Maximum : Extreme<T, true, false> {};
template <class T> struct MaximumNan : Extreme<T, true, true> {};

template <class T>
using Bits = std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
template <class T> constexpr Bits<T> kSign = static_cast<Bits<T>>(Bits<T>{1} << (sizeof(T) * 8 - 1));
template <class T> struct Negate {
  static T of(T a) { return bitsAs<T>(static_cast<Bits<T>>(bitsAs<Bits<T>>(a) ^ kSign<T>)); }
};
template <class T> struct Absolute {
  static T of(T a) { return bitsAs<T>(static_cast<Bits<T>>(bitsAs<Bits<T>>(a) & ~kSign<T>)); }
};
template <class T> struct CopySign { // of a to b
  static T of(T a, T b) { return bitsAs<T>((bitsAs<Bits<T>>(a) & kSign<T>) | (bitsAs<Bits<T>>(b) & ~kSign<T>)); }
};
template <class T> struct Reciprocal {
  static T of(T a) { return canonical(T{1} / a); }
};
template <class T> struct SquareRoot {
  static T of(T a) { return canonical(std::sqrt(a)); }
};
/// What an approximate instruction gives here: without its last bit, so that nothing can rely on a better one. Powers
/// of two, of which scaling relies on it, stay what they are.
inline float approximate(float a) { return std::isnan(a) ? a : bitsAs<float>(bitsAs<uint32_t>(a) & ~uint32_t{1}); }
struct PowerOfTwo {
  static float of(float a) { return canonical(approximate(std::exp2(a))); }
};
struct ApproximateReciprocal {
  static float of(float a) { return canonical(approximate(1 / a)); }
};
struct Flush {
  static float of(float a) { return std::fpclassify(a) == FP_SUBNORMAL ? std::copysign(0.0F, a) : a; }
};
template <class T> struct Saturate {
  static T of(T a) { return a >= T{1} ? T{1} : a > T{0} ? a : T{0}; } // NaN becomes 0
};

/// Both halves of a register.
template <template <class> class Op, class T> struct EachOfTwo {
  static Two<T> of(Two<T> a) { return {Op<T>::of(a.low), Op<T>::of(a.high)}; }
  static Two<T> of(Two<T> a, Two<T> b) { return {Op<T>::of(a.low, b.low), Op<T>::of(a.high, b.high)}; }
  static Two<T> of(Two<T> a, Two<T> b, Two<T> c) {
    return {Op<T>::of(a.low, b.low, c.low), Op<T>::of(a.high, b.high, c.high)};
  }
};

#if defined(__x86_64__)
/// With the CPU's own instruction; std::fma is a call where the compiler may not use it.
template <class T> __attribute__((target("avx2,fma"))) Next fuseAll(Warp &warp, const Inst &inst, uint32_t lanes) {
  const T *a = warp.lanes<T>(inst.sources[0]), *b = warp.lanes<T>(inst.sources[1]), *c = warp.lanes<T>(inst.sources[2]);
  T *d = warp.lanes<T>(inst.d);
  T results[kWarpSize];
  for (uint32_t lane = 0; lane != kWarpSize; ++lane) {
    if constexpr (sizeof(T) == 4)
      results[lane] = __builtin_fmaf(a[lane], b[lane], c[lane]);
    else
      results[lane] = __builtin_fma(a[lane], b[lane], c[lane]);
  }
  for (uint32_t lane = 0; lane != kWarpSize; ++lane)
    if (lanes >> lane & 1)
      d[lane] = canonical(results[lane]);
  return Next::Step;
}
bool hasFma() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#else
template <class T> constexpr Handler fuseAll = nullptr;
bool hasFma() { return false; }
#endif

template <template <class> class Op, class T, size_t Sources> Handler handlerFor() {
  if constexpr (Sources == 1)
    return unary<Op<T>, T, T>;
  else if constexpr (Sources == 2)
    return binary<Op<T>, T, T, T>;
  else
    return ternary<Op<T>, T, T, T, T>;
}
template <template <class> class Op, class T, size_t Sources> Handler handlerForTwo() {
  using V = Two<T>;
  if constexpr (Sources == 1)
    return unary<EachOfTwo<Op, T>, V, V>;
  else if constexpr (Sources == 2)
    return binary<EachOfTwo<Op, T>, V, V, V>;
  else
    return ternary<EachOfTwo<Op, T>, V, V, V, V>;
}

template <template <class> class Op, size_t Sources> Handler handlerOf(Type type) {
  switch (type) {
  case Type::F32:
    return handlerFor<Op, float, Sources>();
  case Type::F64:
    return handlerFor<Op, double, Sources>();
  case Type::F16:
    return handlerFor<Op, Half, Sources>();
  case Type::BF16:
    return handlerFor<Op, Bfloat, Sources>();
  case Type::F16x2:
    return handlerForTwo<Op, Half, Sources>();
  case Type::BF16x2:
    return handlerForTwo<Op, Bfloat, Sources>();
  default:
    return nullptr;
  }
}

/// 32 and 64 bits only.
template <template <class> class Op, size_t Sources> Handler wideHandlerOf(Type type) {
  return type == Type::F32   ? handlerFor<Op, float, Sources>()
         : type == Type::F64 ? handlerFor<Op, double, Sources>()
                             : nullptr;
}

uint32_t passedThrough(Builder &builder, Handler handler, uint32_t at) {
  const uint32_t result = builder.temporary(4);
  builder.emit(handler, result, {at});
  return result;
}

/// With .ftz and .sat as instructions of their own, before and after.
void lowerArithmetic(Builder &builder, Statement &statement, Handler handler, size_t sources, bool flushes,
                     bool saturates, Type type) {
  if (!flushes && !saturates)
    return lowerAlike(builder, statement, type, handler, sources);
  if (type != Type::F32)
    return builder.fail(".ftz and .sat are supported for f32");
  if (!builder.expect(statement, sources + 1))
    return;
  uint32_t from[3] = {kNoRegister, kNoRegister, kNoRegister};
  for (size_t index = 0; index < sources; ++index) {
    from[index] = builder.source(statement.operands[index + 1], type);
    if (flushes)
      from[index] = passedThrough(builder, unary<Flush, float, float>, from[index]);
  }
  uint32_t result = builder.temporary(4);
  builder.emit(handler, result, {from[0], from[1], from[2]});
  if (saturates)
    result = passedThrough(builder, unary<Saturate<float>, float, float>, result);
  const uint32_t target = builder.target(statement.operands[0], type);
  if (flushes)
    builder.emit(unary<Flush, float, float>, target, {result});
  else
    builder.resizeInto(target, 4, result, 4, false);
}

void refuseApproximation(Builder &builder, Statement &statement) {
  builder.fail(absl::StrCat("'", statement.parts[0], ".", statement.rest(),
                            "' is approximate arithmetic, which this project forbids"));
}

bool isApproximate(const Statement &statement) {
  for (absl::string_view part : statement.parts)
    if (part == "approx" || part == "full")
      return true;
  return false;
}

struct Operation {
  absl::string_view name;
  size_t sources;
  Handler (*handlerOf)(Type);
};
constexpr Operation kOperations[] = {{"add", 2, handlerOf<Add, 2>},
                                     {"sub", 2, handlerOf<Subtract, 2>},
                                     {"mul", 2, handlerOf<Multiply, 2>},
                                     {"fma", 3, handlerOf<Fuse, 3>},
                                     {"mad", 3, wideHandlerOf<Fuse, 3>},
                                     {"div", 2, wideHandlerOf<Divide, 2>},
                                     {"rcp", 1, wideHandlerOf<Reciprocal, 1>},
                                     {"sqrt", 1, wideHandlerOf<SquareRoot, 1>}};
constexpr Operation kExtremes[] = {{"min", 2, handlerOf<Minimum, 2>},
                                   {"max", 2, handlerOf<Maximum, 2>},
                                   {"min.NaN", 2, handlerOf<MinimumNan, 2>},
                                   {"max.NaN", 2, handlerOf<MaximumNan, 2>}};

void lowerRounded(Builder &builder, Statement &statement) {
  if (isApproximate(statement))
    return refuseApproximation(builder, statement);
  const Operation *operation = kOperations;
  while (operation->name != statement.parts[0])
    ++operation;
  // Without .rn, ptxas may fuse additions and products; those that have no default need it.
  const bool named = statement.take("rn"), needed = operation->sources != 2 || operation->name == "div";
  if (needed && !named)
    return builder.fail("only the rounding .rn is supported here");
  const bool flushes = statement.take("ftz"), saturates = statement.take("sat");
  const Type type = statement.takeType();
  Handler handler = operation->handlerOf(type);
  if (operation->sources == 3 && hasFma())
    handler = type == Type::F32 ? Handler(fuseAll<float>) : type == Type::F64 ? Handler(fuseAll<double>) : handler;
  lowerArithmetic(builder, statement, handler, operation->sources, flushes, saturates, type);
}

void lowerExtreme(Builder &builder, Statement &statement) {
  const bool flushes = statement.take("ftz"), nan = statement.take("NaN"), least = statement.parts[0] == "min";
  const Type type = statement.takeType();
  const Operation &operation = kExtremes[(nan ? 2 : 0) + (least ? 0 : 1)];
  lowerArithmetic(builder, statement, operation.handlerOf(type), 2, flushes, false, type);
}

void lowerSign(Builder &builder, Statement &statement) {
  const bool flushes = statement.take("ftz");
  const Type type = statement.takeType();
  const Handler handler = statement.parts[0] == "neg" ? handlerOf<Negate, 1>(type) : handlerOf<Absolute, 1>(type);
  lowerArithmetic(builder, statement, handler, 1, flushes, false, type);
}

void lowerCopySign(Builder &builder, Statement &statement) {
  const Type type = statement.takeType();
  lowerAlike(builder, statement, type, wideHandlerOf<CopySign, 2>(type), 2);
}

/// Of kernels' exponentials; and libdevice's exact functions scale by it.
void lowerPowerOfTwo(Builder &builder, Statement &statement) {
  if (!statement.take("approx"))
    return builder.fail("ex2 is approximate, and must say so");
  const bool flushes = statement.take("ftz");
  const Type type = statement.takeType();
  lowerArithmetic(builder, statement, type == Type::F32 ? unary<PowerOfTwo, float, float> : nullptr, 1, flushes, false,
                  type);
}

/// From which libdevice's quotients of f64 begin: the lower word is zero, and subnormal numbers are none.
struct CoarseReciprocal {
  static double of(double value) {
    auto flushed = [](double x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0, x) : x; };
    const double result = flushed(1 / flushed(value));
    uint64_t bits;
    std::memcpy(&bits, &result, sizeof(bits));
    bits &= std::isnan(result) ? ~uint64_t{0} : ~uint64_t{0xffffffff};
    double coarse;
    std::memcpy(&coarse, &bits, sizeof(coarse));
    return coarse;
  }
};

void lowerReciprocal(Builder &builder, Statement &statement) {
  if (statement.rest() == "approx" && absl::c_linear_search(statement.parts, "ftz") &&
      statement.parts.back() == "f32") {
    statement.take("approx");
    const bool flushes = statement.take("ftz");
    const Type type = statement.takeType();
    return lowerArithmetic(builder, statement, unary<ApproximateReciprocal, float, float>, 1, flushes, false, type);
  }
  if (statement.rest() != "approx" || statement.parts.back() != "f64")
    return lowerRounded(builder, statement);
  const bool isCoarse = statement.take("approx") && statement.take("ftz");
  const Type type = statement.takeType();
  lowerAlike(builder, statement, type, isCoarse ? unary<CoarseReciprocal, double, double> : nullptr, 1);
}

} // namespace

void lowerFloat(Builder &builder, Statement &statement) {
  const absl::string_view name = statement.parts[0];
  if (name == "neg" || name == "abs")
    lowerSign(builder, statement);
  else if (name == "min" || name == "max")
    lowerExtreme(builder, statement);
  else if (name == "rem")
    builder.fail("there is no remainder of floating-point numbers");
  else
    lowerRounded(builder, statement);
}

Lowerings floatLowerings() {
  return {{"fma", lowerRounded},        {"rcp", lowerReciprocal},     {"sqrt", lowerRounded},
          {"copysign", lowerCopySign},  {"ex2", lowerPowerOfTwo},     {"lg2", refuseApproximation},
          {"sin", refuseApproximation}, {"cos", refuseApproximation}, {"rsqrt", refuseApproximation},
          {"tanh", refuseApproximation}};
}

} // namespace splitcast::cuda_on_cpu
