#include "runtime/cuda/CudaDevice.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/cuda/CudaClock.h"
#include "runtime/cuda/CudaGraph.h"
#include "runtime/cuda/CudaKernels.h"
#include "runtime/cuda/CudaLibraryCall.h"
#include "runtime/cuda/CudaStatus.h"

#include "absl/strings/escaping.h"
#include "nccl.h"

#include <algorithm>
#include <cstring>

namespace splitcast::runtime {
namespace {

class CudaDevice : public Device {
public:
  CudaDevice(const CudaDeviceOptions &options, std::string chip) : options(options), chip(std::move(chip)) {}

  std::string kind() const override { return "cuda"; }

  /// Allocates memory that NCCL can register with other ranks.
  absl::StatusOr<Buffer> allocate(int64_t bytes) override {
    void *data = nullptr;
    ncclResult_t result = ncclMemAlloc(&data, static_cast<size_t>(bytes));
    if (result != ncclSuccess)
      return absl::ResourceExhaustedError(absl::StrCat("GPU ", options.number, " cannot allocate ", bytes,
                                                       " bytes: ", ncclGetErrorString(result),
                                                       "; use more ranks, a higher stage "
                                                       "of ZeRO, or a smaller batch"));
    return Buffer{static_cast<std::byte *>(data), bytes};
  }
  void release(Buffer buffer) override { ncclMemFree(buffer.data); }

  absl::StatusOr<std::unique_ptr<Stream>> createStream(const std::string &name) override {
    return createCudaStream(name);
  }

  absl::StatusOr<std::unique_ptr<StreamClock>> createClock() override { return createCudaClock(); }

  absl::StatusOr<std::unique_ptr<KernelLibrary>> loadKernels(mlir::ModuleOp kernels) override {
    return loadCudaKernels(kernels, chip);
  }

  absl::StatusOr<std::unique_ptr<Launchable>> libraryCall(exec::LibraryCallAttrInterface call) override {
    return createCudaLibraryCall(call, {options.products, chip});
  }

  absl::Status copy(Buffer to, Buffer from, Stream &stream) override {
    if (to.bytes != from.bytes)
      return absl::InvalidArgumentError(
          absl::StrCat("cannot copy ", from.bytes, " bytes into ", to.bytes, " bytes; the sizes must be equal"));
    // cudaMemcpyDefault finds out from the addresses which memory is the
    // host's.
    return cudaStatus(cudaMemcpyAsync(to.data, from.data, from.bytes, cudaMemcpyDefault, cudaStreamOf(stream)), "copy");
  }
  absl::Status clear(Buffer buffer, Stream &stream) override {
    return cudaStatus(cudaMemsetAsync(buffer.data, 0, buffer.bytes, cudaStreamOf(stream)), "clear");
  }
  absl::Status upload(Buffer to, const void *from) override {
    // A copy from memory that is not page-locked may return before it is done,
    // and other streams do not wait for it.
    absl::Status status = cudaStatus(cudaMemcpy(to.data, from, to.bytes, cudaMemcpyHostToDevice), "upload");
    return status.ok() ? cudaStatus(cudaStreamSynchronize(cudaStreamLegacy), "upload") : status;
  }
  absl::Status download(void *to, Buffer from) override {
    return cudaStatus(cudaMemcpy(to, from.data, from.bytes, cudaMemcpyDeviceToHost), "download");
  }

  absl::StatusOr<Buffer> allocateHost(int64_t bytes) override {
    void *data = nullptr;
    SPLITCAST_RETURN_IF_ERROR(cudaStatus(cudaHostAlloc(&data, bytes, cudaHostAllocDefault),
                                         absl::StrCat("page-locking ", bytes, " bytes of host memory")));
    std::memset(data, 0, bytes);
    return Buffer{static_cast<std::byte *>(data), bytes};
  }
  void releaseHost(Buffer buffer) override { cudaFreeHost(buffer.data); }

  absl::StatusOr<std::unique_ptr<CapturedWork>> capture(Stream &stream,
                                                        absl::FunctionRef<absl::Status()> enqueue) override {
    if (!options.capturesGraphs)
      return nullptr;
    return captureCudaGraph(cudaStreamOf(stream), enqueue);
  }

private:
  const CudaDeviceOptions options;
  const std::string chip;
};

} // namespace

int countCudaDevices() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

absl::StatusOr<std::string> cudaDeviceId(int number) {
  cudaDeviceProp properties = {};
  SPLITCAST_RETURN_IF_ERROR(cudaStatus(cudaGetDeviceProperties(&properties, number), "querying a GPU"));
  return absl::BytesToHexString(absl::string_view(properties.uuid.bytes, sizeof(properties.uuid.bytes)));
}

absl::StatusOr<std::unique_ptr<Device>> createCudaDevice(const CudaDeviceOptions &options) {
  int count = 0;
  SPLITCAST_RETURN_IF_ERROR(cudaStatus(cudaGetDeviceCount(&count), "looking for GPUs"));
  if (options.number < 0 || options.number >= count)
    return absl::FailedPreconditionError(
        absl::StrCat("there is no GPU ", options.number, "; this process sees ", count, " GPUs, numbered from 0"));
  SPLITCAST_RETURN_IF_ERROR(cudaStatus(cudaSetDevice(options.number), "selecting a GPU"));
  int major = 0, minor = 0;
  for (auto [value, attribute] :
       {std::pair(&major, cudaDevAttrComputeCapabilityMajor), std::pair(&minor, cudaDevAttrComputeCapabilityMinor)})
    SPLITCAST_RETURN_IF_ERROR(cudaStatus(cudaDeviceGetAttribute(value, attribute, options.number), "querying a GPU"));
  // The compiler knows no later chip than this one, for whose PTX the driver
  // makes code for later chips.
  constexpr int kLatestChip = 90;
  return std::make_unique<CudaDevice>(options, absl::StrCat("sm_", std::min(10 * major + minor, kLatestChip)));
}

} // namespace splitcast::runtime
