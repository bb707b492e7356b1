#include "runtime/tcp/TcpRendezvous.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/process/ProcessHealth.h"
#include "runtime/tcp/TcpGreetings.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <sys/socket.h>
#include <utility>

namespace splitcast::runtime {
namespace {

/// How long rank 0 waits until a rank has taken the reply, which fits into the
/// connection's buffer, and how much longer than rank 0 others wait for it.
constexpr absl::Duration kReplyTime = absl::Seconds(10);
/// A rank whose connection is closed before the other side has proved who it is
/// calls again after this pause, as often as its time allows: it may have been
/// refused because too many others connected (TcpGreetings.h).
constexpr absl::Duration kPause = absl::Milliseconds(200);
/// How long it tries to reach another rank than rank 0 before it looks at those
/// that call it.
constexpr absl::Duration kTry = absl::Seconds(1);

constexpr char kCheckMaster[] = "; check MASTER_ADDR, and give a MASTER_PORT that no other service uses";

/// Returns a text with the ranks, other than `self`, that have no connection
/// yet.
std::string missingRanks(const std::vector<Socket> &peers, int64_t self) {
  std::vector<int64_t> missing;
  for (size_t rank = 0; rank < peers.size(); ++rank)
    if (static_cast<int64_t>(rank) != self && !peers[rank].isOpen())
      missing.push_back(static_cast<int64_t>(rank));
  return absl::StrCat(missing.size() > 1 ? "ranks " : "rank ", absl::StrJoin(missing, ", "));
}

/// Returns whether `address` is one of loopback to which this machine resolves
/// a name of the network, so that other machines cannot reach it.
bool hidesMachine(const Rendezvous &rendezvous, const std::string &address) {
  return isLoopback(address) && !isLoopback(rendezvous.master.host);
}

absl::StatusOr<Socket> listenAsRank(const Rendezvous &rendezvous, const Endpoint &at) {
  const bool atAll = hidesMachine(rendezvous, at.host) && !rendezvous.secret.empty();
  return listenAt(at, atAll ? Reach::AllAddresses : Reach::ThisAddress);
}

/// Waits for the next connection whose handshake has ended. Returns nothing
/// from time to time, so that the caller can look at other things.
absl::StatusOr<std::optional<Greeted>> nextOf(Greetings &greetings, Patience &patience) {
  SPLITCAST_ASSIGN_OR_RETURN(std::optional<Greeted> greeted, greetings.next(pollMilliseconds(patience)));
  if (greeted.has_value())
    return greeted;
  SPLITCAST_RETURN_IF_ERROR(processHealth());
  if (patience.isOver())
    return absl::DeadlineExceededError("timed out");
  return std::nullopt;
}

std::string attemptsText(uint64_t theirs, uint64_t own) {
  return absl::StrCat("attempt ", theirs, " of the job, and this rank to attempt ", own,
                      theirs < own ? "; end what is left of the earlier attempt, or use another MASTER_PORT"
                                   : "; this process is left over from the earlier attempt: end it");
}

//===----------------------------------------------------------------------===//
// Rank 0
//===----------------------------------------------------------------------===//

class Host {
public:
  explicit Host(const Rendezvous &rendezvous)
      : rendezvous(rendezvous), peers(rendezvous.size), endpoints(rendezvous.size) {}

  absl::StatusOr<std::vector<Socket>> run() {
    absl::Status status = gather();
    std::string reply;
    if (status.ok()) {
      SPLITCAST_ASSIGN_OR_RETURN(reply, table());
    } else {
      reply = absl::StrCat("error ", static_cast<int>(status.code()), " ", std::string(status.message()));
    }
    for (size_t rank = 1; rank < peers.size(); ++rank)
      if (peers[rank].isOpen()) {
        Patience patience(kReplyTime);
        absl::Status told = writeText(peers[rank], reply, patience);
        if (status.ok() && !told.ok())
          status = absl::Status(told.code(),
                                absl::StrCat("rank ", rank, " has ended before it knew of the other ranks (",
                                             std::string(told.message()), "); find out why, and restart the job"));
      }
    SPLITCAST_RETURN_IF_ERROR(status);
    return std::move(peers);
  }

private:
  absl::Status gather() {
    absl::StatusOr<Socket> listener = listenAsMaster();
    if (!listener.ok())
      return absl::UnavailableError(absl::StrCat(
          "rank 0 cannot listen at ", rendezvous.master.text(), ": ", std::string(listener.status().message()),
          "; MASTER_ADDR must be an address of its machine, and MASTER_PORT a free port"));
    Membership self;
    self.size = rendezvous.size;
    self.attempt = rendezvous.attempt;
    SPLITCAST_ASSIGN_OR_RETURN(Greetings greetings, Greetings::create(self, rendezvous.secret));
    SPLITCAST_RETURN_IF_ERROR(greetings.listen(*std::move(listener)));
    absl::Status status = gather(greetings);
    if (status.ok() || absl::IsInvalidArgument(status))
      return status;
    const bool isHidden = hidesMachine(rendezvous, address) && rendezvous.secret.empty();
    return absl::Status(status.code(),
                        absl::StrCat(std::string(status.message()), greetings.refusals(),
                                     isHidden
                                         ? absl::StrCat("; rank 0 listens at ", address,
                                                        ", to which its machine resolves "
                                                        "MASTER_ADDR, and which other machines cannot reach: give the "
                                                        "machine's address in the network, or give the job a secret")
                                         : ""));
  }

