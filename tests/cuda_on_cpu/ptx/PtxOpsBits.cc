#include "tests/cuda_on_cpu/ptx/PtxOps.h"

#include <algorithm>

namespace splitcast::cuda_on_cpu {
namespace {

template <class T> constexpr uint32_t kBits = sizeof(T) * 8;

template <class T> struct And {
  static T of(T a, T b) { return a & b; }
};
template <class T> struct Or {
  static T of(T a, T b) { return a | b; }
};
template <class T> struct Xor {
  static T of(T a, T b) { return a ^ b; }
};
template <class T> struct Not { // predicates are 0 or 1
  static T of(T a) { return sizeof(T) == 1 ? a ^ 1 : static_cast<T>(~a); }
};
template <class T> struct ShiftLeft {
  static T of(T a, uint32_t by) { return by >= kBits<T> ? T{0} : static_cast<T>(static_cast<Wrapping<T>>(a) << by); }
};
template <class T> struct ShiftRight { // of signed values the sign comes in
  static T of(T a, uint32_t by) {
    return static_cast<T>(by < kBits<T> ? a >> by : std::is_signed_v<T> ? a >> (kBits<T> - 1) : 0);
  }
};
struct CountOnes {
  static uint32_t of(uint32_t a) { return static_cast<uint32_t>(__builtin_popcount(a)); }
  static uint32_t of(uint64_t a) { return static_cast<uint32_t>(__builtin_popcountll(a)); }
};
struct CountLeadingZeros {
  static uint32_t of(uint32_t a) { return a == 0 ? 32 : static_cast<uint32_t>(__builtin_clz(a)); }
  static uint32_t of(uint64_t a) { return a == 0 ? 64 : static_cast<uint32_t>(__builtin_clzll(a)); }
};
template <class T> struct Reverse {
  static T of(T a) {
    T result = 0;
    for (uint32_t bit = 0; bit != kBits<T>; ++bit, a >>= 1)
      result = static_cast<T>(result << 1) | (a & 1);
    return result;
  }
};

/// The lowest `length` bits.
template <class T> T lowBits(uint32_t length) {
  return length >= kBits<T> ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << length) - 1);
}

/// PTX looks at 8 bits of position and length; what lies above the value's last bit is its sign, or 0.
template <class T> struct ExtractField {
  static T of(T a, uint32_t position, uint32_t length) {
    using U = std::make_unsigned_t<T>;
    position &= 255;
    length &= 255;
    const U field = position >= kBits<T> ? 0 : static_cast<U>(a) >> position & lowBits<U>(length);
    if (!std::is_signed_v<T> || length == 0)
      return static_cast<T>(field);
    const uint32_t top = std::min(position + length - 1, kBits<T> - 1);
    if ((static_cast<U>(a) >> top & 1) == 0)
      return static_cast<T>(field);
    const uint32_t kept = position >= kBits<T> ? 0 : std::min(length, kBits<T> - position);
    return static_cast<T>(field | static_cast<U>(~lowBits<U>(kept)));
  }
};

template <class T> Next insertField(Warp &warp, const Inst &inst, uint32_t lanes) {
  const T *a = warp.lanes<T>(inst.sources[0]), *b = warp.lanes<T>(inst.sources[1]);
  const auto *positions = warp.lanes<uint32_t>(inst.sources[2]), *lengths = warp.lanes<uint32_t>(inst.sources[3]);
  T *d = warp.lanes<T>(inst.d);
  forLanes(lanes, [=](uint32_t lane) {
    const uint32_t position = positions[lane] & 255, length = lengths[lane] & 255;
    const T mask = position >= kBits<T> ? T{0} : static_cast<T>(lowBits<T>(length) << position);
    d[lane] = (b[lane] & ~mask) | (mask == 0 ? T{0} : static_cast<T>(a[lane] << position) & mask);
  });
  return Next::Step;
}

