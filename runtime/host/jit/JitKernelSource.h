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

struct KernelSource {
  std::string name;
  std::string text;
  /// The bytes of each argument, workspace included.
  std::vector<int64_t> argumentBytes;
  /// The value of `splitcast.workspace`, or 0.
  int64_t workspaceBytes = 0;
  /// If `iterations` is above 0, the kernel is one divisible loop (dialects/exec/Divisible.h) of this many iterations.
  /// After its arguments it takes the iterations at which to begin and to end. These are multiples of `stride`, or the
  /// end of the loop.
  int64_t iterations = 0, stride = 1;
};

/// Returns the kernels of a module: its public functions, in order. Private functions are helpers.
///   Errors  InvalidArgument, which names kernel and op: an argument is not a memref of static shape and identity
///           layout; there is a result; an op is of another dialect than func, scf, cf, arith, math, memref and vector;
///           an op has fast-math flags (bits would depend on the vector width); or the workspace attribute does not fit
///           the last argument.
absl::StatusOr<std::vector<KernelSource>> kernelSources(mlir::ModuleOp module);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_JIT_JITKERNELSOURCE_H
