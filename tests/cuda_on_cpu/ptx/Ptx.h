//===- Ptx.h - Kernels in PTX, run on the CPU -----------------------------------------------===//
//
// Runs what LLVM wrote for a GPU exactly as its text says, on a machine without one, and checks every access as
// compute-sanitizer's memcheck, racecheck and synccheck do. 32 threads that follow each other are a warp and go through
// the code together until they branch apart.
//
// With SPLITCAST_CUDA_ON_CPU_SEED set to a number, blocks, warps and threads between barriers run in an order that
// follows from it; otherwise in the order of their numbers.
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

/// What kernels may touch outside of their own memory.
class GlobalMemory {
public:
  struct Range {
    uint64_t begin = 0, end = 0;
  };
  virtual ~GlobalMemory() = default;
  /// The live allocation that holds `address`; begin == end == 0: none does. Asked once per launch for most accesses,
  /// for the ranges it gave are remembered until the launch ends.
  virtual Range rangeOf(uint64_t address) const = 0;
};

struct PtxGrid {
  std::array<uint32_t, 3> blocks, threads;
};

/// What costs time and may be left out. (Bounds, alignment and undefined registers are always checked.)
struct PtxChecks {
  /// Conflicting accesses of threads that no barrier orders, in shared and global memory, and ld.global.nc of what the
  /// launch stores.
  bool races = true;
};

/// Device addresses are addresses of the host.
class PtxModule {
public:
  ~PtxModule();
  /// Errors  InvalidArgument: the line, its text, and what is unknown or wrong in it.
  static absl::StatusOr<std::unique_ptr<PtxModule>> parse(absl::string_view text);

  bool hasKernel(const std::string &name) const;
  /// Bytes of each argument of a kernel, in order.
  std::vector<int64_t> argumentBytes(const std::string &name) const;

  /// Runs the whole grid on this thread; may be called on several threads at once.
  ///   Ownership  reads argumentBytes() bytes from each of `arguments` at its start.
  ///   Errors     NotFound: no such kernel. InvalidArgument with the kernel, block, thread and line: what a GPU would
  ///              refuse, or would leave undefined; what the launch has stored until then stays.
  absl::Status run(const std::string &name, const PtxGrid &grid, void *const *arguments, const GlobalMemory &memory,
                   const PtxChecks &checks = PtxChecks()) const;

  /// Instructions that all threads of all launches have executed; some of the text count as two.
  int64_t executedInstructions() const { return executed; }

private:
  explicit PtxModule(std::unique_ptr<Program> parsed);

  std::unique_ptr<Program> program;
  mutable std::atomic<int64_t> executed{0};
};

} // namespace splitcast::cuda_on_cpu

#endif // SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTX_H
