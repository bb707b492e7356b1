//===- CudaCheckIndices.cc - Refuses indices that lie outside ---------------------------------------===//
//
// "check_indices", as runtime/host/LibraryCheckIndices.cc. Indices are few and come from the host: they are read back
// and looked at there, before any kernel can read past a table. It is the one place where a step waits for the device.
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/CudaLibraryCall.h"
#include "runtime/cuda/CudaStatus.h"
#include "runtime/host/LibraryCall.h"

#include <vector>

namespace splitcast::runtime {
namespace {

class CudaCheckIndices : public Launchable {
public:
  explicit CudaCheckIndices(std::unique_ptr<Launchable> onHost) : onHost(std::move(onHost)) {}

  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    std::vector<Buffer> copies;
    for (const Buffer &buffer : buffers) {
      indices.resize(buffer.bytes);
      copies.push_back({indices.data(), buffer.bytes});
      absl::Status status = cudaStatus(
          cudaMemcpyAsync(indices.data(), buffer.data, buffer.bytes, cudaMemcpyDeviceToHost, cudaStreamOf(stream)),
          "check_indices");
      status.Update(stream.synchronize());
      if (!status.ok())
        return status;
    }
    return onHost->launch(copies, stream);
  }

private:
  std::vector<std::byte> indices;
  const std::unique_ptr<Launchable> onHost;
};

absl::StatusOr<std::unique_ptr<Launchable>> create(mlir::DictionaryAttr config, const CudaLibraryCallOptions &) {
  absl::StatusOr<std::unique_ptr<Launchable>> onHost = createLibraryCall("check_indices", config, {});
  if (!onHost.ok())
    return onHost.status();
  return std::make_unique<CudaCheckIndices>(*std::move(onHost));
}

const CudaLibraryCallRegistration registration("check_indices", create);

} // namespace
} // namespace splitcast::runtime
