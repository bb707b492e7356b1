#include "runtime/host/HostDevice.h"

#include "runtime/host/calls/LibraryCall.h"
#include "runtime/host/jit/Jit.h"
#include "runtime/workers/WorkerPool.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstring>
#include <malloc.h>

namespace splitcast::runtime {
namespace {

class FiredEvent : public EventState {
public:
  explicit FiredEvent(absl::Status status) : status(std::move(status)) {}
  absl::Status wait() override { return status; }

private:
  absl::Status status;
};

class HostStream : public Stream {
public:
  absl::Status waitFor(const Event &event) override {
    if (!event)
      return absl::InvalidArgumentError("a stream cannot wait for a null event");
    absl::Status status = event->wait();
    firstError.Update(status);
    return status;
  }
  absl::StatusOr<Event> record() override { return Event(std::make_shared<FiredEvent>(firstError)); }
  absl::Status synchronize() override { return firstError; }

private:
  absl::Status firstError;
};

JitTarget targetOf(const HostDeviceOptions &options) {
  JitTarget target = hostTarget();
  target.anyOrder = options.anyOrder;
  return target;
}

std::shared_ptr<HostMemory> memoryOf(const HostDeviceOptions &options) {
  if (options.memory)
    return options.memory;
  HostMemoryOptions own;
  own.guardPages = options.guardPages;
  return std::make_shared<HostMemory>(own);
}

class HostDevice : public Device {
public:
  explicit HostDevice(const HostDeviceOptions &options)
      : pool(std::make_shared<WorkerPool>(std::max(1, options.threads))), memory(memoryOf(options)),
        jit(std::make_shared<Jit>(JitOptions{pool->threads(), options.objectCacheDir, targetOf(options), pool,
                                             options.namesForPerf, options.warns})) {
    if (jit->namesForPerf())
      nameLibraryCodeForPerf();
  }

  std::string kind() const override { return "cpu"; }
  absl::StatusOr<Buffer> allocate(int64_t bytes) override { return memory->allocate(bytes); }
  absl::Status populate(Buffer buffer) override { return memory->populate(buffer); }
  void release(Buffer buffer) override { memory->release(buffer); }

  absl::StatusOr<std::unique_ptr<Stream>> createStream(const std::string &name) override {
    return std::unique_ptr<Stream>(new HostStream);
  }

  absl::StatusOr<std::unique_ptr<KernelLibrary>> loadKernels(mlir::ModuleOp kernels) override {
    absl::StatusOr<std::unique_ptr<KernelLibrary>> library = jit->load(kernels);
    malloc_trim(0); // returns the compiler's memory to the system
    return library;
  }

  absl::StatusOr<std::unique_ptr<Launchable>> libraryCall(exec::LibraryCallAttrInterface call) override {
    absl::StatusOr<std::unique_ptr<Launchable>> made = createLibraryCall(call, LibraryCallOptions{pool});
    if (made.ok())
      scratchOfThread = std::max(scratchOfThread, (*made)->scratchBytes());
    return made;
  }
  int64_t scratchBytes() const override { return scratchOfThread * pool->threads(); }

  absl::Status copy(Buffer to, Buffer from, Stream &stream) override {
    if (to.bytes != from.bytes)
      return absl::InvalidArgumentError(
          absl::StrCat("cannot copy ", from.bytes, " bytes into ", to.bytes, " bytes; the sizes must be equal"));
    if (to.bytes > 0)
      std::memmove(to.data, from.data, to.bytes);
    return absl::OkStatus();
  }
  absl::Status clear(Buffer buffer, Stream &stream) override {
    if (buffer.bytes > 0)
      std::memset(buffer.data, 0, buffer.bytes);
    return absl::OkStatus();
  }
  absl::Status upload(Buffer to, const void *from) override {
    if (to.bytes > 0)
      std::memcpy(to.data, from, to.bytes);
    return absl::OkStatus();
  }
  absl::Status download(void *to, Buffer from) override {
    if (from.bytes > 0)
      std::memcpy(to, from.data, from.bytes);
    return absl::OkStatus();
  }

private:
  std::shared_ptr<WorkerPool> pool;
  std::shared_ptr<HostMemory> memory;
  std::shared_ptr<Jit> jit;
  int64_t scratchOfThread = 0; ///< the most bytes that any call needs per thread
};

} // namespace

std::unique_ptr<Device> createHostDevice(const HostDeviceOptions &options) {
  return std::make_unique<HostDevice>(options);
}

} // namespace splitcast::runtime