struct Permute {
  static uint32_t of(uint32_t a, uint32_t b, uint32_t selector) {
    const uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
    uint32_t result = 0;
    for (uint32_t index = 0; index != 4; ++index) {
      const uint32_t choice = selector >> index * 4 & 15;
      const auto byte = static_cast<uint8_t>(bytes >> (choice & 7) * 8);
      const uint32_t chosen = (choice & 8) == 0 ? byte : (byte & 128) != 0 ? 255 : 0;
      result |= chosen << index * 8;
    }
    return result;
  }
};

/// Bit (4a + 2b + c) of the table.
Next logicOfThree(Warp &warp, const Inst &inst, uint32_t lanes) {
  const auto *a = warp.lanes<uint32_t>(inst.sources[0]), *b = warp.lanes<uint32_t>(inst.sources[1]),
             *c = warp.lanes<uint32_t>(inst.sources[2]);
  auto *d = warp.lanes<uint32_t>(inst.d);
  const int64_t table = inst.immediate;
  forLanes(lanes, [=](uint32_t lane) {
    uint32_t result = 0;
    for (uint32_t row = 0; row != 8; ++row)
      if (table >> row & 1)
        result |= ((row & 4) != 0 ? a[lane] : ~a[lane]) & ((row & 2) != 0 ? b[lane] : ~b[lane]) &
                  ((row & 1) != 0 ? c[lane] : ~c[lane]);
    d[lane] = result;
  });
  return Next::Step;
}

/// Of the 64 bits b:a the upper half after a shift to the left, or the lower one after a shift to the right.
template <bool Left, bool Wrap> struct FunnelShift {
  static uint32_t of(uint32_t a, uint32_t b, uint32_t amount) {
    const uint32_t by = Wrap ? amount & 31 : std::min(amount, uint32_t{32});
    const uint64_t both = static_cast<uint64_t>(b) << 32 | a;
    return static_cast<uint32_t>(Left ? both << by >> 32 : both >> by);
  }
};

template <template <class> class Op> void lowerLogic(Builder &builder, Statement &statement) {
  const Type type = statement.takeType();
  lowerAlike(
      builder, statement, type,
      ofBits(type, [](auto v) { return Handler(binary<Op<decltype(v)>, decltype(v), decltype(v), decltype(v)>); }), 2);
}

void lowerNot(Builder &builder, Statement &statement) {
  const Type type = statement.takeType();
  lowerAlike(builder, statement, type,
             ofBits(type, [](auto v) { return Handler(unary<Not<decltype(v)>, decltype(v), decltype(v)>); }), 1);
}

void lowerShift(Builder &builder, Statement &statement, Type type, Handler handler) {
  if (!handler || type == Type::Pred)
    return builder.fail("a shift of this type is not supported");
  if (!builder.expect(statement, 3))
    return;
  const uint32_t a = builder.source(statement.operands[1], type), b = builder.source(statement.operands[2], Type::U32);
  builder.emit(handler, builder.target(statement.operands[0], type), {a, b});
}

void lowerShiftLeft(Builder &builder, Statement &statement) {
  const Type type = statement.takeType();
  lowerShift(builder, statement, type, ofBits(type, [](auto v) {
               return Handler(binary<ShiftLeft<decltype(v)>, decltype(v), decltype(v), uint32_t>);
             }));
}

void lowerShiftRight(Builder &builder, Statement &statement) {
  const Type type = statement.takeType();
  auto make = [](auto v) { return Handler(binary<ShiftRight<decltype(v)>, decltype(v), decltype(v), uint32_t>); };
  lowerShift(builder, statement, type, isBits(type) ? ofBits(type, make) : ofInteger(type, make));
}

template <class Op> void lowerCount(Builder &builder, Statement &statement) {
  const Type type = statement.takeType();
  if (!builder.expect(statement, 2))
    return;
  if (type != Type::B32 && type != Type::B64)
    return builder.fail("bits are counted in b32 and b64");
  const uint32_t a = builder.source(statement.operands[1], type);
  builder.emit(type == Type::B32 ? unary<Op, uint32_t, uint32_t> : unary<Op, uint32_t, uint64_t>,
               builder.target(statement.operands[0], Type::U32), {a});
}

