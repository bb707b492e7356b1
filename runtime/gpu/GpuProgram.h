//===- GpuProgram.h - Kernels, cut into launches ---------------------------------------------===//
//
// A kernel of a plan is a function over memrefs that holds gpu.launch ops of constant size, in order. Each becomes a
// gpu.func of its own, which is compiled (PtxCompiler.h), and a launch of it. Nothing here needs a GPU or CUDA.
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

/// One gpu.func on a grid. Sizes are x, y, z.
struct GpuLaunch {
  std::string function;
  std::array<int64_t, 3> blocks = {1, 1, 1}, threads = {1, 1, 1};
  std::vector<int64_t> arguments; ///< of the kernel, by number; of each argument of the function
};

struct GpuKernel {
  std::string name;
  std::vector<int64_t> argumentBytes;
  std::vector<int64_t> alignments; ///< that the kernel relies on, in bytes; 1: none
  std::vector<GpuLaunch> launches; ///< in order; none when there is nothing to compute
};

struct GpuProgram {
  /// Of one gpu.module, which holds the functions that the launches name; equal ones are one.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<GpuKernel> kernels;
  bool mayAlias = false; ///< arguments of a function may overlap

  mlir::gpu::GPUModuleOp functions();
};

/// What a kernel's source may be written in.
void registerGpuKernelDialects(mlir::DialectRegistry &registry);

/// Cuts up the public functions of a module; `kernels` is left as it is.
///   Errors  InvalidArgument, naming the kernel: an argument that is not a memref of static shape, an op outside of a
///           launch, or a launch whose size is not constant.
absl::StatusOr<GpuProgram> cutIntoLaunches(mlir::ModuleOp kernels);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_GPU_GPUPROGRAM_H
