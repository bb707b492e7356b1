//===- CudaKernels.h - Loads the kernels of a plan on a GPU -----------------------------------------===//
#ifndef SPLITCAST_RUNTIME_CUDA_CUDAKERNELS_H
#define SPLITCAST_RUNTIME_CUDA_CUDAKERNELS_H

#include "runtime/api/Device.h"
#include "runtime/gpu/PtxCompiler.h"

namespace splitcast::runtime {

/// Implements Device::loadKernels: it cuts kernels into launches and compiles them to PTX, which the driver assembles
/// for the current device.
///   Errors  those of cutIntoLaunches, compileToPtx and findLibdevice; InvalidArgument: the driver refuses the PTX.
absl::StatusOr<std::unique_ptr<KernelLibrary>> loadCudaKernels(mlir::ModuleOp kernels, const std::string &chip);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CUDA_CUDAKERNELS_H
