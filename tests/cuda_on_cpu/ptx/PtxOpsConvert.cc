#include "tests/cuda_on_cpu/ptx/PtxFloat.h"
#include "tests/cuda_on_cpu/ptx/PtxOps.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <limits>

namespace splitcast::cuda_on_cpu {
namespace {

/// Rounded to an integer, if R is not kNone.
constexpr int kNone = -1, kNearest = 0, kZero = 1, kDown = 2, kUp = 3;
template <int R, class F> F toIntegral(F value) {
  switch (R) {
  case kNearest:
    return std::nearbyint(value); // ties to even; nobody changes the mode
  case kZero:
    return std::trunc(value);
  case kDown:
    return std::floor(value);
  case kUp:
    return std::ceil(value);
  default:
    return value;
  }
}

template <class T> auto wide(T value) {
  if constexpr (isNarrow<T>)
    return widened(value);
  else
    return value;
}

/// What does not fit becomes the nearest number that does; NaN becomes 0.
template <class D, class S, int R> struct FloatToInteger {
  static D of(S value) {
    const auto integral = toIntegral<R>(wide(value));
    using F = decltype(integral);
    // 2^bits is exact in every type, the greatest integer is not.
    const F end = std::ldexp(F{1}, std::numeric_limits<D>::digits);
    if (integral != integral)
      return 0;
    if (integral >= end)
      return std::numeric_limits<D>::max();
    if (integral < static_cast<F>(std::numeric_limits<D>::min()))
      return std::numeric_limits<D>::min();
    return static_cast<D>(integral);
  }
};

template <class D, class S, int R> struct IntegerToFloat {
  static D of(S value) {
    if constexpr (isNarrow<D>) {
      // In double, of 64 bits, some would be rounded twice: the bits that are lost count as one that is set.
      const bool negative = value < 0;
      uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
      if (magnitude >> 53 != 0)
        magnitude = magnitude >> 11 << 11 | static_cast<uint64_t>((magnitude & 2047) != 0) << 11;
      const auto exact = static_cast<double>(magnitude);
      return narrowed<D>(negative ? -exact : exact, static_cast<Rounding>(R));
    } else {
      if (R == kNearest)
        return static_cast<D>(value);
      return roundedFrom<D>(static_cast<long double>(value), static_cast<Rounding>(R));
    }
  }
};

/// Narrower: rounded; as wide: R rounds to an integer.
template <class D, class S, int R> struct FloatToFloat {
  static D of(S value) {
    if constexpr (std::is_same_v<D, S> && isNarrow<D>)
      return R == kNone ? value : narrowed<D>(toIntegral<R>(widened(value)), Rounding::Nearest);
    else if constexpr (std::is_same_v<D, S>)
      return canonical(toIntegral<R>(value));
    else if constexpr (isNarrow<D>)
      return narrowed<D>(wide(value), R == kNone ? Rounding::Nearest : static_cast<Rounding>(R));
    else if constexpr (R == kNone || sizeof(D) > sizeof(S))
      return canonical(static_cast<D>(wide(value)));
    else
      return canonical(roundedFrom<D>(static_cast<long double>(wide(value)), static_cast<Rounding>(R)));
  }
};

template <class D, class S> struct SaturateInteger {
  static D of(S value) {
    using Wide = __int128;
    const Wide least = std::numeric_limits<D>::min(), most = std::numeric_limits<D>::max();
    return static_cast<D>(std::clamp<Wide>(value, least, most));
  }
};

template <class T> struct SaturateFloat {
  static T of(T value) {
    const double clamped = std::clamp(std::isnan(wide(value)) ? 0.0 : static_cast<double>(wide(value)), 0.0, 1.0);
    if constexpr (isNarrow<T>)
      return narrowed<T>(clamped, Rounding::Nearest);
    else
      return static_cast<T>(clamped);
  }
};

template <class F> Handler ofAnyInteger(Type type, F make) {
  return type == Type::U8 ? make(uint8_t()) : type == Type::S8 ? make(int8_t()) : ofInteger(type, make);
}

template <template <class, class, int> class Op, class D, class S> Handler withRounding(int rounding) {
  switch (rounding) {
  case kNearest:
    return unary<Op<D, S, kNearest>, D, S>;
  case kZero:
    return unary<Op<D, S, kZero>, D, S>;
  case kDown:
    return unary<Op<D, S, kDown>, D, S>;
  case kUp:
    return unary<Op<D, S, kUp>, D, S>;
  default:
    return unary<Op<D, S, kNone>, D, S>;
  }
}

Handler conversion(Type to, Type from, int rounding) {
  if (isFloat(to) && isFloat(from))
    return ofFloat(to, [=](auto d) {
      return ofFloat(from, [=](auto s) { return withRounding<FloatToFloat, decltype(d), decltype(s)>(rounding); });
    });
  if (isFloat(to))
    return ofFloat(to, [=](auto d) {
      return ofAnyInteger(from,
                          [=](auto s) { return withRounding<IntegerToFloat, decltype(d), decltype(s)>(rounding); });
    });
  if (isFloat(from))
    return ofAnyInteger(to, [=](auto d) {
      return ofFloat(from, [=](auto s) { return withRounding<FloatToInteger, decltype(d), decltype(s)>(rounding); });
    });
  return ofAnyInteger(to, [=](auto d) {
    return ofAnyInteger(from, [](auto s) {
      using D = decltype(d);
      return Handler(unary<SaturateInteger<D, decltype(s)>, D, decltype(s)>);
    });
  });
}

struct FlushSubnormal {
  static float of(float a) { return std::fpclassify(a) == FP_SUBNORMAL ? std::copysign(0.0F, a) : a; }
};

/// The text's rounding must be the one kind that the types need: none, of integers (.rni) or of numbers (.rn).
bool hasRightRounding(Type to, Type from, int ofIntegers, int ofNumbers) {
  const bool floats = isFloat(to) && isFloat(from);
  if (isInteger(to) && isInteger(from))
    return ofIntegers < 0 && ofNumbers < 0;
  if (isInteger(to))
    return ofIntegers >= 0 && ofNumbers < 0;
  if (!floats || bytesOf(to) < bytesOf(from))
    return ofNumbers >= 0 && ofIntegers < 0;
  return ofNumbers < 0 && (bytesOf(to) == bytesOf(from) ? to == from : ofIntegers < 0);
}

/// Two floats into the halves of a register; the first operand is the upper half.
void lowerConvertToTwo(Builder &builder, Statement &statement, Type to, int ofNumbers) {
  const Type from = statement.takeType(), half = to == Type::F16x2 ? Type::F16 : Type::BF16;
  if (from != Type::F32 || ofNumbers < 0)
    return builder.fail("this conversion is not supported");
  if (!builder.expect(statement, 3))
    return;
  uint32_t halves[2];
  for (size_t index : {1, 2}) {
    const uint32_t source = builder.source(statement.operands[index], from), narrow = builder.temporary(2);
    builder.emit(conversion(half, from, ofNumbers), narrow, {source});
    halves[index - 1] = builder.resized(narrow, 2, 4, false);
  }
  const uint32_t both = builder.target(statement.operands[0], to);
  builder.emit(
      [](Warp &warp, const Inst &inst, uint32_t lanes) {
        const auto *high = warp.lanes<uint32_t>(inst.sources[0]), *low = warp.lanes<uint32_t>(inst.sources[1]);
        auto *d = warp.lanes<uint32_t>(inst.d);
        forLanes(lanes, [=](uint32_t lane) { d[lane] = high[lane] << 16 | low[lane]; });
        return Next::Step;
      },
      both, {halves[0], halves[1]});
}

uint32_t widthOf(const Operand &operand, Type type) {
  return operand.kind == Operand::Kind::Register && operand.bytes >= bytesOf(type) && operand.bytes > 1 ? operand.bytes
                                                                                                        : bytesOf(type);
}

uint32_t through(Builder &builder, Handler handler, uint32_t at, uint32_t bytes) {
  const uint32_t result = builder.temporary(bytes);
  builder.emit(handler, result, {at});
  return result;
}

/// Registers may be wider than the types: the source's low bits count, the result is extended.
void lowerConvert(Builder &builder, Statement &statement) {
  const int ofIntegers = statement.takeOneOf({"rni", "rzi", "rmi", "rpi"});
  const int ofNumbers = statement.takeOneOf({"rn", "rz", "rm", "rp"});
  const bool flushes = statement.take("ftz"), saturates = statement.take("sat");
  const Type to = statement.takeType();
  if ((to == Type::F16x2 || to == Type::BF16x2) && !flushes && !saturates && ofIntegers < 0)
    return lowerConvertToTwo(builder, statement, to, ofNumbers);
  const Type from = statement.takeType();
  const bool integers = isInteger(to) && isInteger(from);
  Handler handler = conversion(to, from, ofIntegers >= 0 ? ofIntegers : ofNumbers);
  if (!builder.expect(statement, 2))
    return;
  if (!handler || !hasRightRounding(to, from, ofIntegers, ofNumbers) ||
      (flushes && to != Type::F32 && from != Type::F32))
    return builder.fail("this conversion is not supported");
  const uint32_t sourceWidth = widthOf(statement.operands[1], from);
  uint32_t source = builder.source(statement.operands[1], sourceWidth);
  source = builder.resized(source, sourceWidth, bytesOf(from), false);
  if (flushes && from == Type::F32)
    source = through(builder, unary<FlushSubnormal, float, float>, source, 4);
  const uint32_t targetWidth = widthOf(statement.operands[0], to),
                 target = builder.target(statement.operands[0], targetWidth);
  if (integers && !saturates)
    return builder.resizeInto(target, targetWidth, builder.resized(source, bytesOf(from), bytesOf(to), isSigned(from)),
                              bytesOf(to), isSigned(to));
  uint32_t result = through(builder, handler, source, bytesOf(to));
  if (flushes && to == Type::F32)
    result = through(builder, unary<FlushSubnormal, float, float>, result, 4);
  if (saturates && isFloat(to))
    result = through(
        builder,
        ofFloat(to, [](auto v) { return Handler(unary<SaturateFloat<decltype(v)>, decltype(v), decltype(v)>); }),
        result, bytesOf(to));
  builder.resizeInto(target, targetWidth, result, bytesOf(to), isSigned(to));
}

/// Parts of a register, the lowest first.
struct Part {
  uint32_t at, bytes;
};
/// LLVM packs vectors of which a part is undefined, and takes only the others out again: such a part is NaN.
Next pack(Warp &warp, const Inst &inst, uint32_t lanes) {
  const auto parts = static_cast<uint32_t>(inst.immediate);
  const uint32_t *list = &warp.launch.program.lists[inst.list];
  const uint32_t bytes = list[parts], whole = bytes * parts;
  for (uint32_t part = 0; part != parts; ++part) {
    const auto *from = warp.lanes<uint8_t>(list[part]);
    auto *to = warp.lanes<uint8_t>(inst.d) + part * bytes;
    const uint32_t written = warp.written(list[part]) & lanes;
    forLanes(written, [=](uint32_t lane) { std::memcpy(to + lane * whole, from + lane * bytes, bytes); });
    forLanes(lanes & ~written, [=](uint32_t lane) { std::memset(to + lane * whole, 0xff, bytes); });
  }
  return Next::Step;
}
Next unpack(Warp &warp, const Inst &inst, uint32_t lanes) {
  const auto parts = static_cast<uint32_t>(inst.immediate);
  const uint32_t *list = &warp.launch.program.lists[inst.list];
  const uint32_t bytes = list[parts], whole = bytes * parts;
  for (uint32_t part = 0; part != parts; ++part) {
    const auto *from = warp.lanes<uint8_t>(inst.sources[0]) + part * bytes;
    auto *to = warp.lanes<uint8_t>(list[part]);
    forLanes(lanes, [=](uint32_t lane) { std::memcpy(to + lane * bytes, from + lane * whole, bytes); });
    warp.written(list[part]) |= lanes;
  }
  return Next::Step;
}

void lowerMoveOfParts(Builder &builder, Statement &statement, Type type) {
  const bool packs = statement.operands[1].kind == Operand::Kind::Vector;
  const std::vector<Operand> &elements = statement.operands[packs ? 1 : 0].elements;
  if (!isBits(type) || elements.empty() || bytesOf(type) % elements.size() != 0 || bytesOf(type) == elements.size())
    return builder.fail("these parts are not supported");
  const auto bytes = static_cast<uint32_t>(bytesOf(type) / elements.size());
  const uint32_t whole =
      packs ? builder.target(statement.operands[0], type) : builder.source(statement.operands[1], type);
  std::vector<uint32_t> list;
  for (const Operand &element : elements)
    list.push_back(packs ? builder.source(element, bytes) : builder.target(element, bytes));
  list.push_back(bytes);
  Inst &inst = packs ? builder.emit(pack, whole, {}) : builder.emit(unpack, kNoRegister, {whole});
  inst.immediate = static_cast<int64_t>(elements.size());
  inst.list = static_cast<uint32_t>(builder.program.lists.size());
  builder.program.lists.insert(builder.program.lists.end(), list.begin(), list.end());
}

/// Instructions so far; the launch adds them up now and then, this one each time it is asked.
Next readClock(Warp &warp, const Inst &inst, uint32_t lanes) {
  const auto now = static_cast<uint64_t>(++warp.launch.instructions);
  for (uint32_t lane = 0; lane != kWarpSize; ++lane)
    if (lanes >> lane & 1)
      std::memcpy(warp.lanes<uint8_t>(inst.d) + lane * inst.immediate, &now, inst.immediate);
  return Next::Step;
}

void lowerMove(Builder &builder, Statement &statement) {
  const Type type = statement.takeType();
  if (!builder.expect(statement, 2))
    return;
  const Operand &from = statement.operands[1];
  if (from.kind == Operand::Kind::Vector || statement.operands[0].kind == Operand::Kind::Vector)
    return lowerMoveOfParts(builder, statement, type);
  if (type == Type::None || (type != Type::Pred && bytesOf(type) == 1))
    return builder.fail("mov does not support this type");
  const uint32_t bytes = bytesOf(type), target = builder.target(statement.operands[0], type);
  if (from.kind == Operand::Kind::Clock) {
    if (from.bytes != bytes)
      return builder.fail("the clock has another width");
    builder.emit(readClock, target, {}, bytes);
    return;
  }
  builder.resizeInto(target, bytes, builder.source(from, type), bytes, false);
}

struct EnterWindow {
  static uint64_t of(uint64_t address, uint64_t window) { return address | window; }
};
/// Generic to a window: of another window, or of none, is what no access will accept.
struct LeaveWindow {
  static uint64_t of(uint64_t address, uint64_t window) {
    return (address & kWindowMask) == window ? address & ~kWindowMask : address | uint64_t{1} << 63;
  }
};

void lowerAddress(Builder &builder, Statement &statement) {
  const bool toSpace = statement.take("to");
  const int space = statement.takeOneOf({"global", "const", "shared", "local", "param"});
  const Type type = statement.takeType();
  if (space < 0 || type != Type::U64)
    return builder.fail("this cvta is not supported");
  if (!builder.expect(statement, 2))
    return;
  const uint32_t target = builder.target(statement.operands[0], type),
                 from = builder.source(statement.operands[1], type);
  if (space < 2)
    return builder.resizeInto(target, 8, from, 8, false);
  const uint64_t windows[] = {kSharedWindow, kLocalWindow, kParamWindow};
  using U = uint64_t;
  builder.emit(toSpace ? binary<LeaveWindow, U, U, U> : Handler(binary<EnterWindow, U, U, U>), target,
               {from, builder.constant(8, windows[space - 2])});
}

} // namespace

Lowerings convertLowerings() { return {{"cvt", lowerConvert}, {"mov", lowerMove}, {"cvta", lowerAddress}}; }

} // namespace splitcast::cuda_on_cpu
