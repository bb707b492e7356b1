//===- CudaDevice.h - A GPU as a device ---------------------------------------------------------===//
//
// Calls return when work is enqueued. Streams and events are those of CUDA, and captured work is a CUDA graph. Kernels
// are compiled to PTX here (PtxCompiler.h) and assembled by the driver. Matrix products go to cuBLASLt.
//
// Threads    Only one thread of a process uses CUDA devices, what they return, and NCCL's communicators: the one that
//            called createCudaDevice. The device is chosen for that thread alone, and the watchers, kernels and
//            workspaces of the process have no lock.
// Devices    A process uses one CUDA device: workspaces and algorithms are made once per process.
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
  int number = 0; ///< the number of the device, as CUDA counts
  CudaProductOptions products;
  /// Whether Device::capture makes CUDA graphs. If not, it returns null.
  bool capturesGraphs = true;
};

/// Returns how many devices this process sees, and 0 without a driver.
int countCudaDevices();

/// Returns the device's UUID in hexadecimal digits. It is the same in all processes, even if they number the devices
/// differently.
absl::StatusOr<std::string> cudaDeviceId(int number);

/// Chooses the device for the calling thread, and returns it. It must outlive its buffers, streams, kernels and calls.
///   Errors  FailedPrecondition: there is no such device, or the driver is too old.
absl::StatusOr<std::unique_ptr<Device>> createCudaDevice(const CudaDeviceOptions &options);

/// Returns a stream of the calling thread's device. `name` is for errors.
absl::StatusOr<std::unique_ptr<Stream>> createCudaStream(const std::string &name);

/// Returns CUDA's stream. Requires that a CUDA device made `stream`.
cudaStream_t cudaStreamOf(Stream &stream);

/// Returns whether the stream is recording its work for a CUDA graph.
bool isCapturing(cudaStream_t stream);

/// The replays of one captured CUDA graph. The object exists as long as the graph, from its capture on.
class CudaReplays {
public:
  virtual ~CudaReplays() = default;
  /// Returns, without waiting, whether all replays so far have been done.
  virtual bool areDone() const = 0;
};
/// Returns the replays of the graph that is being captured, or null if none is.
std::shared_ptr<const CudaReplays> replaysOfCapture();

/// Returns an event that fires when the work that `stream` has now has been done.
absl::StatusOr<Event> recordCudaEvent(cudaStream_t stream);
/// Returns, without waiting, whether an event of a CUDA device has fired.
bool isCudaEventDone(const Event &event);

/// A watcher finds errors that CUDA does not report. While a thread of this process waits for a stream or an event, it
/// asks all watchers again and again, and once more when the wait is over. So a wait for one stream also returns the
/// errors of others.
class CudaWatcher {
public:
  virtual ~CudaWatcher() = default;
  /// Returns an error that has happened, or one that says why the thread, which has waited for `waited`, should give
  /// up. Returns OK if the thread may continue.
  virtual absl::Status check(absl::Duration waited) = 0;
  /// Called when a watcher found an error: the work that this one has in flight must not keep the device busy.
  virtual void abandon(const absl::Status &status) {}
};

/// Adds a watcher, which is asked for as long as it exists.
void addCudaWatcher(std::weak_ptr<CudaWatcher> watcher);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CUDA_CUDADEVICE_H
