//===- CudaLibraryCall.h - Library calls on GPUs ------------------------------------------------------===//
//
// These are the calls of runtime/host/calls/LibraryCall.h, with the same attributes and operands: a plan's call does
// not say which library will run it. Each call is one file, which registers itself.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_CUDA_CUDALIBRARYCALL_H
#define SPLITCAST_RUNTIME_CUDA_CUDALIBRARYCALL_H

#include "dialects/exec/Exec.h"
#include "runtime/api/Device.h"
#include "runtime/cuda/CudaProductOptions.h"

#include <memory>
#include <string>

namespace splitcast::runtime {

struct CudaLibraryCallOptions {
  CudaProductOptions products;
  std::string chip; ///< the device's chip, such as "sm_90"
};

using CudaLibraryCallFactory = absl::StatusOr<std::unique_ptr<Launchable>> (*)(exec::LibraryCallAttrInterface call,
                                                                               const CudaLibraryCallOptions &options);

/// A static object of this type in a call's file registers the call.
struct CudaLibraryCallRegistration {
  CudaLibraryCallRegistration(const char *name, CudaLibraryCallFactory factory);
};

/// Implements Device::libraryCall.
absl::StatusOr<std::unique_ptr<Launchable>> createCudaLibraryCall(exec::LibraryCallAttrInterface call,
                                                                  const CudaLibraryCallOptions &options);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CUDA_CUDALIBRARYCALL_H
