//===- Device.h - Memory, streams, events and kernels of one device ---------===//
//
// The contract of `runtime/`, first half (Communicator.h is the other). A device runs what is enqueued on its streams:
// calls return when the work is enqueued, and work of one stream runs in order. The host device runs at once, in the
// calling thread, and is a legal implementation of this.
//
// A plan is bound once: kernels loaded, library calls prepared, buffers resolved. What is bound is then replayed every
// step, with no allocation and no look-up.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_API_DEVICE_H
#define SPLITCAST_RUNTIME_API_DEVICE_H

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace splitcast::exec {
class LibraryCallAttrInterface; // dialects/exec/Exec.h
} // namespace splitcast::exec

namespace splitcast::runtime {

/// Device memory, borrowed. Addresses of a non-host device may not be dereferenced.
struct Buffer {
  std::byte *data = nullptr;
  int64_t bytes = 0;

  Buffer slice(int64_t offset, int64_t count) const { return {data + offset, count}; }
};

/// A point in a stream's work. Copies share it.
class EventState {
public:
  virtual ~EventState() = default;
  /// Waits, in the calling thread, until the work has been done. Calling it again gives the same answer at once.
  virtual absl::Status wait() = 0;
};
using Event = std::shared_ptr<EventState>;

class Stream {
public:
  /// Afterwards no work of it touches memory: it was done, or, after an error, given up.
  virtual ~Stream() = default;
  /// Later work of this stream runs after `event`. (The host device waits here.)
  virtual absl::Status waitFor(const Event &event) = 0;
  /// Fires when the work enqueued so far has been done.
  virtual absl::StatusOr<Event> record() = 0;
  /// Waits until all work enqueued has been done, and returns the first error among it.
  virtual absl::Status synchronize() = 0;
};

/// A kernel or library call that knows its sizes and waits for its buffers.
class Launchable {
public:
  virtual ~Launchable() = default;
  /// Scratch memory that every launch needs, given as the last buffer when it is not 0.
  virtual int64_t workspaceBytes() const { return 0; }
  /// Memory that each thread of a launch holds beside its buffers, from the first launch on, shared with all others.
  virtual int64_t scratchBytes() const { return 0; }
  /// Buffers in the order of the plan's operands: inputs, then outputs. Borrowed until the work has been done.
  virtual absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) = 0;
};

/// The kernels of a plan, loaded.
class KernelLibrary {
public:
  virtual ~KernelLibrary() = default;
  /// Errors  NotFound: no kernel of that name.
  virtual absl::StatusOr<std::unique_ptr<Launchable>> kernel(const std::string &name) = 0;
};

/// Work that was captured, to be enqueued as a whole.
class CapturedWork {
public:
  virtual ~CapturedWork() = default;
  /// Enqueues all of it after what `stream` holds; what `stream` is given next comes after all of it.
  virtual absl::Status replay(Stream &stream) = 0;
};

class Device {
public:
  virtual ~Device() = default;

  /// "cpu", "cuda": the kind that a placement must have for its plans to run here.
  virtual std::string kind() const = 0;

  /// Memory aligned to 4096 bytes with unknown contents, or ResourceExhausted with the bytes asked for.
  virtual absl::StatusOr<Buffer> allocate(int64_t bytes) = 0;
  /// Says that a buffer that allocate returned is about to be used, where pages may still be missing.
  ///   Errors  ResourceExhausted, with the bytes asked for.
  virtual absl::Status populate(Buffer buffer) { return absl::OkStatus(); }
  /// Of a buffer that allocate returned.
  virtual void release(Buffer buffer) = 0;

  virtual absl::StatusOr<std::unique_ptr<Stream>> createStream(const std::string &name) = 0;

  /// Compiles or loads the kernels of a module: functions whose arguments are statically shaped memrefs (inputs, then
  /// outputs, then one memref of bytes when the kernel asks for workspace). Distinct arguments never overlap.
  ///   Errors  InvalidArgument: not such a module, with the compiler's diagnostics.
  virtual absl::StatusOr<std::unique_ptr<KernelLibrary>> loadKernels(mlir::ModuleOp kernels) = 0;

  /// Prepares what a vendor library does better: an attribute of dialects/exec, such as #exec.matmul<...>. Sums are in
  /// an order that sizes, flags and the device decide, and not how many threads it has.
  ///   Errors  Unimplemented: this device has no such call, or none of such elements.
  virtual absl::StatusOr<std::unique_ptr<Launchable>> libraryCall(exec::LibraryCallAttrInterface call) = 0;

  /// What the library calls prepared so far hold beside their buffers once they have run, in bytes. It depends on the
  /// CPU or GPU: no plan knows it. What a library holds by itself is not in it.
  virtual int64_t scratchBytes() const { return 0; }

  /// Either may be memory of allocateHost; the host leaves it alone until the stream has done the copy.
  virtual absl::Status copy(Buffer to, Buffer from, Stream &stream) = 0;
  /// Sets every byte to zero.
  virtual absl::Status clear(Buffer buffer, Stream &stream) = 0;
  /// Between host memory and device memory; both wait until the copy is done.
  virtual absl::Status upload(Buffer to, const void *from) = 0;
  virtual absl::Status download(void *to, Buffer from) = 0;

  /// Host memory that copies from and to the device need no other memory between for (page-locked, where that is a
  /// thing), zeroed. Where it is the system's own, no page is there before it is touched.
  ///   Errors  ResourceExhausted, with the bytes asked for.
  virtual absl::StatusOr<Buffer> allocateHost(int64_t bytes);
  /// Of a buffer that allocateHost returned.
  virtual void releaseHost(Buffer buffer);

  /// Keeps, instead of doing it, what `enqueue` gives to `stream` and, once they wait for its events, to other streams:
  /// the same launches on the same addresses. By its end `stream` has waited for all of them. Null, and `enqueue` is
  /// not called: replaying gains nothing here.
  virtual absl::StatusOr<std::unique_ptr<CapturedWork>> capture(Stream &stream,
                                                                absl::FunctionRef<absl::Status()> enqueue) {
    return nullptr;
  }
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_DEVICE_H
