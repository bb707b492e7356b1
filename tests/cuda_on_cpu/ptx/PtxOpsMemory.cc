#include "tests/cuda_on_cpu/ptx/PtxOps.h"

#include <algorithm>

namespace splitcast::cuda_on_cpu {
namespace {

template <uint32_t Bytes>
using Unsigned =
    std::conditional_t<Bytes == 1, uint8_t,
                       std::conditional_t<Bytes == 2, uint16_t, std::conditional_t<Bytes == 4, uint32_t, uint64_t>>>;

/// What lanes 0, 1, ... of a warp touch, where that is one after the other: first address and number of lanes.
struct Row {
  uint64_t address = 0;
  uint32_t lanes = 0;
  bool isSame = false; // rather, all the same
};

template <uint32_t Bytes> Row rowOf(const uint64_t *addresses, uint32_t lanes, uint64_t offset) {
  if ((lanes & (lanes + 1)) != 0)
    return {};
  const auto count = static_cast<uint32_t>(__builtin_popcount(lanes));
  uint64_t apart = 0, different = 0;
  for (uint32_t lane = 0; lane != count; ++lane) {
    const uint64_t distance = addresses[lane] - addresses[0];
    apart |= distance ^ uint64_t { lane } * Bytes;
    different |= distance;
  }
  const uint64_t first = addresses[0] + offset;
  if (first % Bytes != 0 || (apart != 0 && different != 0))
    return {};
  return {first, count, apart != 0};
}

/// Where a row of accesses may touch memory; null: not all may, or one by one must tell.
template <uint32_t Bytes> uint8_t *placeRow(Warp &warp, Space space, const Row &row, Access access) {
  Launch &launch = warp.launch;
  const bool stores = access >= Access::Store;
  if (row.lanes == 0 || (row.isSame && stores))
    return nullptr;
  const uint64_t total = row.isSame ? Bytes : uint64_t{Bytes} * row.lanes;
  const uint32_t thread = warp.threadOf(0);
  auto check = [&](auto touch) {
    if (!launch.checksRaces)
      return true;
    if (!row.isSame)
      return touch(thread, row.lanes);
    // The first two lanes stand for all.
    return launch.races.lanesAreAlike(warp.number) && touch(thread, 1) && (row.lanes == 1 || touch(thread + 1, 1));
  };
  if (space == Space::Shared) {
    for (const Array &array : launch.sharedArrays)
      if (row.address >= array.begin && row.address < array.end && total <= array.end - row.address)
        return check([&](uint32_t first, uint32_t count) {
          return launch.races.shared(access, row.address, Bytes, first, count);
        })
                   ? launch.shared.data() + (row.address - kWindowBegin)
                   : nullptr;
    return nullptr;
  }
  if ((space == Space::Generic && (row.address & kWindowMask) != 0) || space > Space::Const ||
      (stores && !launch.program.globals.empty()) || !launch.isAllocated(row.address, total))
    return nullptr;
  return check([&](uint32_t first, uint32_t count) {
    return launch.races.global(access, row.address, Bytes, first, count);
  })
             ? reinterpret_cast<uint8_t *>(row.address)
             : nullptr;
}

/// The registers of the elements.
template <uint32_t Count> std::array<uint32_t, Count> elementsOf(Warp &warp, const Inst &inst, uint32_t single) {
  std::array<uint32_t, Count> result = {single};
  if (Count > 1)
    std::copy_n(&warp.launch.program.lists[inst.list], Count, result.begin());
  return result;
}

template <uint32_t Bytes, uint32_t Count, Space From> Next load(Warp &warp, const Inst &inst, uint32_t lanes) {
  using T = Unsigned<Bytes>;
  constexpr uint32_t whole = Bytes * Count;
  const auto *addresses = warp.lanes<uint64_t>(inst.sources[0]);
  const auto offset = static_cast<uint64_t>(inst.immediate);
  const Access access = inst.noncoherent ? Access::LoadNoncoherent : inst.atomic ? Access::LoadAtomic : Access::Load;
  const std::array<uint32_t, Count> targets = elementsOf<Count>(warp, inst, inst.d);
  const Row row = rowOf<whole>(addresses, lanes, offset);
  if (const uint8_t *from = placeRow<whole>(warp, From, row, access)) {
    const uint32_t stride = row.isSame ? 0 : whole;
    for (uint32_t element = 0; element != Count; ++element) {
      T *to = warp.lanes<T>(targets[element]);
      for (uint32_t lane = 0; lane != row.lanes; ++lane)
        std::memcpy(to + lane, from + lane * stride + element * Bytes, Bytes);
    }
  } else {
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
      from = warp.place(From, addresses[lane] + offset, whole, lane, access);
      if (!from)
        return warp.fail(inst, lane, warp.refusal());
      for (uint32_t element = 0; element != Count; ++element)
        std::memcpy(warp.lanes<T>(targets[element]) + lane, from + element * Bytes, Bytes);
    }
  }
  for (uint32_t target : targets)
    warp.written(target) |= lanes;
  return Next::Step;
}

template <uint32_t Bytes, uint32_t Count, Space To> Next store(Warp &warp, const Inst &inst, uint32_t lanes) {
  using T = Unsigned<Bytes>;
  constexpr uint32_t whole = Bytes * Count;
  const auto *addresses = warp.lanes<uint64_t>(inst.sources[0]);
  const auto offset = static_cast<uint64_t>(inst.immediate);
  const Access access = inst.atomic ? Access::Atomic : Access::Store;
  const std::array<uint32_t, Count> sources = elementsOf<Count>(warp, inst, inst.sources[1]);
  for (uint32_t source : sources)
    if (!warp.isWritten(source, lanes))
      return Next::Fault;
  const Row row = rowOf<whole>(addresses, lanes, offset);
  if (uint8_t *to = placeRow<whole>(warp, To, row, access)) {
    for (uint32_t element = 0; element != Count; ++element) {
      const T *from = warp.lanes<T>(sources[element]);
      for (uint32_t lane = 0; lane != row.lanes; ++lane)
        std::memcpy(to + lane * whole + element * Bytes, from + lane, Bytes);
    }
    return Next::Step;
  }
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
    uint8_t *to = warp.place(To, addresses[lane] + offset, whole, lane, access);
    if (!to)
      return warp.fail(inst, lane, warp.refusal());
    for (uint32_t element = 0; element != Count; ++element)
      std::memcpy(to + element * Bytes, warp.lanes<T>(sources[element]) + lane, Bytes);
  }
  return Next::Step;
}

