//===- CudaCode.h - Code that the driver has assembled from PTX ----------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_CUDA_CUDACODE_H
#define SPLITCAST_RUNTIME_CUDA_CUDACODE_H

#include "absl/status/statusor.h"
#include "cuda_runtime_api.h"

#include <memory>
#include <string>

namespace splitcast::runtime {

/// Owns the driver's code. Its kernels are valid as long as this object, so whoever launches them shares it.
class CudaCode {
public:
  /// Makes the driver assemble the PTX. Errors name `what`.
  ///   Errors  InvalidArgument: the driver refuses the PTX; the message has the text of its assembler.
  static absl::StatusOr<std::shared_ptr<CudaCode>> load(const std::string &ptx, const std::string &what);
  CudaCode(const CudaCode &) = delete;
  CudaCode &operator=(const CudaCode &) = delete;
  ~CudaCode();

  absl::StatusOr<cudaKernel_t> kernel(const std::string &name, const std::string &what) const;

private:
  CudaCode() = default;
  absl::Status statusOf(cudaError_t error, const std::string &what) const;

  /// How much is kept of the assembler's log. Its first lines tell the reason.
  static constexpr size_t kLogBytes = 4096;
  char log[kLogBytes] = {}; ///< the driver may assemble, and write it, when the first kernel is asked for
  cudaLibrary_t library = nullptr;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CUDA_CUDACODE_H
