//===- CudaDevice.h - A GPU as a device ---------------------------------------------------------===//
//
// Calls return when work is enqueued; streams are CUDA's, an event is one of CUDA's, captured work is a CUDA graph.
// Kernels are compiled to PTX here (PtxCompiler.h) and assembled by the driver; matrix products go to cuBLASLt.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_CUDA_CUDADEVICE_H
#define SPLITCAST_RUNTIME_CUDA_CUDADEVICE_H

#include "runtime/api/Device.h"
#include "runtime/cuda/CudaProductOptions.h"

#include "absl/time/time.h"
#include "cuda_runtime_api.h"

#include <memory>

namespace splitcast::runtime {

struct CudaDeviceOptions {
  int number = 0; ///< of the device, as CUDA counts them
  CudaProductOptions products;
  /// Work is captured as CUDA graphs where the executor asks for it.
  bool capturesGraphs = true;
};

/// How many devices this process sees; 0 also without a driver.
int countCudaDevices();

/// What a device is known by to all processes, whichever of them it is to each: its UUID, in hexadecimal digits.
absl::StatusOr<std::string> cudaDeviceId(int number);

/// The device outlives its buffers, streams, kernels and calls.
///   Errors  FailedPrecondition: no such device, or a driver that is too old.
absl::StatusOr<std::unique_ptr<Device>> createCudaDevice(const CudaDeviceOptions &options);

/// Of a stream that a CUDA device made.
cudaStream_t cudaStreamOf(Stream &stream);

/// Whether what is given to the stream becomes part of a graph.
bool isCapturing(cudaStream_t stream);

/// Fires when what `stream` holds so far has been done.
absl::StatusOr<Event> recordCudaEvent(cudaStream_t stream);
/// Of an event of a CUDA device; does not wait.
bool isCudaEventDone(const Event &event);

/// Is asked, again and again, while a thread waits for a stream of this process, and once when that is done.
class CudaWatcher {
public:
  virtual ~CudaWatcher() = default;
  /// What went wrong, or why the thread, which has waited for so long, waits in vain; OK: it may go on.
  virtual absl::Status check(absl::Duration waited) = 0;
  /// Another one found an error: what this one has under way must not keep the device busy.
  virtual void abandon(const absl::Status &status) {}
};

void addCudaWatcher(std::weak_ptr<CudaWatcher> watcher);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CUDA_CUDADEVICE_H