template <uint32_t Bytes, uint32_t Count, bool Loads> Handler accessIn(Space space) {
  constexpr auto make = [](auto spaceConstant) {
    constexpr Space kSpace = decltype(spaceConstant)::value;
    return Loads ? Handler(load<Bytes, Count, kSpace>) : Handler(store<Bytes, Count, kSpace>);
  };
  switch (space) {
  case Space::Generic:
    return make(std::integral_constant<Space, Space::Generic>());
  case Space::Shared:
    return make(std::integral_constant<Space, Space::Shared>());
  case Space::Local:
    return make(std::integral_constant<Space, Space::Local>());
  case Space::Param:
    return make(std::integral_constant<Space, Space::Param>());
  default:
    return make(std::integral_constant<Space, Space::Global>());
  }
}

template <bool Loads, uint32_t Count> Handler accessOf(uint32_t bytes, Space space) {
  return bytes == 1   ? accessIn<1, Count, Loads>(space)
         : bytes == 2 ? accessIn<2, Count, Loads>(space)
         : bytes == 4 ? accessIn<4, Count, Loads>(space)
                      : accessIn<8, Count, Loads>(space);
}
template <bool Loads> Handler accessOf(uint32_t bytes, uint32_t count, Space space) {
  return count == 1   ? accessOf<Loads, 1>(bytes, space)
         : count == 2 ? accessOf<Loads, 2>(bytes, space)
                      : accessOf<Loads, 4>(bytes, space);
}

/// A kernel's argument, the same in all lanes.
template <class T> Next loadArgument(Warp &warp, const Inst &inst, uint32_t lanes) {
  T value;
  std::memcpy(&value, warp.launch.params.data() + inst.immediate, sizeof(value));
  T *d = warp.lanes<T>(inst.d);
  forLanes(lanes, [=](uint32_t lane) { d[lane] = value; });
  return Next::Step;
}

