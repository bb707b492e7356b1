//===- Device.h - Memory, streams, events and kernels of one device ---------===//
//
// This is the first half of the contract that a backend implements; Communicator.h is the second. A device runs the
// work that is enqueued on its streams. A call that takes a stream returns once the work is enqueued, and the work of
// one stream runs in order. The host device runs all work at once, in the calling thread, which this contract allows.
//
// The executor binds a plan once: it loads the kernels, prepares the library calls and resolves the buffers. Every step
// then replays the bound plan, with no allocation and no look-up.
//
// Objects that a device returns are owned by the caller, except that a Buffer only borrows its memory: whoever
// allocated it also releases it. The device outlives all of them. Sizes are in bytes.
//
// Threads    Only one thread at a time may use a device and what it returned. On CUDA it is the thread that called
//            createCudaDevice (CudaDevice.h). (On the host, other threads may allocate, populate and release
//            meanwhile.)
// Errors     After an error of a stream's work, or after Unavailable from any call, destroy the streams and then all
//            else; a CUDA device may then no longer be usable. (The host's is.) After another error of a call the
//            device still works.
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
#include <vector>

namespace splitcast::exec {
class LibraryCallAttrInterface; // dialects/exec/Exec.h
} // namespace splitcast::exec

namespace splitcast::runtime {

/// Borrowed memory of a device. The host must not dereference addresses of a device other than the CPU.
struct Buffer {
  std::byte *data = nullptr;
  int64_t bytes = 0;

  Buffer slice(int64_t offset, int64_t count) const { return {data + offset, count}; }
};

/// A point in the work of a stream. An Event is a shared handle: its copies denote the same point.
class EventState {
public:
  virtual ~EventState() = default;
  /// Blocks the calling thread until the work before this point has been done. A second call returns at once: the same
  /// status or, on CUDA, an error that was found since.
  ///   Errors  those of that work. CUDA returns any error that a communicator of this process has found.
  virtual absl::Status wait() = 0;
};
using Event = std::shared_ptr<EventState>;

class Stream {
public:
  /// Once the stream is destroyed, none of its work touches memory: the work was done or, after an error, given up.
  virtual ~Stream() = default;
  /// Makes later work of this stream run after `event`, which is one of this device or of a communicator whose buffers
  /// lie on it. (The host device blocks here until the event fires.)
  ///   Errors  InvalidArgument: there is no event, or, on CUDA, it is not CUDA's. (The host takes any.) The host also
  ///           returns those of EventState::wait.
  virtual absl::Status waitFor(const Event &event) = 0;
  /// Returns an event that fires when the work enqueued so far has been done.
  virtual absl::StatusOr<Event> record() = 0;
  /// Blocks until all enqueued work has been done, and returns the first error of that work. (The host returns the
  /// error of a launch at the launch, and not here.) After an error, only destroy the stream.
  virtual absl::Status synchronize() = 0;
};

/// Tells when streams reach points of their work.
class StreamClock {
public:
  virtual ~StreamClock() = default;
  /// Returns the time now, in nanoseconds of the steady clock, which all processes of a machine share.
  static int64_t now();
  /// Marks the point behind the work that `stream`, one of this device, has now. Not called while work is captured.
  virtual absl::Status mark(Stream &stream) = 0;
  /// Returns when, by now(), each mark since the last call was reached, in the order of the marks. Blocks until all of
  /// them are reached.
  ///   Errors  those of EventState::wait.
  virtual absl::StatusOr<std::vector<int64_t>> times() = 0;
};

/// A kernel or a library call whose sizes are fixed; each launch gives it the buffers.
class Launchable {
public:
  virtual ~Launchable() = default;
  /// The bytes of workspace that every launch needs. If this is not 0, the workspace is the last buffer of a launch.
  virtual int64_t workspaceBytes() const { return 0; }
  /// The bytes of scratch that each thread of a launch keeps beside the buffers, from the first launch on. A thread has
  /// one scratch, which all launchables share. The number is known before the first launch, and never changes.
  virtual int64_t scratchBytes() const { return 0; }
  /// Enqueues the work on `stream`. The buffers are in the order of the plan's operands: inputs, then outputs. Each has
  /// its operand's size, and the alignment that a kernel's argument names (llvm.align). (All but CUDA's kernels take
  /// larger buffers.) They are borrowed until the work has been done, and this object outlives the work. Launch all
  /// library calls of a device on one stream: on CUDA they share their workspaces.
  ///   Errors  InvalidArgument: there are too few or too many buffers, one is too small or, on CUDA, not aligned;
  ///           nothing was enqueued.
  virtual absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) = 0;
  /// Returns what earlier launches have found wrong with their operands, and forgets it: on CUDA, an index that lies
  /// outside of its table. (Elsewhere the launch returns it.) Call it when their stream has been synchronized, and no
  /// other rank waits for work that is yet to be enqueued.
  virtual absl::Status takeFinding() { return absl::OkStatus(); }
};

/// The loaded kernels of a plan.
class KernelLibrary {
public:
  virtual ~KernelLibrary() = default;
  /// Returns the kernel of this name.
  ///   Errors  NotFound: there is no kernel of that name.
  virtual absl::StatusOr<std::unique_ptr<Launchable>> kernel(const std::string &name) = 0;
};

