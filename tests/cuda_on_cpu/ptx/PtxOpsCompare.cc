#include "tests/cuda_on_cpu/ptx/PtxFloat.h"
#include "tests/cuda_on_cpu/ptx/PtxOps.h"

#include <algorithm>
#include <iterator>

namespace splitcast::cuda_on_cpu {
namespace {

template <class T> auto comparable(T value) {
  if constexpr (isNarrow<T>)
    return widened(value);
  else
    return value;
}
template <class T> bool isUnordered(T a, T b) { return a != a || b != b; }

struct Equal {
  template <class T> static bool of(T a, T b) { return a == b; }
};
struct NotEqual { // and ordered
  template <class T> static bool of(T a, T b) { return !isUnordered(a, b) && a != b; }
};
struct Less {
  template <class T> static bool of(T a, T b) { return a < b; }
};
struct LessEqual {
  template <class T> static bool of(T a, T b) { return a <= b; }
};
struct Greater {
  template <class T> static bool of(T a, T b) { return a > b; }
};
struct GreaterEqual {
  template <class T> static bool of(T a, T b) { return a >= b; }
};
struct Ordered {
  template <class T> static bool of(T a, T b) { return !isUnordered(a, b); }
};
/// Where the other one is false.
template <class Op> struct Inverse {
  template <class T> static bool of(T a, T b) { return !Op::of(a, b); }
};

template <class Op, class T> struct Compare {
  static uint8_t of(T a, T b) { return static_cast<uint8_t>(Op::of(comparable(a), comparable(b))); }
};

template <class Op> Handler comparison(Type type) {
  auto make = [](auto v) { return Handler(binary<Compare<Op, decltype(v)>, uint8_t, decltype(v), decltype(v)>); };
  if (Handler ofFloats = ofFloat(type, make))
    return ofFloats;
  return isBits(type) ? ofBits(type, make) : ofInteger(type, make);
}

enum Domain : uint8_t { All = 0, Floats = 1, Unsigned = 2, Bits = 4 };
struct Comparison {
  absl::string_view name;
  /// What it exists for: beside integers, or only there.
  int domain;
  Handler (*handlerOf)(Type);
};
constexpr Comparison kComparisons[] = {{"eq", Bits, comparison<Equal>},
                                       {"ne", Bits, comparison<NotEqual>},
                                       {"lt", All, comparison<Less>},
                                       {"le", All, comparison<LessEqual>},
                                       {"gt", All, comparison<Greater>},
                                       {"ge", All, comparison<GreaterEqual>},
                                       {"lo", Unsigned, comparison<Less>},
                                       {"ls", Unsigned, comparison<LessEqual>},
                                       {"hi", Unsigned, comparison<Greater>},
                                       {"hs", Unsigned, comparison<GreaterEqual>},
                                       {"equ", Floats, comparison<Inverse<NotEqual>>},
                                       {"neu", Floats, comparison<Inverse<Equal>>},
                                       {"ltu", Floats, comparison<Inverse<GreaterEqual>>},
                                       {"leu", Floats, comparison<Inverse<Greater>>},
                                       {"gtu", Floats, comparison<Inverse<LessEqual>>},
                                       {"geu", Floats, comparison<Inverse<Less>>},
                                       {"num", Floats, comparison<Ordered>},
                                       {"nan", Floats, comparison<Inverse<Ordered>>}};

Handler handlerOf(absl::string_view name, Type type) {
  const auto *found = std::find_if(std::begin(kComparisons), std::end(kComparisons),
                                   [&](const Comparison &comparison) { return comparison.name == name; });
  if (found == std::end(kComparisons) || (found->domain == Floats && !isFloat(type)) ||
      (found->domain == Unsigned && !isUnsigned(type)) || (found->domain != Bits && isBits(type)) || type == Type::B8 ||
      type == Type::Pred)
    return nullptr;
  return found->handlerOf(type);
}

struct And {
  static uint8_t of(uint8_t a, uint8_t b) { return a & b; }
};
struct Or {
  static uint8_t of(uint8_t a, uint8_t b) { return a | b; }
};
struct Xor {
  static uint8_t of(uint8_t a, uint8_t b) { return a ^ b; }
};
struct Not {
  static uint8_t of(uint8_t a) { return a ^ 1; }
};

/// What stands before the type, and the predicate that it means: a comparison, perhaps combined with a third operand.
struct Test {
  uint32_t result = 0, inverse = 0;
  bool good = false;
};

Test lowerTest(Builder &builder, Statement &statement, Type type, absl::string_view name, int combination) {
  const Handler handler = handlerOf(name, type);
  if (!handler) {
    builder.fail("this comparison is not supported for the type");
    return {};
  }
  if (!builder.expect(statement, combination < 0 ? 3 : 4))
    return {};
  const uint32_t a = builder.source(statement.operands[1], type), b = builder.source(statement.operands[2], type);
  Test test;
  test.good = true;
  test.result = builder.temporary(1);
  test.inverse = builder.temporary(1);
  builder.emit(handler, test.result, {a, b});
  builder.emit(unary<Not, uint8_t, uint8_t>, test.inverse, {test.result});
  if (combination < 0)
    return test;
  using U = uint8_t;
  static const Handler combine[] = {binary<And, U, U, U>, binary<Or, U, U, U>, binary<Xor, U, U, U>};
  const uint32_t c = builder.source(statement.operands[3], Type::Pred);
  for (uint32_t *at : {&test.result, &test.inverse}) {
    const uint32_t combined = builder.temporary(1);
    builder.emit(combine[combination], combined, {*at, c});
    *at = combined;
  }
  return test;
}

absl::string_view takeComparison(Statement &statement) {
  const absl::string_view name = statement.rest();
  statement.take(name);
  return name;
}

template <int shift> struct Part {
  static uint16_t of(uint32_t two) { return static_cast<uint16_t>(two >> shift); }
};

/// The lower halves' predicate, then the upper ones'.
void lowerSetPredicates(Builder &builder, const Statement &statement, absl::string_view name, Type part) {
  const Handler handler = handlerOf(name, part);
  if (!handler || statement.operands[0].kind != Operand::Kind::Pair)
    return builder.fail("this comparison of pairs is not supported");
  if (!builder.expect(statement, 3))
    return;
  static const Handler parts[] = {unary<Part<0>, uint16_t, uint32_t>, unary<Part<16>, uint16_t, uint32_t>};
  const uint32_t a = builder.source(statement.operands[1], 4), b = builder.source(statement.operands[2], 4);
  for (int half = 0; half < 2; ++half) {
    const uint32_t x = builder.temporary(2), y = builder.temporary(2);
    builder.emit(parts[half], x, {a});
    builder.emit(parts[half], y, {b});
    builder.emit(handler, builder.target(statement.operands[0].elements[half], Type::Pred), {x, y});
  }
}

void lowerSetPredicate(Builder &builder, Statement &statement) {
  const absl::string_view name = takeComparison(statement);
  const int combination = statement.takeOneOf({"and", "or", "xor"});
  const Type type = statement.takeType();
  if (statement.operands.empty())
    return builder.fail("setp needs operands");
  const Operand target = statement.operands[0];
  const bool isPair = target.kind == Operand::Kind::Pair;
  if (combination < 0 && (type == Type::F16x2 || type == Type::BF16x2))
    return lowerSetPredicates(builder, statement, name, type == Type::F16x2 ? Type::F16 : Type::BF16);
  if (!isPair && combination < 0) { // as nearly all are: one instruction
    const Handler handler = handlerOf(name, type);
    if (!handler)
      return builder.fail("this comparison is not supported for the type");
    if (!builder.expect(statement, 3))
      return;
    const uint32_t a = builder.source(statement.operands[1], type), b = builder.source(statement.operands[2], type);
    builder.emit(handler, builder.target(target, Type::Pred), {a, b});
    return;
  }
  const Test test = lowerTest(builder, statement, type, name, combination);
  if (!test.good)
    return;
  builder.resizeInto(builder.target(isPair ? target.elements[0] : target, Type::Pred), 1, test.result, 1, false);
  if (isPair)
    builder.resizeInto(builder.target(target.elements[1], Type::Pred), 1, test.inverse, 1, false);
}

template <class T> struct Select {
  static T of(T a, T b, uint8_t predicate) { return predicate != 0 ? a : b; }
};
template <class T> Handler selection() { return ternary<Select<T>, T, T, T, uint8_t>; }

void emitSelect(Builder &builder, uint32_t bytes, uint32_t d, uint32_t a, uint32_t b, uint32_t predicate) {
  const Handler handler = bytes == 2   ? selection<uint16_t>()
                          : bytes == 4 ? selection<uint32_t>()
                                       : selection<uint64_t>();
  builder.emit(handler, d, {a, b, predicate});
}

/// All ones or 0; 1.0 or 0 for f32.
void lowerSet(Builder &builder, Statement &statement) {
  const absl::string_view name = takeComparison(statement);
  const int combination = statement.takeOneOf({"and", "or", "xor"});
  const Type to = statement.takeType(), type = statement.takeType();
  if (to != Type::U32 && to != Type::S32 && to != Type::F32)
    return builder.fail("set gives u32, s32 or f32");
  const Test test = lowerTest(builder, statement, type, name, combination);
  if (test.good)
    emitSelect(builder, 4, builder.target(statement.operands[0], to),
               builder.constant(4, to == Type::F32 ? 0x3F800000 : ~uint64_t{0}), builder.constant(4, 0), test.result);
}

bool isSelectable(Type type) { return type != Type::Pred && bytesOf(type) >= 2; }

void lowerSelect(Builder &builder, Statement &statement) {
  const Type type = statement.takeType();
  if (!isSelectable(type))
    return builder.fail("selp does not support this type");
  if (!builder.expect(statement, 4))
    return;
  const uint32_t a = builder.source(statement.operands[1], type), b = builder.source(statement.operands[2], type),
                 predicate = builder.source(statement.operands[3], Type::Pred);
  emitSelect(builder, bytesOf(type), builder.target(statement.operands[0], type), a, b, predicate);
}

/// The first where the third is not negative.
void lowerSelectBySign(Builder &builder, Statement &statement) {
  const Type type = statement.takeType(), by = statement.takeType();
  if (!isSelectable(type) || (by != Type::S32 && by != Type::F32))
    return builder.fail("slct does not support this type");
  if (!builder.expect(statement, 4))
    return;
  const uint32_t a = builder.source(statement.operands[1], type), b = builder.source(statement.operands[2], type),
                 c = builder.source(statement.operands[3], by), predicate = builder.temporary(1);
  builder.emit(handlerOf("ge", by), predicate, {c, builder.constant(4, 0)});
  emitSelect(builder, bytesOf(type), builder.target(statement.operands[0], type), a, b, predicate);
}

template <class T, int Property> struct Classify {
  static uint8_t of(T a) {
    const int kind = std::fpclassify(a);
    switch (Property) {
    case 0:
      return static_cast<uint8_t>(std::isfinite(a));
    case 1:
      return static_cast<uint8_t>(kind == FP_INFINITE);
    case 2:
      return static_cast<uint8_t>(kind != FP_NAN);
    case 3:
      return static_cast<uint8_t>(kind == FP_NAN);
    case 4:
      return static_cast<uint8_t>(kind == FP_NORMAL || kind == FP_ZERO); // so PTX counts zeros
    default:
      return static_cast<uint8_t>(kind == FP_SUBNORMAL);
    }
  }
};
template <int Property> Handler classification(Type type) {
  return type == Type::F32   ? unary<Classify<float, Property>, uint8_t, float>
         : type == Type::F64 ? Handler(unary<Classify<double, Property>, uint8_t, double>)
                             : nullptr;
}

void lowerTestProperty(Builder &builder, Statement &statement) {
  static Handler (*const handlers[])(Type) = {classification<0>, classification<1>, classification<2>,
                                              classification<3>, classification<4>, classification<5>};
  const int property = statement.takeOneOf({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  const Type type = statement.takeType();
  if (!builder.expect(statement, 2))
    return;
  const Handler handler = property < 0 ? nullptr : handlers[property](type);
  if (!handler)
    return builder.fail("testp does not support this");
  const uint32_t a = builder.source(statement.operands[1], type);
  builder.emit(handler, builder.target(statement.operands[0], Type::Pred), {a});
}

} // namespace

Lowerings compareLowerings() {
  return {{"setp", lowerSetPredicate},
          {"set", lowerSet},
          {"selp", lowerSelect},
          {"slct", lowerSelectBySign},
          {"testp", lowerTestProperty}};
}

} // namespace splitcast::cuda_on_cpu
