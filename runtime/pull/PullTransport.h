//===- PullTransport.h - Long messages are read where they lie ---------------------===//
//
// A transport around another. A long message to a rank that reads this one's memory (PeerMemory.h) is an offer of a few
// bytes: the receiver reads the message where it lies, into the place where it shall lie or into what it computes, and
// then says so. What does not lie in shared memory follows its offer as a message; all else, and all messages to ranks
// of other machines, go as they are.
//
// The sender need do nothing while it is read, as a library of messages would want it to.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_PULL_PULLTRANSPORT_H
#define SPLITCAST_RUNTIME_PULL_PULLTRANSPORT_H

#include "runtime/api/Transport.h"
#include "runtime/pull/PeerMemory.h"

namespace splitcast::runtime {

/// Messages of so many bytes and more are read. Of ranks that do not run the same program, a sender of such a one waits
/// for its answer where the receiver expects a shorter one, which is told at once.
inline constexpr int64_t kPulledBytes = 16 << 10;

/// `messages` and `answers` are two transports of the ranks that `memory` has connected, in their order.
std::unique_ptr<Transport> createPullTransport(std::unique_ptr<Transport> messages, std::unique_ptr<Transport> answers,
                                               std::shared_ptr<PeerMemory> memory);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_PULL_PULLTRANSPORT_H
