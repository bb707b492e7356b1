//===- CountingDevice.h - Counts the memory of a device, and what is touched of it -===//
#ifndef SPLITCAST_TESTS_COMPILER_PREDICTION_COUNTINGDEVICE_H
#define SPLITCAST_TESTS_COMPILER_PREDICTION_COUNTINGDEVICE_H

#include "runtime/api/Device.h"

#include <map>

namespace splitcast::prediction {

/// A host device that counts the memory it has given out. It uses small pages, for each of which the system knows
/// whether it was touched.
class CountingDevice : public runtime::Device {
public:
  explicit CountingDevice(const std::string &objectCacheDir);

  /// The bytes of all buffers that were allocated and not released.
  int64_t heldBytes() const;
  /// The bytes of the pages of these buffers that were never read or written. Pages at the ends of a buffer count
  /// whole.
  int64_t untouchedBytes() const;

  std::string kind() const override { return host->kind(); }
  absl::StatusOr<runtime::Buffer> allocate(int64_t bytes) override { return note(host->allocate(bytes)); }
  void release(runtime::Buffer buffer) override;
  absl::StatusOr<runtime::Buffer> allocateHost(int64_t bytes) override { return note(host->allocateHost(bytes)); }
  void releaseHost(runtime::Buffer buffer) override;
  absl::StatusOr<std::unique_ptr<runtime::Stream>> createStream(const std::string &name) override {
    return host->createStream(name);
  }
  absl::StatusOr<std::unique_ptr<runtime::KernelLibrary>> loadKernels(mlir::ModuleOp kernels) override {
    return host->loadKernels(kernels);
  }
  absl::StatusOr<std::unique_ptr<runtime::Launchable>>
  libraryCall(splitcast::exec::LibraryCallAttrInterface call) override;
  int64_t scratchBytes() const override { return host->scratchBytes(); }
  absl::Status copy(runtime::Buffer to, runtime::Buffer from, runtime::Stream &stream) override {
    return host->copy(to, from, stream);
  }
  absl::Status clear(runtime::Buffer buffer, runtime::Stream &stream) override { return host->clear(buffer, stream); }
  absl::Status upload(runtime::Buffer to, const void *from) override { return host->upload(to, from); }
  absl::Status download(void *to, runtime::Buffer from) override { return host->download(to, from); }

private:
  absl::StatusOr<runtime::Buffer> note(absl::StatusOr<runtime::Buffer> made);

  std::unique_ptr<runtime::Device> host;
  std::map<std::byte *, int64_t> held; ///< the size of each buffer
};

} // namespace splitcast::prediction

#endif // SPLITCAST_TESTS_COMPILER_PREDICTION_COUNTINGDEVICE_H
