//===- TcpRendezvous.h - Connects the ranks of a job -------------------------===//
//
// Rank 0 listens at an endpoint that all ranks know. The others connect to it, and tell their rank and where they
// listen. Rank 0 then tells all of them where the others listen, and each connects to the ranks below its own. Rank 0
// draws a random number for the job, which keeps out ranks of other jobs.
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
};

/// Returns connections to all ranks, by rank; the one to this rank itself is closed. All ranks call it.
///   Errors  Unavailable: rank 0 cannot listen, or a rank did not connect in time. InvalidArgument: two ranks have the
///           same number, or ranks were given different sizes. All ranks that reached rank 0 return the error, and the
///           message names the ranks in question.
absl::StatusOr<std::vector<Socket>> meet(const Rendezvous &rendezvous);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_TCP_TCPRENDEZVOUS_H
