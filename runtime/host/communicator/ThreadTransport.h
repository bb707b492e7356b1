//===- ThreadTransport.h - Messages among the threads of one process -------===//
//
// This transport is for tests, and for several ranks in one process. A send copies its bytes into the receiver's
// mailbox and is then done; a receive copies them out. Only one thread at a time may use a transport.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_COMMUNICATOR_THREADTRANSPORT_H
#define SPLITCAST_RUNTIME_HOST_COMMUNICATOR_THREADTRANSPORT_H

#include "runtime/api/Transport.h"

namespace splitcast::runtime {

/// Counts what a rank has sent over its transport and all that were split from it.
struct TransportCounters {
  int64_t sentBytes = 0;
  int64_t sentMessages = 0;
};

/// Returns one transport per rank, in rank order. The mailboxes live as long as one of the transports does. With
/// `sharesMemory`, ranks may have one copy of memory (Transport::createShared).
std::vector<std::unique_ptr<Transport>> createThreadTransports(int64_t ranks, bool sharesMemory = false);

/// Returns the counters of the rank to which `transport` belongs. It comes from createThreadTransports, or from a
/// split.
TransportCounters countersOf(const Transport &transport);

/// Makes a rank behave as if its process had died. From now on its own health() and every message to it fail with
/// Unavailable, and so do receives of messages that it had not sent before. `rank` is the number that
/// createThreadTransports gave it. Any thread may call this.
void markLost(Transport &transport, int64_t rank);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_COMMUNICATOR_THREADTRANSPORT_H
