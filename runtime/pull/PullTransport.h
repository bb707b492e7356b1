//===- PullTransport.h - Receivers read long messages in the sender's memory -------===//
//
// This transport wraps another. To a rank that reads this rank's memory (PeerMemory.h), a long message is sent as an
// offer of a few bytes: the receiver reads the contents in the sender's memory, copies them or computes with them, and
// then answers. Contents that do not lie in shared memory follow their offer as a message. Short messages, and all
// messages to other ranks, go through the wrapped transport.
//
// The sender need not make any call while its memory is read, which a library of messages would require.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_PULL_PULLTRANSPORT_H
#define SPLITCAST_RUNTIME_PULL_PULLTRANSPORT_H

#include "runtime/api/Transport.h"
#include "runtime/pull/PeerMemory.h"

namespace splitcast::runtime {

/// Messages of at least this many bytes are read. If ranks do not run the same program, a receiver that expects a
/// shorter message gets an error at once, but the sender waits for the answer.
inline constexpr int64_t kPulledBytes = 16 << 10;

/// Returns a transport on top of `messages` and `answers`, two transports between the ranks that `memory` has
/// connected, in their order.
std::unique_ptr<Transport> createPullTransport(std::unique_ptr<Transport> messages, std::unique_ptr<Transport> answers,
                                               std::shared_ptr<PeerMemory> memory);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_PULL_PULLTRANSPORT_H
