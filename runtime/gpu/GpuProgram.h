//===- GpuProgram.h - Cuts kernels into launches ---------------------------------------------===//
//
// A kernel of a plan is a function over memrefs that contains gpu.launch ops of constant size, in order. Each launch op
// becomes a gpu.func, which is compiled (PtxCompiler.h), and a launch of this function. Nothing here needs a GPU or
// CUDA.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_GPU_GPUPROGRAM_H
#define SPLITCAST_RUNTIME_GPU_GPUPROGRAM_H

#include "absl/status/statusor.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/OwningOpRef.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace splitcast::runtime {

/// The launch of one gpu.func on a grid. Sizes are x, y, z.
struct GpuLaunch {
  std::string function;
  std::array<int64_t, 3> blocks = {1, 1, 1}, threads = {1, 1, 1};
  std::vector<int64_t> arguments; ///< for each argument of the function, the number of the kernel's argument
};

struct GpuKernel {
  std::string name;
  std::vector<int64_t> argumentBytes;
  std::vector<int64_t> alignments; ///< the alignment of each argument, in bytes, on which the kernel relies; 1 is none
  std::vector<GpuLaunch> launches; ///< in order; empty if there is nothing to compute
};

struct GpuProgram {
  /// It contains one gpu.module, with the functions that the launches name. Equal functions appear once.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<GpuKernel> kernels;
  bool mayAlias = false; ///< whether arguments of a function may overlap

  mlir::gpu::GPUModuleOp functions();
};

/// Registers the dialects that a kernel's source may use.
void registerGpuKernelDialects(mlir::DialectRegistry &registry);

/// Cuts the public functions of a module into launches. It does not change `kernels`.
///   Errors  InvalidArgument, which names the kernel: an argument is not a memref of static shape and identity layout,
///           an op is outside of a launch, or the size of a launch is not constant.
absl::StatusOr<GpuProgram> cutIntoLaunches(mlir::ModuleOp kernels);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_GPU_GPUPROGRAM_H
