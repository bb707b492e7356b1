//===- ThreadTransport.h - Messages among the threads of one process -------===//
//
// For tests, and for several ranks in one process. A send copies its bytes into the mailbox of the receiver and is
// done; a receive copies them out. Each transport belongs to one thread at a time.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_COMMUNICATOR_THREADTRANSPORT_H
#define SPLITCAST_RUNTIME_HOST_COMMUNICATOR_THREADTRANSPORT_H

#include "runtime/api/Transport.h"

namespace splitcast::runtime {

/// What a rank has sent, over its transport and all that were split from it.
struct TransportCounters {
  int64_t sentBytes = 0;
  int64_t sentMessages = 0;
};

/// One transport per rank, in rank order; the mailboxes live as long as one of them does.
/// With `sharesMemory` ranks may have one copy of memory (Transport::createShared).
std::vector<std::unique_ptr<Transport>> createThreadTransports(int64_t ranks, bool sharesMemory = false);

/// Of the rank that `transport`, made by createThreadTransports or by a split of one, belongs to.
TransportCounters countersOf(const Transport &transport);

/// As if the rank's process had died: its own health() and every message to it fail with Unavailable from now on, and
/// so do receives of what it had not sent before. `rank` is numbered as createThreadTransports did. Any thread may
/// call.
void markLost(Transport &transport, int64_t rank);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_COMMUNICATOR_THREADTRANSPORT_H
