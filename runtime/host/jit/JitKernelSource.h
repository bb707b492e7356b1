//===- JitKernelSource.h - One kernel, cut out of its module -----------------===//
//
// Kernels are compiled, cached and loaded one by one. A kernel's source is the text of a module that holds the kernel,
// under one fixed name, and what it calls and reads: equal kernels have equal text, and the text is all that their code
// depends on besides target and pipeline. It also leaves the caller's MLIRContext alone.
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
  /// Of each argument, workspace included.
  std::vector<int64_t> argumentBytes;
  /// The value of `splitcast.workspace`, or 0.
  int64_t workspaceBytes = 0;
  /// Above 0: the kernel is one divisible loop (dialects/exec/Divisible.h) of so many iterations, and behind its
  /// arguments takes where to begin and where to end: multiples of `stride`, or the end of all.
  int64_t iterations = 0, stride = 1;
};

/// The kernels of a module: its public functions, in order. Private functions are helpers.
///   Errors  InvalidArgument, naming kernel and op: an argument that is not a memref of static shape and identity
///           layout; a result; an op of another dialect than func, scf, cf, arith, math, memref, vector; fast-math
///           flags (bits would depend on the vector width); a workspace attribute that does not fit the last argument.
absl::StatusOr<std::vector<KernelSource>> kernelSources(mlir::ModuleOp module);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_JIT_JITKERNELSOURCE_H
