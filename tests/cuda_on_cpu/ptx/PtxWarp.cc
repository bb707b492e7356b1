#include "tests/cuda_on_cpu/ptx/PtxWarp.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

#include <algorithm>

namespace splitcast::cuda_on_cpu {
namespace {

constexpr uint32_t kNever = ~uint32_t{0};
constexpr uint32_t kFileAlignment = 64;

std::string coordinates(const std::array<uint32_t, 3> &at) {
  return absl::StrCat("(", at[0], ",", at[1], ",", at[2], ")");
}

std::array<uint32_t, 3> threadAt(const Launch &launch, uint32_t thread) {
  const std::array<uint32_t, 3> &extent = launch.grid.threads;
  return {thread % extent[0], thread / extent[0] % extent[1], thread / extent[0] / extent[1]};
}

uint64_t valueOf(Special special, const Launch &launch, uint32_t thread) {
  const uint32_t lane = thread % kWarpSize, bit = uint32_t{1} << lane;
  const auto index = static_cast<uint32_t>(special);
  if (special <= Special::TidZ)
    return threadAt(launch, thread)[index];
  if (special <= Special::NtidZ)
    return launch.grid.threads[index - static_cast<uint32_t>(Special::NtidX)];
  if (special <= Special::CtaidZ)
    return launch.block[index - static_cast<uint32_t>(Special::CtaidX)];
  if (special <= Special::NctaidZ)
    return launch.grid.blocks[index - static_cast<uint32_t>(Special::NctaidX)];
  switch (special) {
  case Special::LaneId:
    return lane;
  case Special::WarpId:
    return thread / kWarpSize;
  case Special::NwarpId:
    return (launch.threads() + kWarpSize - 1) / kWarpSize;
  case Special::LanemaskEq:
    return bit;
  case Special::LanemaskLt:
    return bit - 1;
  case Special::LanemaskLe:
    return bit | (bit - 1);
  case Special::LanemaskGt:
    return ~(bit | (bit - 1));
  default:
    return ~(bit - 1);
  }
}

} // namespace

uint64_t Launch::draw(uint64_t bound) {
  // SplitMix64.
  seed += 0x9E3779B97F4A7C15;
  uint64_t bits = seed;
  bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ bits >> 27) * 0x94D049BB133111EB;
  return (bits ^ bits >> 31) % bound;
}

bool Launch::askIsAllocated(uint64_t address, uint64_t bytes) {
  GlobalMemory::Range range;
  for (const GlobalVariable &variable : program.globals)
    if (address >= variable.begin && address < variable.end)
      range = {variable.begin, variable.end};
  if (range.end == 0)
    range = memory.rangeOf(address);
  if (address < range.begin || address >= range.end)
    return false;
  ranges[oldestRange++ % ranges.size()] = range;
  return bytes <= range.end - address;
}

Warp::Warp(Launch &of, uint32_t number, uint32_t fileBytes)
    : launch(of), number(number), storage(new uint8_t[fileBytes + kFileAlignment]()) {
  const auto begin = reinterpret_cast<uintptr_t>(storage.get());
  file = storage.get() + (kFileAlignment - begin % kFileAlignment) % kFileAlignment;
  const uint32_t count = std::min(launch.threads() - number * kWarpSize, kWarpSize);
  exists = kAllLanes >> (kWarpSize - count);
  written(kNoRegister) = kAllLanes;
  for (const Frame *frame : {&launch.program.functions, &launch.kernel.frame})
    for (const Constant &constant : frame->constants) {
      written(constant.at) = kAllLanes;
      for (uint32_t lane = 0; lane != kWarpSize; ++lane)
        std::memcpy(lanes<uint8_t>(constant.at) + lane * constant.bytes, &constant.bits, constant.bytes);
    }
}

void Warp::beginBlock() {
  live = exists;
  active = atBarrier = atMeeting = 0;
  pcs.fill(launch.kernel.entry);
  for (std::vector<uint32_t> &stack : returns)
    stack.clear();
  for (const Frame *frame : {&launch.program.functions, &launch.kernel.frame}) {
    for (const auto &[at, name] : frame->registers)
      written(at) = 0;
    for (const auto &[special, at] : frame->specials) {
      written(at) = kAllLanes;
      for (uint32_t lane = 0; lane != kWarpSize; ++lane)
        lanes<uint32_t>(at)[lane] = static_cast<uint32_t>(valueOf(special, launch, threadOf(lane)));
    }
  }
}

uint32_t Warp::lanesOf(uint32_t at) const {
  uint32_t result = 0;
  for (uint32_t eight = 0; eight != 4; ++eight) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, file + at + eight * 8, sizeof(bytes));
    result |= static_cast<uint32_t>(bytes * 0x0102040810204080 >> 56) << eight * 8; // a bit of each byte
  }
  return result;
}

