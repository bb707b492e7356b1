//===- NcclCommunicator.h - Collectives over NCCL --------------------------------------------------------===//
//
// Tensors go over NCCL, on the stream of the call. The unique id, barriers and exchanges go over a communicator of the
// host (over MPI, say), which also knows which rank has died.
//
// Sums       If `deterministic` is set (the default), addends are exchanged and added in Communicator.h's tree, so that
//            a stage of ZeRO, the size of a bucket or a restart changes no bit, as the compiler promises. Otherwise
//            NCCL adds, in an order of its own that depends on topology and size.
//            The addends travel in chunks (ccl::deviceChunkBytes), and a stream of the communicator's own adds one
//            while the next is on its way.
//            The tree has at most 64 addends. In a larger group, reduceScatter and allReduce return InvalidArgument on
//            all ranks, before anything is sent.
// Errors     A wait for a stream or an event polls the communicator. If NCCL reports an error, or no answer comes
//            within the timeout, the communicator is aborted, and the status names the collective that was in flight.
//            While captured collectives (Device::capture) are replayed, the timeout is that of a wait as a whole, and
//            the status names the first and the last collective of that work.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_NCCL_NCCLCOMMUNICATOR_H
#define SPLITCAST_RUNTIME_NCCL_NCCLCOMMUNICATOR_H

#include "dialects/ccl/algebra/Traffic.h"
#include "runtime/api/Communicator.h"

#include "absl/time/time.h"

#include <functional>
#include <memory>

namespace splitcast::runtime {

struct NcclCommunicatorOptions {
  /// How long a rank may take to answer; see Communicator.h, Timeout. A replay of captured work must be shorter.
  absl::Duration timeout = absl::Seconds(300);
  bool deterministic = true; ///< see Sums
  /// See ccl::deviceChunkBytes. It is the same on all ranks, and at most what the plans of these ranks expect.
  int64_t roundBytes = ccl::kDeviceRoundBytes;
  /// Whether memory is registered as symmetric windows. This is done only if all ranks have the same memory layout and
  /// NCCL is at least 2.30.7: with earlier versions, a gather could read memory before the preceding kernel had written
  /// it. NCCL's kernels for windows do not notice an abort, so a lost rank may keep the devices of other ranks busy for
  /// ever.
  bool usesWindows = false;
  /// Called with the error, in a separate thread, if resources of the communicator are still in use `patience` after
  /// the error: a kernel, an abort or a release of memory does not return. If it is empty, such a process waits for
  /// ever.
  std::function<void(const absl::Status &)> onStuck;
  absl::Duration patience = absl::Seconds(10);
};

/// Sets environment variables that NCCL reads, unless they are set already. Call it before the first communicator is
/// made. Before NCCL 2.29.2, messages and then a gather of one registered buffer end in an illegal access (NCCL's issue
/// 1859), so with these versions no buffers are registered.
void avoidKnownNcclDefects();

/// Returns a communicator of the ranks of `control`, which it owns. All ranks of `control` call this at the same point,
/// after each has chosen its CUDA device.
///   Errors  Unavailable: NCCL's errors, with its text. FailedPrecondition: ranks have different versions of NCCL.
///           DeadlineExceeded: a rank has not answered within the timeout.
absl::StatusOr<std::unique_ptr<Communicator>> createNcclCommunicator(std::unique_ptr<Communicator> control,
                                                                     const NcclCommunicatorOptions &options);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_NCCL_NCCLCOMMUNICATOR_H
