//===- JitKernelSource.h - The source of one kernel --------------------------===//
//
// Kernels are compiled, cached and loaded one by one. A kernel's source is the text of a module with the kernel, under
// one fixed name, and with what it calls and reads. Equal kernels have equal text, and their code depends on nothing
// but this text, the target and the pipeline. Compiling a text also leaves the caller's MLIRContext alone.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_JIT_JITKERNELSOURCE_H
#define SPLITCAST_RUNTIME_HOST_JIT_JITKERNELSOURCE_H

#include "absl/status/statusor.h"
#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <string>
#include <vector>

namespace splitcast::runtime {

/// The name of the kernel's function in KernelSource::text.
inline constexpr char kKernelSymbol[] = "splitcast_kernel";

/// A loop of a kernel that may be divided (dialects/exec/Divisible.h).
struct DivisibleLoop {
  int64_t iterations = 0, stride = 1;
  int64_t bytes = 0; ///< of the arguments that it reads and writes
};

struct KernelSource {
  std::string name;
  std::string text;
  /// The bytes of each argument, workspace included.
  std::vector<int64_t> argumentBytes;
  /// The value of `splitcast.workspace`, or 0.
  int64_t workspaceBytes = 0;
  /// If there are any, the kernel consists of these loops, one after the other. After its arguments it takes, for each
  /// loop, the iterations at which to begin and to end. These are multiples of its stride, or the end of the loop.
  std::vector<DivisibleLoop> loops;
};

/// Returns the kernels of a module: its public functions, in order. Private functions are helpers.
///   Errors  InvalidArgument, which names kernel and op: an argument is not a memref of static shape and identity
///           layout; there is a result; an op is of another dialect than func, scf, cf, arith, math, memref and vector;
///           an op has fast-math flags (bits would depend on the vector width); or the workspace attribute does not fit
///           the last argument.
absl::StatusOr<std::vector<KernelSource>> kernelSources(mlir::ModuleOp module);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_JIT_JITKERNELSOURCE_H