/// A parameter of a call: a register of each lane, `list` bytes wide, of which the instruction means a part.
template <uint32_t Bytes> Next loadCallParam(Warp &warp, const Inst &inst, uint32_t lanes) {
  const auto *from = warp.lanes<uint8_t>(inst.sources[0]) + inst.immediate;
  auto *d = warp.lanes<uint8_t>(inst.d);
  forLanes(lanes, [=, &inst](uint32_t lane) { std::memcpy(d + lane * Bytes, from + lane * inst.list, Bytes); });
  return Next::Step;
}
template <uint32_t Bytes> Next storeCallParam(Warp &warp, const Inst &inst, uint32_t lanes) {
  const auto *from = warp.lanes<uint8_t>(inst.sources[0]);
  auto *d = warp.lanes<uint8_t>(inst.d) + inst.immediate;
  forLanes(lanes, [=, &inst](uint32_t lane) { std::memcpy(d + lane * inst.list, from + lane * Bytes, Bytes); });
  return Next::Step;
}
template <bool Loads> Handler callParamAccess(uint32_t bytes) {
  return bytes == 1   ? Loads ? loadCallParam<1> : storeCallParam<1>
           : bytes == 2 ? Loads ? loadCallParam<2> : storeCallParam<2>
           : bytes == 4 ? Loads ? loadCallParam<4> : storeCallParam<4>
           : Loads ? loadCallParam<8>
                      : storeCallParam<8>;
}

struct Shape {
  Space space = Space::Generic;
  Type type = Type::None;
  uint32_t count = 1;
  bool noncoherent = false, atomic = false;
};

/// Where a hint for the caches may stand, it is skipped.
void skipHints(Statement &statement) {
  while (statement.takeOneOf({"L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last",
                              "L1::no_allocate", "L2::64B", "L2::128B", "L2::256B"}) >= 0) {
  }
}