/// Recorded work (see Device::capture) that is enqueued as a whole. The buffers, launchables, registrations and
/// communicators that it uses outlive it. Destroy it when its replays have been done.
class CapturedWork {
public:
  virtual ~CapturedWork() = default;
  /// Enqueues all of the recorded work behind the work that `stream` already has. Later work of `stream` runs after all
  /// of it. `stream` is any stream of the device. The call may be repeated while an earlier replay is under way:
  /// replays of one object run one after the other.
  virtual absl::Status replay(Stream &stream) = 0;
};

class Device {
public:
  virtual ~Device() = default;

  /// "cpu" or "cuda": the kind that a placement must name for its plans to run on this device.
  virtual std::string kind() const = 0;

  /// Returns memory with unknown contents, aligned to 4096 bytes (less with HostDeviceOptions::guardPages; 256 on a GPU
  /// on which NCCL does not use CUDA's virtual memory). `bytes` is at least 1. (The host allows 0.)
  ///   Ownership  the caller passes the buffer to release().
  ///   Errors     ResourceExhausted, which names the bytes asked for. InvalidArgument: `bytes` is negative (the host).
  virtual absl::StatusOr<Buffer> allocate(int64_t bytes) = 0;
  /// Gives a buffer that allocate() returned the pages that it still lacks, right before its first use.
  ///   Errors  ResourceExhausted, which names the bytes asked for.
  virtual absl::Status populate(Buffer buffer) { return absl::OkStatus(); }
  /// Releases a buffer as allocate() returned it, not a part of it. The work that used it has been done (the caller has
  /// waited for it), and its registrations are destroyed. Streams may have other work.
  virtual void release(Buffer buffer) = 0;

  virtual absl::StatusOr<std::unique_ptr<Stream>> createStream(const std::string &name) = 0;

  /// Returns a clock for the streams of this device. The default is for devices whose work is done when a call returns.
  virtual absl::StatusOr<std::unique_ptr<StreamClock>> createClock();

  /// Compiles or loads the kernels of a module. A kernel is a function whose arguments are memrefs of static shape:
  /// inputs, then outputs, then one memref of bytes if the kernel needs workspace. Distinct arguments never overlap.
  /// The module is read only until this returns.
  ///   Errors  InvalidArgument: the module is not of this form; the message has the compiler's diagnostics.
  virtual absl::StatusOr<std::unique_ptr<KernelLibrary>> loadKernels(mlir::ModuleOp kernels) = 0;

  /// Prepares work that a vendor library does better than a kernel. `call` is an attribute of dialects/exec, such as
  /// #exec.matmul<...>. The order of additions depends on the sizes, the flags and the device, but not on the number of
  /// threads.
  ///   Errors  Unimplemented: this device has no such call, or not for this element type.
  virtual absl::StatusOr<std::unique_ptr<Launchable>> libraryCall(exec::LibraryCallAttrInterface call) = 0;

  /// The bytes of scratch that the library calls prepared so far keep beside their buffers once they have run. This
  /// depends on the CPU, so no plan accounts for it. Memory that a vendor library holds by itself is not counted, and a
  /// GPU counts none of its scratch: it returns 0.
  virtual int64_t scratchBytes() const { return 0; }

  /// Enqueues a copy between two buffers that do not overlap. (The host allows an overlap.) Either may be memory of
  /// allocateHost(); the host must not touch that memory until the stream has done the copy.
  ///   Errors  InvalidArgument (CPU and GPU): the buffers differ in size.
  virtual absl::Status copy(Buffer to, Buffer from, Stream &stream) = 0;
  /// Enqueues work that sets every byte to zero.
  virtual absl::Status clear(Buffer buffer, Stream &stream) = 0;
  /// These two copy between device memory and as many bytes of any host memory, and block until the copy is done. They
  /// do not wait for the work of any stream: synchronize first.
  virtual absl::Status upload(Buffer to, const void *from) = 0;
  virtual absl::Status download(void *to, Buffer from) = 0;

  /// Returns zeroed host memory that the device copies from and to directly, without a staging buffer (on a GPU it is
  /// page-locked), aligned to at least 16 bytes. Where it comes from the system's allocator (the default), its pages
  /// appear when they are first touched. `bytes` is at least 1. (The host allows 0.)
  ///   Ownership  the caller passes the buffer to releaseHost().
  ///   Errors     ResourceExhausted, which names the bytes asked for. InvalidArgument: `bytes` is negative (the host).
  virtual absl::StatusOr<Buffer> allocateHost(int64_t bytes);
  /// Releases a buffer that allocateHost() returned. The copies that used it have been done (the caller has waited for
  /// them).
  virtual void releaseHost(Buffer buffer);

  /// Records the work that `enqueue` submits to `stream`, without running it. Work on other streams is recorded from
  /// the point on where they wait for an event of `stream`. A replay makes the same launches on the same addresses.
  /// Before `enqueue` returns, `stream` must wait for the recorded work of all other streams. Returns null, without
  /// calling `enqueue`, if replaying gains nothing on this device; returns an error of `enqueue` as it is.
  /// `enqueue` launches, copies, clears, records events, makes streams wait for them and starts collectives, and has
  /// done the same once before: some work prepares itself at its first use. It calls nothing that waits (wait,
  /// synchronize, barrier, exchange, split) and no allocate, release, upload, download or capture.
  virtual absl::StatusOr<std::unique_ptr<CapturedWork>> capture(Stream &stream,
                                                                absl::FunctionRef<absl::Status()> enqueue) {
    return nullptr;
  }
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_DEVICE_H
