//===- TcpRendezvous.h - Connects the ranks of a job -------------------------===//
//
// Rank 0 listens at an endpoint that all ranks know. The others connect to it, and tell their rank and where they
// listen. Rank 0 then tells all of them where the others listen, and each connects to the ranks below its own. On each
// connection both sides prove that they know the job's secret (TcpHandshake.h), so ranks of another job and strangers
// are refused. Without a secret, only the attempt and a random number, which rank 0 draws for the job and tells to
// whoever asks, keep others out: docs/security.md.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_TCP_TCPRENDEZVOUS_H
#define SPLITCAST_RUNTIME_TCP_TCPRENDEZVOUS_H

#include "runtime/tcp/TcpSocket.h"

#include <vector>

namespace splitcast::runtime {

struct Rendezvous {
  int64_t rank = 0, size = 1;
  Endpoint master = {}; ///< where rank 0 listens
  absl::Duration timeout = absl::Seconds(300);
  std::string secret = {}; ///< the same on all ranks; empty: the network is trusted
  uint64_t attempt = 0;    ///< how often the job was started before; the same on all ranks
};

/// Returns connections to all ranks, by rank; the one to this rank itself is closed. All ranks call it. A connection
/// that says nothing, or something else than a rank of the job says, is refused and changes nothing for the others.
///
/// Ranks listen at the address to which the master's name resolves, or at that from which they reach it. Where a name
/// of the network resolves to a loopback address (Debian does this to a machine's own name), they listen at all
/// addresses if there is a secret, and otherwise at that one alone.
///
///   Errors  Unavailable: rank 0 cannot listen; a rank did not connect in time, or has ended; something else than rank
///           0 answers. InvalidArgument: two ranks have the same number, a rank has a number that the job does not, or
///           ranks were given different sizes. PermissionDenied: rank 0 has another secret. FailedPrecondition: ranks
///           belong to different attempts. All ranks that reached rank 0, and know the secret, return the errors of
///           rank 0, and messages name the ranks in question.
absl::StatusOr<std::vector<Socket>> meet(const Rendezvous &rendezvous);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_TCP_TCPRENDEZVOUS_H