  absl::StatusOr<Socket> listenAsMaster() {
    SPLITCAST_ASSIGN_OR_RETURN(address, addressOf(rendezvous.master.host));
    return listenAsRank(rendezvous, {address, rendezvous.master.port});
  }

  absl::Status gather(Greetings &greetings) {
    Patience patience(rendezvous.timeout);
    for (int64_t missing = rendezvous.size - 1; missing > 0;) {
      absl::StatusOr<std::optional<Greeted>> greeted = nextOf(greetings, patience);
      if (absl::IsDeadlineExceeded(greeted.status()))
        return absl::UnavailableError(absl::StrCat(missingRanks(peers, 0), " of ", rendezvous.size,
                                                   " did not connect to ", rendezvous.master.text(), " within ",
                                                   absl::FormatDuration(rendezvous.timeout)));
      if (!greeted.ok())
        return absl::Status(greeted.status().code(),
                            absl::StrCat(std::string(greeted.status().message()), ", while rank 0 waited for ",
                                         missingRanks(peers, 0)));
      if (!greeted->has_value())
        SPLITCAST_RETURN_IF_ERROR(checkThatAllWait());
      else if ((*greeted)->peer.attempt < rendezvous.attempt)
        greetings.refuse(**greeted,
                         absl::StrCat("it belongs to ", attemptsText((*greeted)->peer.attempt, rendezvous.attempt)));
      else if (absl::Status status = admit(std::move(**greeted)); !status.ok())
        return status;
      else
        --missing;
    }
    return absl::OkStatus();
  }

  /// Gives the rank its place. A rank that is wrong gets a place beyond the
  /// others, so that it is told the error, too.
  absl::Status admit(Greeted greeted) {
    absl::Status status = check(greeted.peer);
    const absl::StatusOr<Endpoint> from = peerEndpoint(greeted.socket);
    status.Update(from.status());
    if (!status.ok()) {
      peers.push_back(std::move(greeted.socket));
      return status;
    }
    const int64_t rank = greeted.peer.rank;
    peers[rank] = std::move(greeted.socket);
    // A rank that connected by loopback runs on the machine of rank 0. The
    // other ranks reach that machine by MASTER_ADDR, which an empty host
    // stands for.
    endpoints[rank] = {isLoopback(from->host) ? "" : from->host, static_cast<int>(greeted.peer.port)};
    return absl::OkStatus();
  }

  absl::Status check(const Membership &peer) const {
    if (peer.attempt != rendezvous.attempt)
      return absl::FailedPreconditionError(
          absl::StrCat("rank ", peer.rank, " belongs to ", attemptsText(peer.attempt, rendezvous.attempt)));
    if (peer.size != rendezvous.size)
      return absl::InvalidArgumentError(absl::StrCat("rank ", peer.rank, " expects ", peer.size,
                                                     " ranks, but rank 0 expects ", rendezvous.size,
                                                     "; give all the same WORLD_SIZE"));
    if (peer.rank <= 0 || peer.rank >= rendezvous.size)
      return absl::InvalidArgumentError(absl::StrCat("a process says that it is rank ", peer.rank,
                                                     " and has connected to rank 0; the other ranks are 1 to ",
                                                     rendezvous.size - 1, ", so give it one of these as its RANK"));
    if (peers[peer.rank].isOpen())
      return absl::InvalidArgumentError(
          absl::StrCat("two processes say that they are rank ", peer.rank, "; give each a RANK of its own"));
    if (peer.port <= 0 || peer.port > 65535)
      return absl::InvalidArgumentError(
          absl::StrCat("rank ", peer.rank, " says that it listens at port ", peer.port, ", which is no port"));
    return absl::OkStatus();
  }

