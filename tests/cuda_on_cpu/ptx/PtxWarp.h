//===- PtxWarp.h - The state of a running launch ---------------------------------------------===//
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

/// Calls f(lane) for each lane in the mask `lanes`. What f writes for one lane must not be read for another one.
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

/// What all blocks of a launch share, and the state of the current block.
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
  /// The arrays of functions, then those of the kernel.
  std::vector<Array> sharedArrays, localArrays;
  uint64_t sharedBytes = 0, localBytes = 0;
  RaceCheck races;

  std::array<uint32_t, 3> block = {0, 0, 0};
  /// The shared memory of the block, and the local memory of its threads, one after the other.
  std::vector<uint8_t> shared, local;

  bool isShuffled = false;
  uint64_t seed = 0;
  int64_t instructions = 0;

  uint32_t threads() const { return grid.threads[0] * grid.threads[1] * grid.threads[2]; }
  /// Returns a pseudo-random number below `bound`.
  uint64_t draw(uint64_t bound);
  /// Whether these bytes belong to one allocation.
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
  /// Runs until each lane has ended or waits at a barrier of the block. Returns false after an error; see fault().
  bool run();

  uint32_t barrierLanes() const { return atBarrier; }
  uint32_t liveLanes() const { return live; }
  /// The line of the text at which the lane is, or was last.
  uint32_t lineOf(uint32_t lane) const;
  uint32_t pcOf(uint32_t lane) const { return pcs[lane]; }
  void leaveBarrier();
  const std::string &fault() const { return message; }
  /// Why place() returned null.
  const std::string &refusal() const { return reason; }

  // The functions below are for handlers.

  template <class T> T *lanes(uint32_t at) const { return reinterpret_cast<T *>(file + at); }
  uint32_t &written(uint32_t at) const { return *reinterpret_cast<uint32_t *>(file + at - sizeof(uint32_t)); }
  bool isWritten(uint32_t at, uint32_t mask) { return (mask & ~written(at)) == 0 || undefined(at, mask); }
  /// The mask of lanes in which a predicate is true.
  uint32_t lanesOf(uint32_t at) const;
  uint32_t threadOf(uint32_t lane) const { return number * kWarpSize + lane; }

  /// Returns a pointer to the bytes at an address of a space, or null if the access is an error.
  uint8_t *place(Space space, uint64_t address, uint32_t bytes, uint32_t lane, Access access);
  /// Records the error `what` of a lane.
  Next fail(const Inst &inst, uint32_t lane, absl::string_view what);
  bool undefined(uint32_t at, uint32_t mask);

  Next branch(uint32_t mask, uint32_t target);
  /// Branches each lane to its own target.
  Next branchEach(uint32_t mask, const std::array<uint32_t, kWarpSize> &targets);
  Next call(const Inst &inst, uint32_t mask, const Routine &callee);
  Next ret(const Inst &inst, uint32_t mask);
  Next exit(uint32_t mask);
  Next waitAtBarrier(uint32_t mask);
  /// Waits until all lanes of a group are here, and then calls f(lanes). `members` has the group of each lane.
  template <class F> Next meet(const Inst &inst, uint32_t mask, const uint32_t *members, F f);

  Launch &launch;
  uint32_t number;
  uint32_t active = 0;
  uint32_t carries = 0; ///< the carry of each lane's last addition with .cc

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
  /// The position at which the next group of lanes waits for the running lanes to join it.
  uint32_t join = 0;
  uint32_t exists, live = 0, atBarrier = 0, atMeeting = 0;
  std::array<uint32_t, kWarpSize> pcs = {}, membersOf = {};
  std::array<std::vector<uint32_t>, kWarpSize> returns;
  std::string message, reason;
};

template <class F> Next Warp::meet(const Inst &inst, uint32_t mask, const uint32_t *members, F f) {
  if (mask == exists && std::all_of(members, members + __builtin_popcount(exists),
                                    [=](uint32_t named) { return (exists & ~named) == 0; }))
    return f(mask); // all lanes are here
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
