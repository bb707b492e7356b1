//===- TcpRendezvous.h - Ranks find each other -------------------------------===//
//
// Rank 0 listens at an endpoint that all know; the others come and say who they are and where they listen; rank 0 tells
// all of them where the others are, and each connects to those of a lower rank. A number that rank 0 draws keeps ranks
// of another job out.
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

/// Connections to all ranks, by rank; none to itself. All ranks call it.
///   Errors  Unavailable: rank 0 cannot listen, or a rank did not come in time: which, on all that came.
///           InvalidArgument: two ranks of one number, or ranks that were told different sizes, on all that came.
absl::StatusOr<std::vector<Socket>> meet(const Rendezvous &rendezvous);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_TCP_TCPRENDEZVOUS_H
