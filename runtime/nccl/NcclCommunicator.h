//===- NcclCommunicator.h - Collectives over NCCL --------------------------------------------------------===//
//
// Tensors go over NCCL, on the stream of the call; the unique id, barriers and exchanges go over a communicator of the
// host (over MPI, say), which also knows which rank has died.
//
// Sums       deterministic (the default): addends are exchanged and added in Communicator.h's tree, so that a stage of
//            ZeRO, a bucket's size or a restart change no bit: what the compiler promises. Else NCCL adds, in an order
//            of its own that depends on topology and size.
// Errors     A wait for a stream polls the communicator: an error that NCCL reports, or no answer within the timeout,
//            aborts it, and the status names the collective that was under way.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_NCCL_NCCLCOMMUNICATOR_H
#define SPLITCAST_RUNTIME_NCCL_NCCLCOMMUNICATOR_H

#include "runtime/api/Communicator.h"

#include "absl/time/time.h"

#include <functional>
#include <memory>

namespace splitcast::runtime {

struct NcclCommunicatorOptions {
  absl::Duration timeout = absl::Seconds(300);
  bool deterministic = true;
  /// Memory is registered as symmetric windows, where all ranks lay it out alike and NCCL has 2.30.7: before, a gather
  /// could read what the kernel before it had not written. Its kernels do not see an abort: a lost rank may then keep
  /// the others' devices busy for ever.
  bool usesWindows = false;
  /// Called with the error, in a thread of its own, when so long after it what belongs to the communicator is still not
  /// gone: a kernel, an abort or a release of memory that does not return. None: such a process waits for ever.
  std::function<void(const absl::Status &)> onStuck;
  absl::Duration patience = absl::Seconds(10);
};

/// Sets variables of the environment that NCCL reads, unless they are set; before the first communicator. Before 2.29.2
/// messages and then a gather of one registered buffer end in an illegal access (its issue 1859): nothing is
/// registered.
void avoidKnownNcclDefects();

/// All ranks of `control` call this at the same point, each with its CUDA device chosen.
///   Errors  Unavailable: NCCL's, with its text. FailedPrecondition: ranks have different versions of NCCL.
absl::StatusOr<std::unique_ptr<Communicator>> createNcclCommunicator(std::unique_ptr<Communicator> control,
                                                                     const NcclCommunicatorOptions &options);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_NCCL_NCCLCOMMUNICATOR_H
