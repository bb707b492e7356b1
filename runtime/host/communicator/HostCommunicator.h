//===- HostCommunicator.h - Collectives on host memory over messages -------===//
//
// Implements Communicator.h over Transport.h. Bytes, messages and workspace are exactly those of
// dialects/ccl/algebra/Traffic.h.
//
// Nothing goes on in the background: collectives go on while an event of this communicator, or of one that shares its
// root (see split), is waited for, and a little at every start. Every reduction needs its data and workspace aligned to
// the element.
//
// Beyond Communicator.h:
//   Threads    one at a time, for a communicator and all that were split from it.
//   Streams    not used: the host's streams have run their work when the call is made.
//   Errors     FailedPrecondition: a rank, named, sent a message of another length: the ranks run different programs.
//              Ranks in messages are numbered as in the communicator that createHostCommunicator made.
//   Lifetime   an event may outlive the communicator. After an error the buffers of unfinished collectives are free.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_COMMUNICATOR_HOSTCOMMUNICATOR_H
#define SPLITCAST_RUNTIME_HOST_COMMUNICATOR_HOSTCOMMUNICATOR_H

#include "runtime/api/Communicator.h"
#include "runtime/api/Transport.h"

#include "absl/time/time.h"

namespace splitcast::runtime {

struct HostCommunicatorOptions {
  /// How long a wait goes on in which no message comes or goes before it fails with DeadlineExceeded. What the host
  /// computes between start and wait does not count.
  absl::Duration timeout = absl::Minutes(5);
  /// A start with so many collectives in flight first waits for the oldest of them. 1 to 8192.
  int64_t maxInFlight = 1024;
};

/// A communicator of all ranks of the transport. Communicates nothing yet.
std::unique_ptr<Communicator> createHostCommunicator(std::unique_ptr<Transport> transport,
                                                     HostCommunicatorOptions options);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_COMMUNICATOR_HOSTCOMMUNICATOR_H