  /// Returns an error if a rank has ended. Until the reply, ranks send nothing.
  absl::Status checkThatAllWait() const {
    for (size_t rank = 1; rank < peers.size(); ++rank) {
      char byte = 0;
      if (peers[rank].isOpen() && recv(peers[rank].fd(), &byte, 1, MSG_PEEK) == 0)
        return absl::UnavailableError(absl::StrCat("rank ", rank, " has ended while it waited for ",
                                                   missingRanks(peers, 0), "; find out why, and restart the job"));
    }
    return absl::OkStatus();
  }

  /// Returns the reply if all is well: the job's number, then the endpoint of
  /// each rank.
  absl::StatusOr<std::string> table() const {
    SPLITCAST_ASSIGN_OR_RETURN(const Digest random, drawNonce());
    uint64_t job = 0;
    std::memcpy(&job, random.data(), sizeof(job));
    std::string text = absl::StrCat("ok ", std::max<uint64_t>(job, 1));
    for (const Endpoint &endpoint : endpoints)
      absl::StrAppend(&text, "\n", endpoint.port, " ", endpoint.host);
    return text;
  }

  const Rendezvous rendezvous;
  std::string address; ///< to which this machine resolves the master's name
  std::vector<Socket> peers;
  std::vector<Endpoint> endpoints;
};

//===----------------------------------------------------------------------===//
// The others
//===----------------------------------------------------------------------===//

class Guest {
public:
  explicit Guest(const Rendezvous &rendezvous)
      : rendezvous(rendezvous), peers(rendezvous.size), wasReached(rendezvous.size) {
    self.rank = rendezvous.rank;
    self.size = rendezvous.size;
    self.attempt = rendezvous.attempt;
  }

  absl::StatusOr<std::vector<Socket>> run() {
    SPLITCAST_RETURN_IF_ERROR(findMaster());
    SPLITCAST_RETURN_IF_ERROR(learnJob());
    SPLITCAST_RETURN_IF_ERROR(meetOthers());
    return std::move(peers);
  }

private:
  absl::Status masterError(absl::StatusCode code, absl::string_view what) const {
    return absl::Status(code, absl::StrCat("rank ", rendezvous.rank, " of ", rendezvous.size, " ", what));
  }

  /// Connects to rank 0, and finds out whether it is that of this job.
  absl::Status findMaster() {
    Patience patience(rendezvous.timeout);
    for (int64_t calls = 1;; ++calls) {
      absl::StatusOr<Greeted> master = greetMaster(patience);
      SPLITCAST_RETURN_IF_ERROR(master.status());
      if (absl::IsUnavailable(master->failure)) {
        SPLITCAST_RETURN_IF_ERROR(pause(kPause, patience));
        if (!patience.isOver())
          continue;
      }
      SPLITCAST_RETURN_IF_ERROR(checkMaster(*master, calls));
      peers[0] = std::move(master->socket);
      return absl::OkStatus();
    }
  }

  absl::StatusOr<Greeted> greetMaster(Patience &patience) {
    absl::StatusOr<Socket> socket = connectTo(rendezvous.master, patience);
    if (!socket.ok())
      return masterError(absl::StatusCode::kUnavailable,
                         absl::StrCat("found no rank 0 at ", rendezvous.master.text(), " within ",
                                      absl::FormatDuration(rendezvous.timeout), ": ",
                                      std::string(socket.status().message())));
    if (!listener.isOpen()) {
      SPLITCAST_ASSIGN_OR_RETURN(Endpoint at, localEndpoint(*socket));
      SPLITCAST_ASSIGN_OR_RETURN(listener, listenAsRank(rendezvous, {at.host, 0}));
      SPLITCAST_ASSIGN_OR_RETURN(at, localEndpoint(listener));
      self.port = at.port;
    }
    SPLITCAST_ASSIGN_OR_RETURN(Greetings greetings, Greetings::create(self, rendezvous.secret));
    SPLITCAST_RETURN_IF_ERROR(greetings.call(*std::move(socket), 0));
    while (true) {
      absl::StatusOr<std::optional<Greeted>> greeted = nextOf(greetings, patience);
      if (absl::IsDeadlineExceeded(greeted.status()))
        return masterError(absl::StatusCode::kUnavailable,
                           absl::StrCat("has connected to ", rendezvous.master.text(),
                                        ", but what listens there has not answered as rank 0 would within ",
                                        absl::FormatDuration(rendezvous.timeout),
                                        "; check MASTER_ADDR, and that no other service uses MASTER_PORT"));
      SPLITCAST_RETURN_IF_ERROR(greeted.status());
      if (greeted->has_value())
        return std::move(**greeted);
    }
  }

