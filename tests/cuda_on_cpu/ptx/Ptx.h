//===- Ptx.h - Kernels in PTX, run on the CPU -----------------------------------------------===//
//
// Interprets the PTX that LLVM wrote for a GPU, on a machine without one. It checks every access, like memcheck,
// racecheck and synccheck of compute-sanitizer. 32 consecutive threads are a warp; they run the code together until
// they branch to different places.
//
// If SPLITCAST_CUDA_ON_CPU_SEED is set to a number, blocks, warps and threads between barriers run in a pseudo-random
// order with this seed; otherwise in the order of their numbers.
//
#ifndef SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTX_H
#define SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTX_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace splitcast::cuda_on_cpu {

struct Program;

/// The memory that kernels may access, apart from their own shared and local memory.
class GlobalMemory {
public:
  struct Range {
    uint64_t begin = 0, end = 0;
  };
  virtual ~GlobalMemory() = default;
  /// Returns the live allocation that contains `address`; begin == end == 0 if there is none. A launch caches results,
  /// so allocations must not change while it runs.
  virtual Range rangeOf(uint64_t address) const = 0;
};

struct PtxGrid {
  std::array<uint32_t, 3> blocks, threads;
};

/// Checks that take time and can be switched off. (Bounds, alignment and undefined registers are always checked.)
struct PtxChecks {
  /// Checks for races: conflicting accesses to shared or global memory by threads that no barrier orders, and
  /// ld.global.nc of memory that the launch writes.
  bool races = true;
};

/// A parsed PTX module. Device addresses are host addresses.
class PtxModule {
public:
  ~PtxModule();
  ///   Errors  InvalidArgument: the text is wrong, or has something unknown. The message has the line and its text.
  static absl::StatusOr<std::unique_ptr<PtxModule>> parse(absl::string_view text);

  bool hasKernel(const std::string &name) const;
  /// The number of bytes of each argument of a kernel, in order.
  std::vector<int64_t> argumentBytes(const std::string &name) const;

  /// Runs the whole grid in the calling thread. Several threads may call it at the same time.
  ///   Ownership  It reads argumentBytes() bytes from each of `arguments` when it begins.
  ///   Errors     NotFound: there is no such kernel. InvalidArgument: the kernel did something that is an error or
  ///              undefined on a GPU. The message has the kernel, block, thread and line. Memory that was written until
  ///              then keeps its values.
  absl::Status run(const std::string &name, const PtxGrid &grid, void *const *arguments, const GlobalMemory &memory,
                   const PtxChecks &checks = PtxChecks()) const;

  /// The number of instructions that all threads of all launches have executed. Some instructions count as two.
  int64_t executedInstructions() const { return executed; }

private:
  explicit PtxModule(std::unique_ptr<Program> parsed);

  std::unique_ptr<Program> program;
  mutable std::atomic<int64_t> executed{0};
};

} // namespace splitcast::cuda_on_cpu

#endif // SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTX_H