Shape takeShape(Statement &statement) {
  Shape shape;
  const int order = statement.takeOneOf({"weak", "volatile", "relaxed", "acquire", "release"});
  shape.atomic = order >= 2;
  if (shape.atomic)
    statement.takeOneOf({"cta", "cluster", "gpu", "sys"});
  const int space = statement.takeOneOf(
      {"global", "const", "shared", "local", "param", "shared::cta", "param::entry", "param::func"});
  static const Space spaces[] = {Space::Global, Space::Const,  Space::Shared, Space::Local,
                                 Space::Param,  Space::Shared, Space::Param,  Space::Param};
  if (space >= 0)
    shape.space = spaces[space];
  statement.takeOneOf({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  shape.noncoherent = shape.space == Space::Global && statement.take("nc");
  skipHints(statement);
  const int vector = statement.takeOneOf({"v2", "v4"});
  shape.count = vector < 0 ? 1 : vector == 0 ? 2 : 4;
  shape.type = statement.takeType();
  return shape;
}

/// The elements of what is loaded or stored; empty: something is wrong.
std::vector<Operand> elementsOf(Builder &builder, const Shape &shape, const Operand &operand) {
  std::vector<Operand> elements = {operand};
  if (operand.kind == Operand::Kind::Vector)
    elements = operand.elements;
  if (shape.type == Type::None || shape.type == Type::Pred || elements.size() != shape.count ||
      (operand.kind == Operand::Kind::Vector) != (shape.count > 1) || bytesOf(shape.type) * shape.count > 16) {
    builder.fail("this type and number of elements is not supported");
    return {};
  }
  return elements;
}

/// An access of one element by a name in the space of parameters; false: it is none.
template <bool Loads>
bool emitNamedParam(Builder &builder, const Operand &address, const Shape &shape, uint32_t element, uint32_t index) {
  const uint32_t bytes = bytesOf(shape.type);
  if (shape.space != Space::Param || !address.symbol || address.symbol->kind == Symbol::Kind::Register)
    return false;
  const Symbol &symbol = *address.symbol;
  const int64_t offset = address.offset + int64_t{bytes} * index;
  const bool isArgument = symbol.kind == Symbol::Kind::KernelParam;
  if (offset < 0 || offset + bytes > symbol.bytes || address.offset % (int64_t{bytes} * shape.count) != 0 ||
      (!isArgument && symbol.kind != Symbol::Kind::CallParam) || (isArgument && !Loads)) {
    builder.fail("the access is outside of the parameter, misaligned, or a store to an argument");
  } else if (isArgument) {
    const auto at = static_cast<int64_t>(symbol.address - kWindowBegin) + offset;
    builder.emit(bytes == 1   ? loadArgument<uint8_t>
                 : bytes == 2 ? loadArgument<uint16_t>
                 : bytes == 4 ? loadArgument<uint32_t>
                              : loadArgument<uint64_t>,
                 element, {}, at);
  } else {
    builder.emit(callParamAccess<Loads>(bytes), Loads ? element : symbol.at, {Loads ? symbol.at : element}, offset)
        .list = symbol.bytes;
  }
  return true;
}

template <bool Loads>
void emitAccess(Builder &builder, const Operand &address, const Shape &shape, const std::vector<uint32_t> &elements) {
  if (emitNamedParam<Loads>(builder, address, shape, elements[0], 0)) {
    for (uint32_t index = 1; index < elements.size(); ++index)
      emitNamedParam<Loads>(builder, address, shape, elements[index], index);
    return;
  }
  const uint32_t at = builder.address(address);
  const Handler handler = accessOf<Loads>(bytesOf(shape.type), shape.count, shape.space);
  const bool single = shape.count == 1;
  Inst &inst = Loads ? builder.emit(handler, single ? elements[0] : kNoRegister, {at}, address.offset)
                     : builder.emit(handler, kNoRegister, {at, single ? elements[0] : kNoRegister}, address.offset);
  inst.list = static_cast<uint32_t>(builder.program.lists.size());
  inst.noncoherent = shape.noncoherent;
  inst.atomic = shape.atomic;
  builder.program.lists.insert(builder.program.lists.end(), elements.begin(), elements.end());
}

/// A register may be wider than what is loaded into it.
void lowerLoad(Builder &builder, Statement &statement) {
  const Shape shape = takeShape(statement);
  if (!builder.expect(statement, 2))
    return;
  struct Widening {
    uint32_t target, bytes, from;
  };
  std::vector<Widening> widenings;
  std::vector<uint32_t> targets;
  const uint32_t bytes = bytesOf(shape.type);
  for (const Operand &element : elementsOf(builder, shape, statement.operands[0])) {
    const bool wider = element.kind == Operand::Kind::Register && element.bytes > bytes;
    if (wider) {
      targets.push_back(builder.temporary(bytes));
      widenings.push_back({builder.target(element, element.bytes), element.bytes, targets.back()});
    } else if (bytes == 1) {
      builder.fail("8 bits are loaded into wider registers only");
    } else {
      targets.push_back(builder.target(element, bytes));
    }
  }
  if (builder.failed())
    return;
  emitAccess<true>(builder, statement.operands[1], shape, targets);
  for (const Widening &widening : widenings)
    builder.resizeInto(widening.target, widening.bytes, widening.from, bytes, isSigned(shape.type));
}

void lowerStore(Builder &builder, Statement &statement) {
  const Shape shape = takeShape(statement);
  if (shape.noncoherent || shape.space == Space::Const)
    return builder.fail("this store is not supported");
  if (!builder.expect(statement, 2))
    return;
  std::vector<uint32_t> sources;
  const uint32_t bytes = bytesOf(shape.type);
  for (const Operand &element : elementsOf(builder, shape, statement.operands[1])) {
    const bool wider = element.kind == Operand::Kind::Register && element.bytes > bytes;
    const uint32_t width = wider ? element.bytes : bytes;
    if (element.kind == Operand::Kind::Register && element.bytes == 1)
      builder.fail("predicates cannot be stored");
    sources.push_back(builder.resized(builder.source(element, width), width, bytes, false));
  }
  if (!builder.failed())
    emitAccess<false>(builder, statement.operands[0], shape, sources);
}

} // namespace

Lowerings memoryLowerings() { return {{"ld", lowerLoad}, {"st", lowerStore}, {"ldu", lowerLoad}}; }

} // namespace splitcast::cuda_on_cpu