/// The lanes that run next, and where. Those that are furthest behind, so that branches join again as soon as they can.
void Warp::chooseGroup(uint32_t runnable) {
  pc = join = kNever;
  active = 0;
  if (launch.isShuffled) {
    uint64_t skip = launch.draw(static_cast<uint64_t>(__builtin_popcount(runnable)));
    uint32_t rest = runnable;
    for (; skip != 0; --skip)
      rest &= rest - 1;
    const auto leader = static_cast<uint32_t>(__builtin_ctz(rest));
    const uint32_t wanted = launch.draw(2) == 0 ? kAllLanes : static_cast<uint32_t>(launch.draw(kAllLanes));
    pc = pcs[leader];
    for (uint32_t lane = 0; lane != kWarpSize; ++lane)
      if (pcs[lane] == pc)
        active |= runnable & (wanted | uint32_t{1} << leader) & uint32_t{1} << lane;
    return;
  }
  for (uint32_t rest = runnable; rest != 0; rest &= rest - 1)
    pc = std::min(pc, pcs[__builtin_ctz(rest)]);
  for (uint32_t rest = runnable; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
    if (pcs[lane] == pc)
      active |= uint32_t{1} << lane;
    else
      join = std::min(join, pcs[lane]);
  }
}

bool Warp::select() {
  const uint32_t runnable = live & ~atBarrier & ~atMeeting;
  if (runnable == 0)
    return false;
  chooseGroup(runnable);
  return true;
}

void Warp::park() {
  for (uint32_t rest = active; rest != 0; rest &= rest - 1)
    pcs[__builtin_ctz(rest)] = pc;
  active = 0;
}

bool Warp::run() {
  const Inst *code = launch.program.code.data();
  while (select()) {
    const int64_t runs = __builtin_popcount(active);
    int64_t steps = 0;
    do {
      ++steps;
      const Inst &inst = code[pc];
      uint32_t mask = active;
      if (inst.guard != kNoRegister) {
        if (!isWritten(inst.guard, mask))
          return false;
        mask &= inst.guardNegated ? ~lanesOf(inst.guard) : lanesOf(inst.guard);
        if (mask == 0) {
          ++pc;
          continue;
        }
      }
      const uint32_t all =
          written(inst.sources[0]) & written(inst.sources[1]) & written(inst.sources[2]) & written(inst.sources[3]);
      if ((mask & ~all) != 0) {
        for (uint32_t source : inst.sources)
          if (!isWritten(source, mask))
            break;
        return false;
      }
      const Next next = inst.run(*this, inst, mask);
      if (next == Next::Step) {
        written(inst.d) |= mask;
        ++pc;
      } else if (next == Next::Fault) {
        return false;
      } else if (active == 0) {
        break;
      }
    } while (pc < join);
    launch.instructions += runs * steps;
    park();
  }
  return atMeeting == 0 || explainWait();
}

uint32_t Warp::lineOf(uint32_t lane) const { return launch.program.code[pcs[lane]].line; }

void Warp::leaveBarrier() {
  for (uint32_t rest = atBarrier; rest != 0; rest &= rest - 1)
    ++pcs[__builtin_ctz(rest)];
  atBarrier = 0;
}

Next Warp::branchEach(uint32_t mask, const std::array<uint32_t, kWarpSize> &targets) {
  ++pc;
  const uint32_t all = active;
  park();
  for (uint32_t lane = 0; lane != kWarpSize; ++lane)
    if (mask >> lane & 1)
      pcs[lane] = targets[lane];
  const auto first = static_cast<uint32_t>(__builtin_ctz(all));
  for (uint32_t rest = all; rest != 0; rest &= rest - 1)
    if (pcs[__builtin_ctz(rest)] != pcs[first])
      return Next::Flow;
  active = all;
  pc = pcs[first];
  return Next::Flow;
}

Next Warp::branch(uint32_t mask, uint32_t target) {
  if (mask == active) {
    pc = target;
    return Next::Flow;
  }
  std::array<uint32_t, kWarpSize> targets;
  targets.fill(target);
  return branchEach(mask, targets);
}

Next Warp::call(const Inst &inst, uint32_t mask, const Routine &callee) {
  for (size_t index = callee.firstRegister; index != callee.endOfRegisters; ++index)
    written(launch.program.functions.registers[index].first) &= ~mask;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
    if (returns[lane].size() >= launch.program.routines.size())
      return fail(inst, lane, "functions call each other in a circle; each has only one set of registers");
    returns[lane].push_back(pc + 1);
  }
  return branch(mask, callee.entry);
}

Next Warp::exit(uint32_t mask) {
  live &= ~mask;
  ++pc;
  park();
  return Next::Flow;
}

Next Warp::ret(const Inst &inst, uint32_t mask) {
  std::array<uint32_t, kWarpSize> targets = {};
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
    if (returns[lane].empty())
      return exit(mask); // of a kernel, where no lane has a caller
    targets[lane] = returns[lane].back();
    returns[lane].pop_back();
  }
  return branchEach(mask, targets);
}

Next Warp::waitAtBarrier(uint32_t mask) {
  const uint32_t here = pc++;
  park();
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1)
    pcs[__builtin_ctz(rest)] = here;
  atBarrier |= mask;
  return Next::Flow;
}

