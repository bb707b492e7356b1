//===- HostCommunicator.h - Collectives on host memory over messages -------===//
//
// This implements Communicator.h over Transport.h. Bytes, messages and workspace are exactly those of
// dialects/ccl/algebra/Traffic.h.
//
// No thread works in the background. Collectives make progress while the caller waits for an event of this communicator
// or of one that was split from the same root, and a little at every start. Every reduction needs data and workspace
// that are aligned to the element.
//
// Beyond Communicator.h:
//   Threads    Only one thread at a time may use a communicator and all that were split from the same root.
//   Streams    They are not used: the host's streams have already run their work when a collective starts.
//   Errors     FailedPrecondition: two ranks, which the message names with what each was doing, are not at the same
//   call
//              (Frame.h); the ranks run different programs. All communicators of the same root are then dead. Messages
//              number the ranks as in the communicator of createHostCommunicator.
//   Lifetime   An event may outlive the communicator. After an error, the buffers of unfinished collectives are no
//              longer used, except over MPI: it may go on using the memory of messages that it could not cancel, every
//              send among them, until the process ends. Then only end the process (Launch.h).
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_COMMUNICATOR_HOSTCOMMUNICATOR_H
#define SPLITCAST_RUNTIME_HOST_COMMUNICATOR_HOSTCOMMUNICATOR_H

#include "runtime/api/Communicator.h"
#include "runtime/api/Transport.h"

#include "absl/time/time.h"

#include <functional>

namespace splitcast::runtime {

struct HostCommunicatorOptions {
  /// How long a wait continues without any message sent or received before it fails with DeadlineExceeded. The time
  /// that the host computes between start and wait does not count.
  absl::Duration timeout = absl::Minutes(5);
  /// If this many collectives are in flight, a start first waits for the oldest of them. Values are brought into the
  /// range 1 to 8191.
  int64_t maxInFlight = 1024;
  /// Returns whether a rank has ended its program, so that no message of it is to come. A wait for such a rank that
  /// sees no message for a second is FailedPrecondition. Ranks are numbered as in the root; may be empty. It is called
  /// while a wait makes no progress.
  std::function<bool(int64_t rank)> hasEnded = nullptr;
};

/// Returns a communicator of all ranks of the transport, which it owns. This sends nothing yet.
std::unique_ptr<Communicator> createHostCommunicator(std::unique_ptr<Transport> transport,
                                                     const HostCommunicatorOptions &options);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_COMMUNICATOR_HOSTCOMMUNICATOR_H
