//===- TcpGreetings.h - Handshakes side by side -------------------------------===//
//
// Anyone may connect to a listening rank: a scanner of ports, a rank of another job, a process that says nothing. So
// the handshakes of all connections go on at once, each with a time of its own (10 s), and one that fails concerns no
// other.
//
// Of the connections from others 256 may be in their handshakes. If more come, the addresses that they come from share
// these places: the next connection takes that of the oldest one of the address that holds most, at once, if its own
// address then still holds fewer. Otherwise it takes that of the oldest one that has not greeted for 1 s, or not given
// a proof for 3 s, of an address that holds as many as its own; and if there is none, it is closed. So a caller whose
// connection is closed before it knows whom it has called has to call again.
//
//   a stranger at an address of its own     takes no place from an address that holds fewer, however fast it connects;
//                                           300 ranks of one host share 128 places beside it
//   one at the address of ranks, or with    fills the places as they become free, 85 to 256 a second; so of N
//   as many addresses as there are places   connections a second one in N / 85 finds a place, a rank's as well
//   one that connects faster than this      fills the kernel's backlog (4096), so that ranks do not get as far as this
//   process accepts
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_TCP_TCPGREETINGS_H
#define SPLITCAST_RUNTIME_TCP_TCPGREETINGS_H

#include "runtime/tcp/TcpHandshake.h"
#include "runtime/tcp/TcpReadiness.h"

#include <deque>
#include <map>
#include <optional>

namespace splitcast::runtime {

/// A connection whose handshake has ended.
struct Greeted {
  Socket socket;
  Membership peer;      ///< proved, if failure is OK
  int64_t called = -1;  ///< the rank that was called, or -1 if the other side has connected
  absl::Status failure; ///< why a call failed; of connections from others, only those that succeed are returned
};

class Greetings {
public:
  /// The secret is that of the job, or empty.
  static absl::StatusOr<Greetings> create(const Membership &self, std::string secret);

  /// Takes connections from this socket from now on.
  absl::Status listen(Socket listener);
  /// Begins the handshake of a connection to another rank.
  absl::Status call(Socket socket, int64_t rank);

  /// Returns a connection whose handshake has ended, or nothing if there is none after this time. Call it at least ten
  /// times a second, so that connections that say nothing are closed in time.
  ///   Errors  Unavailable: the listening socket is broken.
  absl::StatusOr<std::optional<Greeted>> next(int milliseconds);

  /// Makes refusals() tell of a connection that the caller refused after its handshake.
  void refuse(const Greeted &greeted, const std::string &reason);
  /// Returns what an error message may say about connections that were refused. It is empty if there were none, and
  /// otherwise begins with "; ".
  std::string refusals() const;

private:
  struct Talk {
    Socket socket;
    Handshake handshake;
    Patience patience;
    int64_t called;
    std::string from; ///< the address of one that has connected
  };
  using Talks = std::map<uint64_t, Talk>;

  explicit Greetings(Readiness readiness) : readiness(std::move(readiness)) {}
  absl::Status begin(Socket socket, Handshake::Side side, int64_t called, const std::string &from = "");
  absl::Status accept();
  bool makeRoom(const std::string &from);
  void advance(Talks::iterator talk);
  void end(Talks::iterator talk, absl::Status failure);
  void endLate();
  void note(absl::StatusCode kind, const std::string &from, const std::string &who, absl::string_view reason);

  Membership self;
  std::string secret;
  Readiness readiness;
  Socket listener;
  Talks talks;                        ///< by number; a lower one is older
  size_t taken = 0;                   ///< how many places
  std::map<std::string, size_t> held; ///< the same by address
  uint64_t lastTalk = 0;
  std::deque<Greeted> ended;
  Patience look{absl::Milliseconds(100)}; ///< until late talks are looked for again

  struct Refused {
    int64_t count = 0;
    std::string last;
  };
  std::map<absl::StatusCode, Refused> refused; ///< by the kind of reason
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_TCP_TCPGREETINGS_H
