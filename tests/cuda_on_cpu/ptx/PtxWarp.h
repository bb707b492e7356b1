//===- PtxWarp.h - A launch while it runs ----------------------------------------------------===//
#ifndef SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTXWARP_H
#define SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTXWARP_H

#include "tests/cuda_on_cpu/ptx/Ptx.h"
#include "tests/cuda_on_cpu/ptx/PtxChecks.h"
#include "tests/cuda_on_cpu/ptx/PtxProgram.h"

#include <algorithm>
#include <cstring>

#if defined(__clang__)
#define SPLITCAST_LANES_ARE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define SPLITCAST_LANES_ARE_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace splitcast::cuda_on_cpu {

/// f(lane) for each of `lanes`; what f does for one lane must not touch what it reads for another.
template <class F> inline void forLanes(uint32_t lanes, F f) {
  if (lanes == kAllLanes) {
    SPLITCAST_LANES_ARE_INDEPENDENT
    for (uint32_t lane = 0; lane != kWarpSize; ++lane)
      f(lane);
    return;
  }
  for (; lanes != 0; lanes &= lanes - 1)
    f(static_cast<uint32_t>(__builtin_ctz(lanes)));
}

/// What all blocks of a launch have in common, and what the block that runs now has.
struct Launch {
  Launch(const Program &program, const Routine &kernel, const GlobalMemory &memory, const PtxGrid &grid,
         bool checksRaces)
      : program(program), kernel(kernel), memory(memory), grid(grid), checksRaces(checksRaces) {}

  const Program &program;
  const Routine &kernel;
  const GlobalMemory &memory;
  PtxGrid grid;
  bool checksRaces;
  std::vector<uint8_t> params;
  /// Functions' arrays, then the kernel's.
  std::vector<Array> sharedArrays, localArrays;
  uint64_t sharedBytes = 0, localBytes = 0;
  RaceCheck races;

  std::array<uint32_t, 3> block = {0, 0, 0};
  /// Of the block; the local memory of each thread follows that of the one before.
  std::vector<uint8_t> shared, local;

  bool isShuffled = false;
  uint64_t seed = 0;
  int64_t instructions = 0;

  uint32_t threads() const { return grid.threads[0] * grid.threads[1] * grid.threads[2]; }
  /// Pseudo-random, below `bound`.
  uint64_t draw(uint64_t bound);
  /// Whether one allocation holds these bytes.
  bool isAllocated(uint64_t address, uint64_t bytes) {
    for (const GlobalMemory::Range &range : ranges)
      if (address >= range.begin && address < range.end && bytes <= range.end - address)
        return true;
    return askIsAllocated(address, bytes);
  }

private:
  bool askIsAllocated(uint64_t address, uint64_t bytes);

  std::array<GlobalMemory::Range, 8> ranges;
  unsigned oldestRange = 0;
};

class Warp {
public:
  Warp(Launch &launch, uint32_t number, uint32_t fileBytes);

  void beginBlock();
  /// Until each lane has ended or waits at a barrier of the block; false: fault() says why not.
  bool run();

  uint32_t barrierLanes() const { return atBarrier; }
  uint32_t liveLanes() const { return live; }
  /// Where the lane is or was last.
  uint32_t lineOf(uint32_t lane) const;
  uint32_t pcOf(uint32_t lane) const { return pcs[lane]; }
  void leaveBarrier();
  const std::string &fault() const { return message; }
  /// Why place() gave nothing.
  const std::string &refusal() const { return reason; }

  // For handlers.

  template <class T> T *lanes(uint32_t at) const { return reinterpret_cast<T *>(file + at); }
  uint32_t &written(uint32_t at) const { return *reinterpret_cast<uint32_t *>(file + at - sizeof(uint32_t)); }
  bool isWritten(uint32_t at, uint32_t mask) { return (mask & ~written(at)) == 0 || undefined(at, mask); }
  /// Of a predicate that is true.
  uint32_t lanesOf(uint32_t at) const;
  uint32_t threadOf(uint32_t lane) const { return number * kWarpSize + lane; }

  /// The bytes at an address of a space; null: refused.
  uint8_t *place(Space space, uint64_t address, uint32_t bytes, uint32_t lane, Access access);
  /// Notes what stopped the lane.
  Next fail(const Inst &inst, uint32_t lane, absl::string_view what);
  bool undefined(uint32_t at, uint32_t mask);

  Next branch(uint32_t mask, uint32_t target);
  /// Each lane of the warp to where its entry says.
  Next branchEach(uint32_t mask, const std::array<uint32_t, kWarpSize> &targets);
  Next call(const Inst &inst, uint32_t mask, const Routine &callee);
  Next ret(const Inst &inst, uint32_t mask);
  Next exit(uint32_t mask);
  Next waitAtBarrier(uint32_t mask);
  /// Collects the lanes that `members` names for each lane; calls f(lanes) once all of a group are here.
  template <class F> Next meet(const Inst &inst, uint32_t mask, const uint32_t *members, F f);

  Launch &launch;
  uint32_t number;
  uint32_t active = 0;
  uint32_t carries = 0; ///< of each lane: what its last addition with .cc carried

private:
  bool select();
  void chooseGroup(uint32_t runnable);
  void park();
  bool explainWait();
  Next arrive(const Inst &inst, uint32_t mask, const uint32_t *members);
  uint8_t *windowPlace(Space space, uint64_t address, uint32_t bytes, uint32_t lane, Access access);
  uint8_t *refuse(uint64_t address, uint32_t bytes, absl::string_view what);

  std::unique_ptr<uint8_t[]> storage;
  uint8_t *file;
  uint32_t pc = 0;
  /// Where the next group of lanes waits to be joined by those that run.
  uint32_t join = 0;
  uint32_t exists, live = 0, atBarrier = 0, atMeeting = 0;
  std::array<uint32_t, kWarpSize> pcs = {}, membersOf = {};
  std::array<std::vector<uint32_t>, kWarpSize> returns;
  std::string message, reason;
};

template <class F> Next Warp::meet(const Inst &inst, uint32_t mask, const uint32_t *members, F f) {
  if (mask == exists && std::all_of(members, members + __builtin_popcount(exists),
                                    [=](uint32_t named) { return (exists & ~named) == 0; }))
    return f(mask); // all are here already
  if (arrive(inst, mask, members) == Next::Fault)
    return Next::Fault;
  for (uint32_t todo = atMeeting; todo != 0;) {
    const auto first = static_cast<uint32_t>(__builtin_ctz(todo));
    const uint32_t group = membersOf[first] & exists;
    todo &= ~(uint32_t{1} << first);
    if (pcs[first] != pc || (group & ~atMeeting) != 0)
      continue;
    bool complete = true;
    for (uint32_t lane = 0; lane != kWarpSize; ++lane)
      complete &= (group >> lane & 1) == 0 || (pcs[lane] == pc && (membersOf[lane] & exists) == group);
    if (!complete)
      continue;
    todo &= ~group;
    if (f(group) == Next::Fault)
      return Next::Fault;
    atMeeting &= ~group;
    for (uint32_t lane = 0; lane != kWarpSize; ++lane)
      pcs[lane] += group >> lane & 1;
  }
  return Next::Flow;
}

} // namespace splitcast::cuda_on_cpu

#endif // SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTXWARP_H
