#include "runtime/cuda/CudaCode.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/cuda/CudaStatus.h"

#include "absl/strings/ascii.h"

namespace splitcast::runtime {
namespace {

/// How much is kept of the assembler's log. Its first lines tell the reason.
constexpr size_t kLogBytes = 4096;

} // namespace

absl::StatusOr<std::shared_ptr<CudaCode>> CudaCode::load(const std::string &ptx, const std::string &what) {
  char log[kLogBytes] = {};
  cudaJitOption options[] = {cudaJitErrorLogBuffer, cudaJitErrorLogBufferSizeBytes};
  // The option's value is the size itself, not the address of a size.
  void *values[] = {static_cast<void *>(log), reinterpret_cast<void *>(sizeof(log) - 1)};
  cudaLibrary_t library = nullptr;
  const cudaError_t error = cudaLibraryLoadData(&library, ptx.c_str(), options, values, 2, nullptr, nullptr, 0);
  if (error == cudaSuccess)
    return std::shared_ptr<CudaCode>(new CudaCode(library));
  const std::string said(absl::StripAsciiWhitespace(log));
  const absl::Status status =
      cudaStatus(error, absl::StrCat(what, ": the driver refuses its PTX", said.empty() ? "" : ": ", said));
  return error == cudaErrorInvalidPtx ? absl::InvalidArgumentError(status.message()) : status;
}

absl::StatusOr<cudaKernel_t> CudaCode::kernel(const std::string &name, const std::string &what) const {
  cudaKernel_t found = nullptr;
  SPLITCAST_RETURN_IF_ERROR(cudaStatus(cudaLibraryGetKernel(&found, library, name.c_str()), what));
  return found;
}

} // namespace splitcast::runtime
