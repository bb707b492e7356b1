//===- CudaLibraryCall.h - What CUDA's libraries do better than a kernel ------------------------------===//
//
// The calls of runtime/host/calls/LibraryCall.h, by the same attributes and with the same operands: the plan
// does not say what will run it. Each call is one file, which registers itself.
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
  std::string chip; ///< of the device, as "sm_90"
};

using CudaLibraryCallFactory = absl::StatusOr<std::unique_ptr<Launchable>> (*)(exec::LibraryCallAttrInterface call,
                                                                               const CudaLibraryCallOptions &options);

/// A static object of this type in a call's file adds the call.
struct CudaLibraryCallRegistration {
  CudaLibraryCallRegistration(const char *name, CudaLibraryCallFactory factory);
};

/// As Device::libraryCall.
absl::StatusOr<std::unique_ptr<Launchable>> createCudaLibraryCall(exec::LibraryCallAttrInterface call,
                                                                  const CudaLibraryCallOptions &options);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CUDA_CUDALIBRARYCALL_H