void lowerReverse(Builder &builder, Statement &statement) {
  const Type type = statement.takeType();
  const Handler handler = type == Type::B32   ? unary<Reverse<uint32_t>, uint32_t, uint32_t>
                          : type == Type::B64 ? Handler(unary<Reverse<uint64_t>, uint64_t, uint64_t>)
                                              : nullptr;
  lowerAlike(builder, statement, type, handler, 1);
}

void lowerExtract(Builder &builder, Statement &statement) {
  const Type type = statement.takeType();
  const Handler handler =
      bytesOf(type) < 4
          ? nullptr
          : ofInteger(
                type,
                [](auto v) {
                  return Handler(ternary<ExtractField<decltype(v)>, decltype(v), decltype(v), uint32_t, uint32_t>);
                });
  if (!builder.expect(statement, 4))
    return;
  if (!handler)
    return builder.fail("bfe does not support this type");
  const uint32_t a = builder.source(statement.operands[1], type), b = builder.source(statement.operands[2], Type::U32),
                 c = builder.source(statement.operands[3], Type::U32);
  builder.emit(handler, builder.target(statement.operands[0], type), {a, b, c});
}

void lowerInsert(Builder &builder, Statement &statement) {
  const Type type = statement.takeType();
  if (!builder.expect(statement, 5))
    return;
  if (type != Type::B32 && type != Type::B64)
    return builder.fail("bfi does not support this type");
  const uint32_t a = builder.source(statement.operands[1], type), b = builder.source(statement.operands[2], type),
                 c = builder.source(statement.operands[3], Type::U32),
                 e = builder.source(statement.operands[4], Type::U32);
  builder.emit(type == Type::B32 ? insertField<uint32_t> : insertField<uint64_t>,
               builder.target(statement.operands[0], type), {a, b, c, e});
}

void lowerThree(Builder &builder, Statement &statement, Handler handler) {
  const Type type = statement.takeType();
  lowerAlike(builder, statement, type, type == Type::B32 ? handler : nullptr, 3);
}

void lowerLogicOfThree(Builder &builder, Statement &statement) {
  if (statement.operands.size() != 5 || statement.operands[4].kind != Operand::Kind::Immediate)
    return builder.fail("lop3 takes four operands and a table");
  const auto table = static_cast<int64_t>(statement.operands[4].bits);
  statement.operands.pop_back();
  lowerThree(builder, statement, logicOfThree);
  if (!builder.failed())
    builder.program.code.back().immediate = table;
}

void lowerFunnelShift(Builder &builder, Statement &statement) {
  using U = uint32_t;
  static const Handler handlers[2][2] = {
      {ternary<FunnelShift<true, false>, U, U, U, U>, ternary<FunnelShift<true, true>, U, U, U, U>},
      {ternary<FunnelShift<false, false>, U, U, U, U>, ternary<FunnelShift<false, true>, U, U, U, U>}};
  const int direction = statement.takeOneOf({"l", "r"}), mode = statement.takeOneOf({"clamp", "wrap"});
  if (direction < 0 || mode < 0)
    return builder.fail("this funnel shift is not supported");
  lowerThree(builder, statement, handlers[direction][mode]);
}

} // namespace

Lowerings bitLowerings() {
  using U = uint32_t;
  return {{"and", lowerLogic<And>},
          {"or", lowerLogic<Or>},
          {"xor", lowerLogic<Xor>},
          {"not", lowerNot},
          {"shl", lowerShiftLeft},
          {"shr", lowerShiftRight},
          {"shf", lowerFunnelShift},
          {"popc", lowerCount<CountOnes>},
          {"clz", lowerCount<CountLeadingZeros>},
          {"brev", lowerReverse},
          {"bfe", lowerExtract},
          {"bfi", lowerInsert},
          {"lop3", lowerLogicOfThree},
          {"prmt", [](Builder &builder, Statement &statement) {
             lowerThree(builder, statement, ternary<Permute, U, U, U, U>);
           }}};
}

} // namespace splitcast::cuda_on_cpu