/// The lanes wait where they are; those that the guard leaves out go on.
Next Warp::arrive(const Inst &inst, uint32_t mask, const uint32_t *members) {
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
    membersOf[lane] = members[lane];
    if ((members[lane] >> lane & 1) == 0)
      return fail(inst, lane,
                  absl::StrCat("its own lane, ", lane, ", is not in the mask 0x", absl::Hex(members[lane])));
  }
  const uint32_t here = pc, skip = active & ~mask;
  park();
  for (uint32_t lane = 0; lane != kWarpSize; ++lane)
    pcs[lane] += skip >> lane & 1;
  pc = here;
  atMeeting |= mask;
  return Next::Flow;
}

bool Warp::explainWait() {
  const auto lane = static_cast<uint32_t>(__builtin_ctz(atMeeting));
  const Inst &inst = launch.program.code[pcs[lane]];
  uint32_t missing = membersOf[lane] & exists & ~atMeeting;
  if (missing == 0)
    for (uint32_t other = 0; other != kWarpSize; ++other)
      if (membersOf[lane] >> other & 1 & exists >> other)
        missing |= static_cast<uint32_t>(pcs[other] != pcs[lane] || membersOf[other] != membersOf[lane]) << other;
  const auto other = static_cast<uint32_t>(__builtin_ctz(missing));
  const std::string where = (live >> other & 1) == 0 ? "has ended" : absl::StrCat("waits in line ", lineOf(other));
  fail(inst, lane,
       absl::StrCat("lane ", other, ", which the mask 0x", absl::Hex(membersOf[lane]), " names, does not arrive; it ",
                    where));
  return false;
}

Next Warp::fail(const Inst &inst, uint32_t lane, absl::string_view what) {
  absl::string_view text = absl::StripAsciiWhitespace(launch.program.lines[inst.line - 1]);
  message = absl::StrCat("kernel '", launch.kernel.name, "', block ", coordinates(launch.block), ", thread ",
                         coordinates(threadAt(launch, threadOf(lane))), ", line ", inst.line, " '",
                         absl::StrReplaceAll(text, {{"\t", ""}}), "': ", what);
  return Next::Fault;
}

bool Warp::undefined(uint32_t at, uint32_t mask) {
  const auto lane = static_cast<uint32_t>(__builtin_ctz(mask & ~written(at)));
  absl::string_view name = "a register";
  for (const Frame *frame : {&launch.program.functions, &launch.kernel.frame})
    for (const auto &[registerAt, registerName] : frame->registers)
      if (registerAt == at)
        name = registerName;
  fail(launch.program.code[pc], lane, absl::StrCat(name, " was never written"));
  return false;
}

uint8_t *Warp::refuse(uint64_t address, uint32_t bytes, absl::string_view what) {
  reason = absl::StrCat("the access to ", bytes, " bytes at 0x", absl::Hex(address), " ", what);
  return nullptr;
}

uint8_t *Warp::windowPlace(Space space, uint64_t address, uint32_t bytes, uint32_t lane, Access access) {
  auto contains = [&](const Array &array) {
    return address >= array.begin && address < array.end && bytes <= array.end - address;
  };
  if (space == Space::Param) {
    if (address < kWindowBegin || address - kWindowBegin + bytes > launch.params.size() || access >= Access::Store)
      return refuse(address, bytes, "is not a load of the kernel's parameters");
    return launch.params.data() + (address - kWindowBegin);
  }
  const bool isShared = space == Space::Shared;
  const std::vector<Array> &arrays = isShared ? launch.sharedArrays : launch.localArrays;
  if (std::none_of(arrays.begin(), arrays.end(), contains))
    return refuse(address, bytes, isShared ? "is outside of any shared array" : "is outside of any local array");
  if (!isShared)
    return launch.local.data() + launch.localBytes * threadOf(lane) + (address - kWindowBegin);
  if (launch.checksRaces && !launch.races.shared(access, address, bytes, threadOf(lane), 1))
    return refuse(address, bytes, launch.races.conflict());
  return launch.shared.data() + (address - kWindowBegin);
}

uint8_t *Warp::place(Space space, uint64_t address, uint32_t bytes, uint32_t lane, Access access) {
  if (address % bytes != 0)
    return refuse(address, bytes, "is misaligned");
  if (space == Space::Generic) {
    const uint64_t window = address & kWindowMask;
    space = window == kSharedWindow  ? Space::Shared
            : window == kLocalWindow ? Space::Local
            : window == kParamWindow ? Space::Param
                                     : Space::Global;
    if (space != Space::Global)
      address &= ~kWindowMask;
  }
  if (space != Space::Global && space != Space::Const)
    return windowPlace(space, address, bytes, lane, access);
  if (!launch.isAllocated(address, bytes))
    return refuse(address, bytes, "is outside of any allocation");
  for (const GlobalVariable &variable : launch.program.globals)
    if (variable.isConst && access >= Access::Store && address >= variable.begin && address < variable.end)
      return refuse(address, bytes, "is a store to constant memory");
  if (launch.checksRaces && !launch.races.global(access, address, bytes, threadOf(lane), 1))
    return refuse(address, bytes, launch.races.conflict());
  return reinterpret_cast<uint8_t *>(address);
}

} // namespace splitcast::cuda_on_cpu
