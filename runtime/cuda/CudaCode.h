//===- CudaCode.h - PTX that the driver has assembled --------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_CUDA_CUDACODE_H
#define SPLITCAST_RUNTIME_CUDA_CUDACODE_H

#include "absl/status/statusor.h"
#include "cuda_runtime_api.h"

#include <memory>
#include <string>

namespace splitcast::runtime {

/// Owns the driver's code; kernels of it live as long. What launches them shares it.
class CudaCode {
public:
  /// `what` is named by errors. InvalidArgument: the driver refuses the PTX, with what its assembler says of it.
  static absl::StatusOr<std::shared_ptr<CudaCode>> load(const std::string &ptx, const std::string &what);
  CudaCode(const CudaCode &) = delete;
  CudaCode &operator=(const CudaCode &) = delete;
  ~CudaCode() { cudaLibraryUnload(library); }

  absl::StatusOr<cudaKernel_t> kernel(const std::string &name, const std::string &what) const;

private:
  explicit CudaCode(cudaLibrary_t library) : library(library) {}

  const cudaLibrary_t library;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CUDA_CUDACODE_H