  absl::Status checkMaster(const Greeted &master, int64_t calls) const {
    const std::string what = absl::StrCat("has found at ", rendezvous.master.text(), ", where rank 0 should listen, ");
    const std::string why(master.failure.message());
    if (absl::IsUnavailable(master.failure))
      return masterError(master.failure.code(),
                         absl::StrCat(what, "another service (", why, ", ", calls, " times within ",
                                      absl::FormatDuration(rendezvous.timeout), ")", kCheckMaster,
                                      "; or too many strangers connect to rank 0: keep them away by a firewall"));
    if (absl::IsNotFound(master.failure))
      return masterError(absl::StatusCode::kUnavailable,
                         absl::StrCat(what, "another service (", why, ")", kCheckMaster));
    if (!master.failure.ok())
      return masterError(master.failure.code(), absl::StrCat(what, "a process that is none of this job (", why, ")"));
    if (master.peer.attempt != self.attempt)
      return masterError(
          absl::StatusCode::kFailedPrecondition,
          absl::StrCat(what, "a rank that belongs to ", attemptsText(master.peer.attempt, self.attempt)));
    if (master.peer.rank != 0)
      return masterError(absl::StatusCode::kUnavailable,
                         absl::StrCat(what, "rank ", master.peer.rank,
                                      " of a job; check MASTER_ADDR, and give a MASTER_PORT that no other job uses"));
    return absl::OkStatus();
  }

  static absl::Status pause(absl::Duration time, Patience &patience) {
    for (Patience pause(time); !pause.isOver() && !patience.isOver();) {
      SPLITCAST_RETURN_IF_ERROR(processHealth());
      absl::SleepFor(absl::Milliseconds(20));
    }
    return absl::OkStatus();
  }

  /// Waits for the reply of rank 0. It comes once all ranks are there or rank
  /// 0's time is up, and rank 0 may have begun later. So this rank waits
  /// longer, and rank 0 can name the missing ranks.
  absl::Status learnJob() {
    Patience patience(rendezvous.timeout + kReplyTime);
    constexpr int64_t kEndpointBytes = 264; // a name of at most 253 bytes, a port, a space and an end of line
    absl::StatusOr<std::string> reply = readText(peers[0], patience, 4096 + rendezvous.size * kEndpointBytes);
    if (!reply.ok())
      return absl::Status(
          reply.status().code() == absl::StatusCode::kDeadlineExceeded ? absl::StatusCode::kUnavailable
                                                                       : reply.status().code(),
          absl::StrCat("rank ", rendezvous.rank, " has lost rank 0 at ", rendezvous.master.text(),
                       " while it waited for the other ranks: ", std::string(reply.status().message())));
    return readTable(*reply);
  }

  absl::Status readTable(const std::string &reply) {
    if (reply.rfind("error ", 0) == 0) {
      std::vector<std::string> words = absl::StrSplit(reply, absl::MaxSplits(' ', 2));
      int code = 0;
      if (words.size() == 3 && absl::SimpleAtoi(words[1], &code) && code > 0 && code <= 16)
        return {static_cast<absl::StatusCode>(code), words[2]};
    }
    std::vector<std::string> lines = absl::StrSplit(reply, '\n');
    if (static_cast<int64_t>(lines.size()) != rendezvous.size + 1 || lines[0].rfind("ok ", 0) != 0 ||
        !absl::SimpleAtoi(lines[0].substr(3), &self.job))
      return masterError(absl::StatusCode::kUnavailable, "has got no list of the ranks from rank 0, but other bytes");
    for (size_t line = 1; line < lines.size(); ++line) {
      std::pair<std::string, std::string> words = absl::StrSplit(lines[line], absl::MaxSplits(' ', 1));
      Endpoint endpoint{words.second.empty() ? rendezvous.master.host : words.second, 0};
      (void)absl::SimpleAtoi(words.first, &endpoint.port);
      endpoints.push_back(endpoint);
    }
    return absl::OkStatus();
  }

