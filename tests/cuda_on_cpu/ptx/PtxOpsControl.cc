#include "tests/cuda_on_cpu/ptx/PtxOps.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

namespace splitcast::cuda_on_cpu {
namespace {

Next branch(Warp &warp, const Inst &inst, uint32_t lanes) {
  return warp.branch(lanes, static_cast<uint32_t>(inst.immediate));
}

/// `list`: the targets; `immediate`: how many.
Next branchByIndex(Warp &warp, const Inst &inst, uint32_t lanes) {
  const auto *index = warp.lanes<uint32_t>(inst.sources[0]);
  std::array<uint32_t, kWarpSize> targets = {};
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
    if (index[lane] >= inst.immediate)
      return warp.fail(inst, lane, absl::StrCat("index ", index[lane], " of ", inst.immediate, " targets"));
    targets[lane] = warp.launch.program.lists[inst.list + index[lane]];
  }
  return warp.branchEach(lanes, targets);
}

Next leave(Warp &warp, const Inst &inst, uint32_t lanes) { return warp.ret(inst, lanes); }
Next endThread(Warp &warp, const Inst &inst, uint32_t lanes) { return warp.exit(lanes); }
Next trap(Warp &warp, const Inst &inst, uint32_t lanes) {
  return warp.fail(inst, static_cast<uint32_t>(__builtin_ctz(lanes)), "the kernel gives up here");
}
Next callRoutine(Warp &warp, const Inst &inst, uint32_t lanes) {
  return warp.call(inst, lanes, warp.launch.program.routines[inst.list]);
}
Next waitForBlock(Warp &warp, const Inst &inst, uint32_t lanes) { return warp.waitAtBarrier(lanes); }

/// `immediate`: bytes of each lane.
Next copyParam(Warp &warp, const Inst &inst, uint32_t lanes) {
  const auto bytes = static_cast<size_t>(inst.immediate);
  const auto *from = warp.lanes<uint8_t>(inst.sources[0]);
  auto *d = warp.lanes<uint8_t>(inst.d);
  forLanes(lanes, [=](uint32_t lane) { std::memcpy(d + lane * bytes, from + lane * bytes, bytes); });
  return Next::Step;
}

/// Of the mask, which is the last source that there is.
const uint32_t *membersOf(Warp &warp, const Inst &inst, size_t source) {
  return warp.lanes<uint32_t>(inst.sources[source]);
}

Next waitForWarp(Warp &warp, const Inst &inst, uint32_t lanes) {
  return warp.meet(inst, lanes, membersOf(warp, inst, 0), [&](uint32_t group) {
    warp.launch.races.warpBarrier(warp.number, group | ~warp.liveLanes());
    return Next::Step;
  });
}

enum ShuffleMode : uint8_t { Up, Down, Butterfly, Index };

/// Sources: value, lane or distance, clamp and segments, members. `list`: the predicate, or 0.
template <ShuffleMode Mode> Next shuffle(Warp &warp, const Inst &inst, uint32_t lanes) {
  const auto *values = warp.lanes<uint32_t>(inst.sources[0]), *by = warp.lanes<uint32_t>(inst.sources[1]),
             *controls = warp.lanes<uint32_t>(inst.sources[2]);
  return warp.meet(inst, lanes, membersOf(warp, inst, 3), [&](uint32_t group) {
    std::array<uint32_t, kWarpSize> result = {};
    std::array<uint8_t, kWarpSize> inside = {};
    for (uint32_t rest = group; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<int32_t>(__builtin_ctz(rest));
      const auto distance = static_cast<int32_t>(by[lane] & 31), clamp = static_cast<int32_t>(controls[lane] & 31),
                 segment = static_cast<int32_t>(controls[lane] >> 8 & 31);
      const int32_t most = (lane & segment) | (clamp & ~segment), least = lane & segment;
      int32_t peer = Mode == Up          ? lane - distance
                     : Mode == Down      ? lane + distance
                     : Mode == Butterfly ? lane ^ distance
                                         : least | (distance & ~segment);
      inside[lane] = static_cast<uint8_t>(Mode == Up ? peer >= most : peer <= most);
      peer = inside[lane] != 0 ? peer : lane;
      if ((group >> peer & 1) == 0)
        return warp.fail(
            inst, static_cast<uint32_t>(lane),
            absl::StrCat("it reads lane ", peer, ", which does not take part (lanes 0x", absl::Hex(group), " do)"));
      result[lane] = values[peer];
    }
    auto *d = warp.lanes<uint32_t>(inst.d);
    forLanes(group, [&](uint32_t lane) { d[lane] = result[lane]; });
    warp.written(inst.d) |= group;
    if (inst.list != 0) {
      auto *predicate = warp.lanes<uint8_t>(inst.list);
      forLanes(group, [&](uint32_t lane) { predicate[lane] = inside[lane]; });
      warp.written(inst.list) |= group;
    }
    return Next::Step;
  });
}

enum VoteMode : uint8_t { All, Any, Uniform, Ballot };

template <VoteMode Mode> Next vote(Warp &warp, const Inst &inst, uint32_t lanes) {
  return warp.meet(inst, lanes, membersOf(warp, inst, 1), [&](uint32_t group) {
    const uint32_t votes = warp.lanesOf(inst.sources[0]) & group;
    const bool verdict = Mode == Any ? votes != 0 : votes == group || (Mode == Uniform && votes == 0);
    if (Mode == Ballot) {
      auto *d = warp.lanes<uint32_t>(inst.d);
      forLanes(group, [=](uint32_t lane) { d[lane] = votes; });
    } else {
      auto *d = warp.lanes<uint8_t>(inst.d);
      forLanes(group, [=](uint32_t lane) { d[lane] = static_cast<uint8_t>(verdict); });
    }
    warp.written(inst.d) |= group;
    return Next::Step;
  });
}

Next activeLanes(Warp &warp, const Inst &inst, uint32_t lanes) {
  auto *d = warp.lanes<uint32_t>(inst.d);
  forLanes(lanes, [=](uint32_t lane) { d[lane] = lanes; });
  return Next::Step;
}

void lowerBranch(Builder &builder, Statement &statement) {
  if (statement.take("idx")) {
    statement.take("uni");
    if (!builder.expect(statement, 2))
      return;
    const std::vector<std::string> *table = builder.table(statement.operands[1].name);
    if (!table)
      return builder.fail("there is no such table of labels");
    const uint32_t index = builder.source(statement.operands[0], Type::U32), list = builder.listOfLabels(*table);
    builder.emit(branchByIndex, kNoRegister, {index}, static_cast<int64_t>(table->size())).list = list;
    return;
  }
  statement.take("uni");
  if (!builder.expect(statement, 1))
    return;
  if (statement.operands[0].kind != Operand::Kind::Name)
    return builder.fail("a label is expected");
  builder.emitBranch(branch, {}, statement.operands[0].name);
}

void lowerEnd(Builder &builder, Statement &statement) {
  statement.take("uni");
  if (builder.expect(statement, 0))
    builder.emit(statement.parts[0] == "ret"    ? leave
                 : statement.parts[0] == "exit" ? endThread
                                                : trap,
                 kNoRegister, {});
}

/// Copies between parameters that the caller and the callee declare.
void emitCopies(Builder &builder, const std::vector<Operand> &own, const std::vector<Argument> &callees, bool in) {
  if (own.size() != callees.size())
    return builder.fail("the function has another number of parameters or results");
  for (size_t index = 0; index < own.size(); ++index) {
    const Symbol *symbol = own[index].symbol;
    if (!symbol || symbol->kind != Symbol::Kind::CallParam || symbol->bytes != callees[index].stride)
      return builder.fail(absl::StrCat("parameter ", index, " is not declared as the function's is"));
    const uint32_t callee = callees[index].at;
    builder.emit(copyParam, in ? callee : symbol->at, {in ? symbol->at : callee}, callees[index].stride);
  }
}

void lowerCall(Builder &builder, Statement &statement) {
  statement.take("uni");
  std::vector<Operand> &operands = statement.operands;
  const size_t name = !operands.empty() && operands[0].kind == Operand::Kind::List ? 1 : 0;
  const bool hasArguments = operands.size() > name + 1 && operands[name + 1].kind == Operand::Kind::List;
  if (!builder.expect(statement, name + 1 + (hasArguments ? 1 : 0)))
    return;
  const Routine *callee = builder.routineNamed(operands[name].name);
  if (!callee || !callee->isDefined || callee->isKernel)
    return builder.fail(absl::StrCat("there is no function '", operands[name].name, "'"));
  const std::vector<Operand> none;
  emitCopies(builder, hasArguments ? operands[name + 1].elements : none, callee->arguments, true);
  builder.emit(callRoutine, kNoRegister, {}).list = static_cast<uint32_t>(builder.indexOf(*callee));
  emitCopies(builder, name == 1 ? operands[0].elements : none, callee->results, false);
}

/// bar.sync, bar.warp.sync, barrier.sync, and their longer names.
void lowerBarrier(Builder &builder, Statement &statement) {
  if (statement.take("warp")) {
    if (!statement.take("sync"))
      return builder.fail("this barrier is not supported");
    if (builder.expect(statement, 1))
      builder.emit(waitForWarp, kNoRegister, {builder.source(statement.operands[0], Type::B32)});
    return;
  }
  statement.take("cta");
  if (!statement.take("sync"))
    return builder.fail("this barrier is not supported");
  statement.take("aligned");
  if (!builder.expect(statement, 1))
    return;
  const Operand &which = statement.operands[0];
  if (which.kind != Operand::Kind::Immediate || which.bits != 0)
    return builder.fail("only barrier 0, of all threads, is supported");
  builder.emit(waitForBlock, kNoRegister, {});
}

void lowerShuffle(Builder &builder, Statement &statement) {
  static const Handler handlers[] = {shuffle<Up>, shuffle<Down>, shuffle<Butterfly>, shuffle<Index>};
  const bool sync = statement.take("sync");
  const int mode = statement.takeOneOf({"up", "down", "bfly", "idx"});
  const Type type = statement.takeType();
  if (!sync || mode < 0 || type != Type::B32)
    return builder.fail("this shuffle is not supported; those of sm_70 are shfl.sync");
  if (!builder.expect(statement, 5))
    return;
  const std::vector<Operand> &operands = statement.operands;
  const bool isPair = operands[0].kind == Operand::Kind::Pair;
  const uint32_t value = builder.source(operands[1], type), by = builder.source(operands[2], type),
                 control = builder.source(operands[3], type), members = builder.source(operands[4], type);
  const uint32_t d = builder.target(isPair ? operands[0].elements[0] : operands[0], type);
  const uint32_t predicate = isPair ? builder.target(operands[0].elements[1], Type::Pred) : 0;
  builder.emit(handlers[mode], d, {value, by, control, members}).list = predicate;
}

void lowerVote(Builder &builder, Statement &statement) {
  static const Handler handlers[] = {vote<All>, vote<Any>, vote<Uniform>, vote<Ballot>};
  const bool sync = statement.take("sync");
  const int mode = statement.takeOneOf({"all", "any", "uni", "ballot"});
  const Type type = statement.takeType();
  if (!sync || mode < 0 || type != (mode == Ballot ? Type::B32 : Type::Pred))
    return builder.fail("this vote is not supported");
  if (!builder.expect(statement, 3))
    return;
  const uint32_t own = builder.source(statement.operands[1], Type::Pred),
                 members = builder.source(statement.operands[2], Type::B32);
  builder.emit(handlers[mode], builder.target(statement.operands[0], type), {own, members});
}

void lowerActiveMask(Builder &builder, Statement &statement) {
  const Type type = statement.takeType();
  if (builder.expect(statement, 1))
    builder.emit(activeLanes, builder.target(statement.operands[0], type), {});
}

/// Threads see each other's stores at once here; only barriers order them.
void lowerFence(Builder &builder, Statement &statement) {
  while (statement.takeOneOf({"sc", "acq_rel", "cta", "cluster", "gpu", "sys", "gl"}) >= 0) {
  }
  builder.expect(statement, 0);
}

} // namespace

Lowerings controlLowerings() {
  return {{"bra", lowerBranch},
          {"brx", lowerBranch},
          {"ret", lowerEnd},
          {"exit", lowerEnd},
          {"trap", lowerEnd},
          {"call", lowerCall},
          {"bar", lowerBarrier},
          {"barrier", lowerBarrier},
          {"shfl", lowerShuffle},
          {"vote", lowerVote},
          {"activemask", lowerActiveMask},
          {"membar", lowerFence},
          {"fence", lowerFence}};
}

} // namespace splitcast::cuda_on_cpu
