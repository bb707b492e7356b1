#include "tests/cuda_on_cpu/ptx/PtxOps.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <limits>

namespace splitcast::cuda_on_cpu {
namespace {

template <class T> T wrapped(Wrapping<T> value) { return static_cast<T>(value); }
/// Twice as wide.
template <class T>
using Double = std::conditional_t<
    std::is_signed_v<T>,
    std::conditional_t<sizeof(T) == 2, int32_t, std::conditional_t<sizeof(T) == 4, int64_t, __int128>>,
    std::conditional_t<sizeof(T) == 2, uint32_t, std::conditional_t<sizeof(T) == 4, uint64_t, unsigned __int128>>>;

template <class T> struct Add {
  static T of(T a, T b) { return wrapped<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b)); }
};
template <class T> struct Subtract {
  static T of(T a, T b) { return wrapped<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b)); }
};
template <class T> struct MultiplyLow {
  static T of(T a, T b) { return wrapped<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b)); }
  static T of(T a, T b, T c) { return Add<T>::of(of(a, b), c); }
};
template <class T> struct MultiplyHigh {
  static T of(T a, T b) {
    return static_cast<T>(static_cast<Double<T>>(a) * static_cast<Double<T>>(b) >> sizeof(T) * 8);
  }
  static T of(T a, T b, T c) { return Add<T>::of(of(a, b), c); }
};
template <class T> struct MultiplyWide {
  static Double<T> of(T a, T b) { return static_cast<Double<T>>(a) * static_cast<Double<T>>(b); }
  static Double<T> of(T a, T b, Double<T> c) { return Add<Double<T>>::of(of(a, b), c); }
};
template <class T> struct Minimum {
  static T of(T a, T b) { return std::min(a, b); }
};
template <class T> struct Maximum {
  static T of(T a, T b) { return std::max(a, b); }
};
template <class T> struct Negate {
  static T of(T a) { return wrapped<T>(0 - static_cast<Wrapping<T>>(a)); }
};
template <class T> struct Absolute {
  static T of(T a) { return a < 0 ? Negate<T>::of(a) : a; }
};
template <class T> bool overflows(T a, T b) {
  return std::is_signed_v<T> && a == std::numeric_limits<T>::min() && b == static_cast<T>(-1);
}
template <class T> struct Quotient {
  static T of(T a, T b) { return overflows(a, b) ? a : static_cast<T>(a / b); }
};
template <class T> struct Remainder {
  static T of(T a, T b) { return overflows(a, b) ? T{0} : static_cast<T>(a % b); }
};

/// A GPU's result of a division by zero is unspecified.
template <class Op, class T> Next divide(Warp &warp, const Inst &inst, uint32_t lanes) {
  const T *b = warp.lanes<T>(inst.sources[1]);
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1)
    if (b[__builtin_ctz(rest)] == 0)
      return warp.fail(inst, static_cast<uint32_t>(__builtin_ctz(rest)), "a division by zero");
  return binary<Op, T, T, T>(warp, inst, lanes);
}

template <template <class> class Op> void lowerBinary(Builder &builder, Statement &statement) {
  if (isOfFloat(statement))
    return lowerFloat(builder, statement);
  if (lowerCarrying(builder, statement))
    return;
  const Type type = statement.takeType();
  lowerAlike(
      builder, statement, type,
      ofInteger(type, [](auto v) { return Handler(binary<Op<decltype(v)>, decltype(v), decltype(v), decltype(v)>); }),
      2);
}

template <template <class> class Op> void lowerUnary(Builder &builder, Statement &statement) {
  if (isOfFloat(statement))
    return lowerFloat(builder, statement);
  const Type type = statement.takeType();
  lowerAlike(builder, statement, type,
             isSigned(type)
                 ? ofInteger(type, [](auto v) { return Handler(unary<Op<decltype(v)>, decltype(v), decltype(v)>); })
                 : nullptr,
             1);
}

template <template <class> class Op> void lowerDivision(Builder &builder, Statement &statement) {
  if (isOfFloat(statement))
    return lowerFloat(builder, statement);
  const Type type = statement.takeType();
  lowerAlike(builder, statement, type,
             ofInteger(type, [](auto v) { return Handler(divide<Op<decltype(v)>, decltype(v)>); }), 2);
}

template <template <class> class Op> Handler product(Type type, bool adds) {
  return ofInteger(type, [=](auto v) {
    using T = decltype(v);
    return adds ? Handler(ternary<Op<T>, T, T, T, T>) : Handler(binary<Op<T>, T, T, T>);
  });
}

Handler wideProduct(Type type, bool adds) {
  if (bytesOf(type) == 8)
    return nullptr;
  return ofInteger(type, [=](auto v) {
    using T = decltype(v);
    if constexpr (sizeof(T) == 8)
      return Handler(nullptr);
    else
      return adds ? Handler(ternary<MultiplyWide<T>, Double<T>, T, T, Double<T>>)
                  : Handler(binary<MultiplyWide<T>, Double<T>, T, T>);
  });
}

void lowerProduct(Builder &builder, Statement &statement, bool adds) {
  if (isOfFloat(statement))
    return lowerFloat(builder, statement);
  const size_t sources = adds ? 3 : 2;
  const int half = statement.takeOneOf({"lo", "hi", "wide"});
  if (half < 2 && lowerCarrying(builder, statement))
    return;
  const Type type = statement.takeType();
  if (half == 0)
    return lowerAlike(builder, statement, type, product<MultiplyLow>(type, adds), sources);
  if (half == 1)
    return lowerAlike(builder, statement, type, product<MultiplyHigh>(type, adds), sources);
  const Handler handler = half == 2 ? wideProduct(type, adds) : nullptr;
  if (!handler)
    return builder.fail("this product is not supported");
  if (!builder.expect(statement, sources + 1))
    return;
  const uint32_t bytes = bytesOf(type), a = builder.source(statement.operands[1], type),
                 b = builder.source(statement.operands[2], type),
                 c = adds ? builder.source(statement.operands[3], bytes * 2) : kNoRegister;
  builder.emit(handler, builder.target(statement.operands[0], bytes * 2), {a, b, c});
}

} // namespace

void lowerAlike(Builder &builder, const Statement &statement, Type type, Handler handler, size_t sources) {
  if (!builder.expect(statement, sources + 1))
    return;
  if (!handler)
    return builder.fail(absl::StrCat("'", statement.parts[0], "' does not support this type"));
  uint32_t from[3] = {kNoRegister, kNoRegister, kNoRegister};
  for (size_t index = 0; index < sources; ++index)
    from[index] = builder.source(statement.operands[index + 1], type);
  builder.emit(handler, builder.target(statement.operands[0], type), {from[0], from[1], from[2]});
}

Lowerings integerLowerings() {
  return {{"add", lowerBinary<Add>},
          {"sub", lowerBinary<Subtract>},
          {"min", lowerBinary<Minimum>},
          {"max", lowerBinary<Maximum>},
          {"neg", lowerUnary<Negate>},
          {"abs", lowerUnary<Absolute>},
          {"div", lowerDivision<Quotient>},
          {"rem", lowerDivision<Remainder>},
          {"mul", [](Builder &builder, Statement &statement) { lowerProduct(builder, statement, false); }},
          {"mad", [](Builder &builder, Statement &statement) { lowerProduct(builder, statement, true); }}};
}

} // namespace splitcast::cuda_on_cpu