  /// Connects to the lower ranks, and accepts the connections of higher ones.
  /// All handshakes go on at once.
  absl::Status meetOthers() {
    Patience patience(rendezvous.timeout); // all ranks are there; the last may have come long after this one
    SPLITCAST_ASSIGN_OR_RETURN(Greetings greetings, Greetings::create(self, rendezvous.secret));
    SPLITCAST_RETURN_IF_ERROR(greetings.listen(std::move(listener)));
    for (int64_t rank = 1; rank < rendezvous.rank; ++rank)
      toCall.push_back(rank);
    for (int64_t missing = rendezvous.size - 2; missing > 0;) {
      SPLITCAST_RETURN_IF_ERROR(callOthers(greetings));
      absl::StatusOr<std::optional<Greeted>> greeted = nextOf(greetings, patience);
      if (absl::IsDeadlineExceeded(greeted.status()) && !toCall.empty())
        return unreachable(toCall.front(), whyNot);
      if (absl::IsDeadlineExceeded(greeted.status()))
        return absl::UnavailableError(absl::StrCat(missingRanks(peers, rendezvous.rank), " did not connect to rank ",
                                                   rendezvous.rank, greetings.refusals()));
      SPLITCAST_RETURN_IF_ERROR(greeted.status());
      if (!greeted->has_value())
        continue;
      SPLITCAST_ASSIGN_OR_RETURN(const bool isAdmitted, admit(std::move(**greeted), greetings));
      missing -= isAdmitted ? 1 : 0;
    }
    return absl::OkStatus();
  }

  /// Calls the ranks that are to be called, until one cannot be reached. That
  /// one has ended if it could be reached before.
  absl::Status callOthers(Greetings &greetings) {
    while (!toCall.empty() && pauseOfCalls.isOver()) {
      const int64_t rank = toCall.front();
      toCall.pop_front();
      Patience patience(kTry);
      absl::StatusOr<Socket> socket = connectTo(endpoints[rank], patience);
      absl::Status status = socket.ok() ? greetings.call(*std::move(socket), rank) : socket.status();
      if (!status.ok() && wasReached[rank] && !absl::IsDeadlineExceeded(status))
        return unreachable(rank, status.message());
      if (!status.ok())
        callLater(rank, status);
      else
        wasReached[rank] = true;
    }
    return absl::OkStatus();
  }

  void callLater(int64_t rank, const absl::Status &why) {
    toCall.push_back(rank);
    whyNot = std::string(why.message());
    pauseOfCalls = Patience(kPause);
  }

  absl::Status unreachable(int64_t rank, absl::string_view why) const {
    return absl::UnavailableError(absl::StrCat("rank ", rendezvous.rank, " cannot connect to rank ", rank, " at ",
                                               endpoints[rank].text(), ": ", why));
  }

  /// Gives a rank of this job its place. Returns false if it is none, or has to
  /// be called again.
  absl::StatusOr<bool> admit(Greeted greeted, Greetings &greetings) {
    const Membership &peer = greeted.peer;
    const bool isOfJob = peer.job == self.job && peer.attempt == self.attempt && peer.size == self.size;
    if (greeted.called >= 0) {
      if (absl::IsUnavailable(greeted.failure)) {
        callLater(greeted.called, greeted.failure);
        return false;
      }
      if (!greeted.failure.ok())
        return unreachable(greeted.called, greeted.failure.message());
      if (!isOfJob || peer.rank != greeted.called)
        return unreachable(greeted.called, "a rank of another job listens there");
    } else if (!isOfJob || peer.rank <= self.rank || peer.rank >= self.size || peers[peer.rank].isOpen()) {
      greetings.refuse(greeted, "it is no rank of this job that is missing");
      return false;
    }
    peers[peer.rank] = std::move(greeted.socket);
    return true;
  }

  const Rendezvous rendezvous;
  Membership self;
  Socket listener;
  std::vector<Endpoint> endpoints;
  std::vector<Socket> peers;
  std::deque<int64_t> toCall;   ///< ranks below this one
  std::vector<bool> wasReached; ///< by rank
  std::string whyNot;           ///< the last one could not be called
  Patience pauseOfCalls{absl::ZeroDuration()};
};

} // namespace

absl::StatusOr<std::vector<Socket>> meet(const Rendezvous &rendezvous) {
  if (rendezvous.size == 1)
    return std::vector<Socket>(1);
  return rendezvous.rank == 0 ? Host(rendezvous).run() : Guest(rendezvous).run();
}

} // namespace splitcast::runtime
