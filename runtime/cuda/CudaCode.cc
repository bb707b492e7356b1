#include "runtime/cuda/CudaCode.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/cuda/CudaStatus.h"

#include "absl/strings/ascii.h"

namespace splitcast::runtime {

absl::StatusOr<std::shared_ptr<CudaCode>> CudaCode::load(const std::string &ptx, const std::string &what) {
  std::shared_ptr<CudaCode> code(new CudaCode());
  cudaJitOption options[] = {cudaJitErrorLogBuffer, cudaJitErrorLogBufferSizeBytes};
  // The option's value is the size itself, not the address of a size.
  void *values[] = {static_cast<void *>(code->log), reinterpret_cast<void *>(kLogBytes - 1)};
  SPLITCAST_RETURN_IF_ERROR(
      code->statusOf(cudaLibraryLoadData(&code->library, ptx.c_str(), options, values, 2, nullptr, nullptr, 0), what));
  return code;
}

CudaCode::~CudaCode() {
  if (library)
    cudaLibraryUnload(library);
}

absl::StatusOr<cudaKernel_t> CudaCode::kernel(const std::string &name, const std::string &what) const {
  cudaKernel_t found = nullptr;
  SPLITCAST_RETURN_IF_ERROR(statusOf(cudaLibraryGetKernel(&found, library, name.c_str()), what));
  return found;
}

absl::Status CudaCode::statusOf(cudaError_t error, const std::string &what) const {
  const std::string said(absl::StripAsciiWhitespace(log));
  if (error == cudaSuccess || (error != cudaErrorInvalidPtx && said.empty()))
    return cudaStatus(error, what);
  const absl::Status status =
      cudaStatus(error, absl::StrCat(what, ": the driver refuses its PTX", said.empty() ? "" : ": ", said));
  return error == cudaErrorInvalidPtx ? absl::InvalidArgumentError(status.message()) : status;
}

} // namespace splitcast::runtime
