//===- CudaStatus.h - CUDA's errors as statuses ------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_CUDA_CUDASTATUS_H
#define SPLITCAST_RUNTIME_CUDA_CUDASTATUS_H

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cuda_runtime_api.h"

namespace splitcast::runtime {

/// Returns OK, or an error with `what` and CUDA's name and text for it. ResourceExhausted: out of memory.
/// FailedPrecondition: there is no device, or the driver is too old for this toolkit. Unavailable: anything else, after
/// which the device can no longer be used.
inline absl::Status cudaStatus(cudaError_t error, const std::string &what) {
  if (error == cudaSuccess)
    return absl::OkStatus();
  std::string text = absl::StrCat(what, ": ", cudaGetErrorName(error), ", ", cudaGetErrorString(error));
  switch (error) {
  case cudaErrorMemoryAllocation:
    return absl::ResourceExhaustedError(text);
  case cudaErrorNoDevice:
    return absl::FailedPreconditionError(absl::StrCat(text, "; run on a machine with a GPU, or with --device=cpu"));
  case cudaErrorInsufficientDriver:
    return absl::FailedPreconditionError(absl::StrCat(text, "; this program needs the driver of CUDA ",
                                                      CUDART_VERSION / 1000, ".", CUDART_VERSION % 1000 / 10,
                                                      " or later"));
  default:
    return absl::UnavailableError(text);
  }
}

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CUDA_CUDASTATUS_H
