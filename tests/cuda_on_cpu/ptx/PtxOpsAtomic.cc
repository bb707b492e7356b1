#include "tests/cuda_on_cpu/ptx/PtxFloat.h"
#include "tests/cuda_on_cpu/ptx/PtxOps.h"

#include <algorithm>

namespace splitcast::cuda_on_cpu {
namespace {

// What replaces the old value; `c` is the third operand of cas.

template <class T> struct Add {
  static T of(T old, T b, T) {
    if constexpr (isNarrow<T>)
      return narrowed<T>(widened(old) + widened(b), Rounding::Nearest);
    else if constexpr (std::is_floating_point_v<T>)
      return canonical(old + b);
    else
      return static_cast<T>(static_cast<Wrapping<T>>(old) + static_cast<Wrapping<T>>(b));
  }
};
template <class T> struct Minimum {
  static T of(T old, T b, T) { return std::min(old, b); }
};
template <class T> struct Maximum {
  static T of(T old, T b, T) { return std::max(old, b); }
};
template <class T> struct And {
  static T of(T old, T b, T) { return old & b; }
};
template <class T> struct Or {
  static T of(T old, T b, T) { return old | b; }
};
template <class T> struct Xor {
  static T of(T old, T b, T) { return old ^ b; }
};
template <class T> struct Exchange {
  static T of(T, T b, T) { return b; }
};
template <class T> struct CompareAndSwap {
  static T of(T old, T b, T c) { return old == b ? c : old; }
};
template <class T> struct Increment {
  static T of(T old, T b, T) { return old >= b ? 0 : old + 1; }
};
template <class T> struct Decrement {
  static T of(T old, T b, T) { return old == 0 || old > b ? b : old - 1; }
};

/// `list` is the space.
template <class Op, class T> Next update(Warp &warp, const Inst &inst, uint32_t lanes) {
  const auto *addresses = warp.lanes<uint64_t>(inst.sources[0]);
  const T *b = warp.lanes<T>(inst.sources[1]), *c = warp.lanes<T>(inst.sources[2]);
  T *d = warp.lanes<T>(inst.d);
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
    uint8_t *at = warp.place(static_cast<Space>(inst.list), addresses[lane] + static_cast<uint64_t>(inst.immediate),
                             sizeof(T), lane, Access::Atomic);
    if (!at)
      return warp.fail(inst, lane, warp.refusal());
    T old;
    std::memcpy(&old, at, sizeof(T));
    const T updated = Op::of(old, b[lane], c[lane]);
    std::memcpy(at, &updated, sizeof(T));
    d[lane] = old;
  }
  return Next::Step;
}

template <template <class> class Op> Handler ofNumber(Type type) {
  switch (type) {
  case Type::U32:
    return update<Op<uint32_t>, uint32_t>;
  case Type::S32:
    return update<Op<int32_t>, int32_t>;
  case Type::U64:
    return update<Op<uint64_t>, uint64_t>;
  case Type::S64:
    return update<Op<int64_t>, int64_t>;
  default:
    return nullptr;
  }
}
Handler addition(Type type) {
  switch (type) {
  case Type::F16:
    return update<Add<Half>, Half>;
  case Type::BF16:
    return update<Add<Bfloat>, Bfloat>;
  case Type::F32:
    return update<Add<float>, float>;
  case Type::F64:
    return update<Add<double>, double>;
  default:
    return ofNumber<Add>(type);
  }
}
template <template <class> class Op> Handler ofWord(Type type) {
  return type == Type::B32   ? update<Op<uint32_t>, uint32_t>
         : type == Type::B64 ? Handler(update<Op<uint64_t>, uint64_t>)
                             : nullptr;
}
template <template <class> class Op> Handler ofUnsigned(Type type) {
  return type == Type::U32 ? update<Op<uint32_t>, uint32_t> : nullptr;
}
Handler swap(Type type) {
  return type == Type::B16 ? update<CompareAndSwap<uint16_t>, uint16_t> : ofWord<CompareAndSwap>(type);
}

struct Operation {
  absl::string_view name;
  Handler (*handlerOf)(Type);
};
constexpr Operation kOperations[] = {{"add", addition},
                                     {"min", ofNumber<Minimum>},
                                     {"max", ofNumber<Maximum>},
                                     {"and", ofWord<And>},
                                     {"or", ofWord<Or>},
                                     {"xor", ofWord<Xor>},
                                     {"exch", ofWord<Exchange>},
                                     {"cas", swap},
                                     {"inc", ofUnsigned<Increment>},
                                     {"dec", ofUnsigned<Decrement>}};

/// red is atom without a result.
void lowerUpdate(Builder &builder, Statement &statement) {
  const bool hasResult = statement.parts[0] == "atom";
  statement.takeOneOf({"relaxed", "acquire", "release", "acq_rel"});
  statement.takeOneOf({"cta", "cluster", "gpu", "sys"});
  const int space = statement.takeOneOf({"global", "shared", "shared::cta"});
  const absl::string_view name = statement.rest();
  statement.take(name);
  statement.take("noftz");
  const Type type = statement.takeType();
  const auto *operation = std::find_if(std::begin(kOperations), std::end(kOperations),
                                       [&](const Operation &candidate) { return candidate.name == name; });
  const Handler handler = operation == std::end(kOperations) ? nullptr : operation->handlerOf(type);
  if (!handler)
    return builder.fail("this atomic operation is not supported");
  const size_t first = hasResult ? 1 : 0, third = name == "cas" ? 1 : 0;
  if (!builder.expect(statement, first + 2 + third))
    return;
  const Operand &place = statement.operands[first];
  const uint32_t at = builder.address(place), b = builder.source(statement.operands[first + 1], type),
                 c = third != 0 ? builder.source(statement.operands[first + 2], type) : kNoRegister,
                 d = hasResult ? builder.target(statement.operands[0], type) : builder.temporary(bytesOf(type));
  builder.emit(handler, d, {at, b, c}, place.offset).list = static_cast<uint32_t>(space < 0    ? Space::Generic
                                                                                  : space == 0 ? Space::Global
                                                                                               : Space::Shared);
}

} // namespace

Lowerings atomicLowerings() { return {{"atom", lowerUpdate}, {"red", lowerUpdate}}; }

} // namespace splitcast::cuda_on_cpu
