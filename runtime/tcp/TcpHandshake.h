//===- TcpHandshake.h - Two ranks prove to each other who they are ------------===//
//
// The side that connects speaks first. Each side sends a greeting (96 bytes: the protocol, what the rank says of
// itself, and a random number) and a proof (32 bytes) that it knows the job's secret. The side that accepts then says
// that it keeps the connection: otherwise it could have closed it, to make room for others, while the proof was on its
// way, and the other side would not know.
//
//   connects                                          accepts
//   greeting                                   ->
//                                              <-     greeting, HMAC(secret, "accepts", both greetings)
//   HMAC(secret, "connects", both greetings)   ->
//                                              <-     '+'
//
// Each proof covers the other side's random number, so that an earlier one is of no use, and all that both said. The
// job's number, the attempt and the ranks are part of it. Without a secret the proofs show nothing but that both speak
// this protocol.
//
// This class moves no bytes itself, so that it can be tested without sockets. It never holds more than the 128 bytes
// that it expects.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_TCP_TCPHANDSHAKE_H
#define SPLITCAST_RUNTIME_TCP_TCPHANDSHAKE_H

#include "runtime/tcp/TcpSecret.h"

#include <string>

namespace splitcast::runtime {

/// What a rank says of itself.
struct Membership {
  int64_t rank = 0, size = 1;
  uint64_t attempt = 0; ///< how often the job was started before
  uint64_t job = 0;     ///< the number that rank 0 has drawn for the job, or 0 before a rank knows it
  int64_t port = 0;     ///< the port on which it listens
};

class Handshake {
public:
  enum class Side { Connects, Accepts };
  static absl::StatusOr<Handshake> begin(Side side, const Membership &self, const std::string &secret);

  /// Returns what is to be sent now, once. Send it also after an error: the other side then knows the reason.
  std::string takeOutput();
  /// Returns how many bytes may be given to take() at most. It is 0 once the handshake is done.
  int64_t wanted() const;
  /// Takes bytes that have arrived.
  ///   Errors  NotFound: the other side is no rank of this protocol. PermissionDenied: it does not know the secret. The
  ///           messages begin with "it", the other side.
  absl::Status take(absl::string_view bytes);
  /// Returns whether the other side has proved that it knows the secret, and keeps the connection. It may be another
  /// attempt's rank all the same.
  bool isDone() const { return done; }
  /// Returns what the other side says of itself. It is proved once isDone().
  const Membership &peer() const { return other; }
  /// Returns whether peer() has been received.
  bool hasPeer() const { return !theirGreeting.empty(); }

private:
  Handshake() = default;
  absl::Status takeGreeting();
  absl::Status takeProof();
  absl::Status takeWelcome();
  Digest proofOf(Side prover) const;

  Side side = Side::Connects;
  std::string secret, ownGreeting, theirGreeting, input, output;
  Membership other;
  bool theyHaveSecret = false, theyHaveProved = false, done = false;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_TCP_TCPHANDSHAKE_H
