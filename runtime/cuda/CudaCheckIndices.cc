//===- CudaCheckIndices.cc - Refuses indices that lie outside ---------------------------------------===//
//
// A kernel implements "check_indices" (runtime/api/IndexCheck.h). Its finding
// is copied to the host behind it, and is asked for at the end of a step, which
// so does not wait for the check. What is reported is forgotten: the next step
// is checked by itself.
//
//===----------------------------------------------------------------------===//
#include "runtime/api/CallAs.h"
#include "runtime/api/LaunchCheck.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/cuda/CudaCode.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/CudaLibraryCall.h"
#include "runtime/cuda/CudaStatus.h"
#include "runtime/gpu/DeviceIndexCheck.h"
#include "runtime/gpu/PtxCompiler.h"

namespace splitcast::runtime {
namespace {

/// The kernel's finding, a word on the device, and its copy on the host.
class Found {
public:
  explicit Found(IndexCheck indices) : indices(std::move(indices)) {}
  Found(const Found &) = delete;
  Found &operator=(const Found &) = delete;
  ~Found() {
    cudaFree(device);
    cudaFreeHost(host);
  }

  absl::Status allocate() {
    absl::Status status = cudaStatus(cudaMalloc(&device, sizeof(uint64_t)), IndexCheck::kName);
    if (status.ok())
      status = cudaStatus(cudaHostAlloc(&host, sizeof(uint64_t), cudaHostAllocDefault), IndexCheck::kName);
    SPLITCAST_RETURN_IF_ERROR(status);
    return forget();
  }

  absl::Status take() {
    absl::Status status = statusOfFound(indices, *static_cast<volatile uint64_t *>(host));
    if (!status.ok())
      status.Update(forget());
    return status;
  }

  const IndexCheck indices;
  void *device = nullptr, *host = nullptr;

private:
  absl::Status forget() {
    *static_cast<volatile uint64_t *>(host) = kNothingFound;
    absl::Status status = cudaStatus(cudaMemset(device, 0xff, sizeof(uint64_t)), IndexCheck::kName);
    return status.ok() ? cudaStatus(cudaStreamSynchronize(cudaStreamLegacy), IndexCheck::kName) : status;
  }
};

class CudaCheckIndices : public Launchable {
public:
  CudaCheckIndices(std::unique_ptr<Found> found, std::shared_ptr<CudaCode> code, cudaKernel_t kernel)
      : found(std::move(found)), code(std::move(code)), kernel(kernel) {}

  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    const IndexCheck &check = found->indices;
    const int64_t bytes = check.count * bytesOf(check.type);
    SPLITCAST_RETURN_IF_ERROR(checkBuffers(IndexCheck::kName, {bytes}, buffers));
    if (check.count == 0)
      return absl::OkStatus();
    const void *indices = buffers[0].data;
    void *arguments[] = {static_cast<void *>(&indices), static_cast<void *>(&found->device)};
    const auto blocks = static_cast<unsigned>((check.count + kIndexCheckThreads - 1) / kIndexCheckThreads);
    cudaError_t error = cudaLaunchKernel(reinterpret_cast<const void *>(kernel), dim3(blocks), dim3(kIndexCheckThreads),
                                         arguments, 0, cudaStreamOf(stream));
    if (error == cudaSuccess)
      error =
          cudaMemcpyAsync(found->host, found->device, sizeof(uint64_t), cudaMemcpyDeviceToHost, cudaStreamOf(stream));
    return cudaStatus(error, IndexCheck::kName);
  }

  absl::Status takeFinding() override { return found->take(); }

private:
  const std::unique_ptr<Found> found;
  const std::shared_ptr<CudaCode> code;
  const cudaKernel_t kernel;
};

absl::StatusOr<std::unique_ptr<Launchable>> create(exec::LibraryCallAttrInterface call,
                                                   const CudaLibraryCallOptions &) {
  IndexCheck check = IndexCheck::from(callAs<exec::CheckIndicesAttr>(call));
  mlir::MLIRContext context;
  SPLITCAST_ASSIGN_OR_RETURN(GpuProgram program, deviceIndexCheck(check, context));
  PtxTarget target;
  target.chip = "sm_70"; // the driver assembles this PTX for any later chip
  target.features = "+ptx60";
  SPLITCAST_ASSIGN_OR_RETURN(std::string ptx, compileToPtx(program, target));
  auto found = std::make_unique<Found>(std::move(check));
  SPLITCAST_RETURN_IF_ERROR(found->allocate());
  SPLITCAST_ASSIGN_OR_RETURN(std::shared_ptr<CudaCode> code, CudaCode::load(ptx, IndexCheck::kName));
  SPLITCAST_ASSIGN_OR_RETURN(cudaKernel_t kernel, code->kernel("check_indices", IndexCheck::kName));
  return std::make_unique<CudaCheckIndices>(std::move(found), std::move(code), kernel);
}

const CudaLibraryCallRegistration registration(IndexCheck::kName, create);

} // namespace
} // namespace splitcast::runtime
