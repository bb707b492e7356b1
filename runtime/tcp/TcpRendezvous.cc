#include "runtime/tcp/TcpRendezvous.h"

#include "runtime/api/StatusMacros.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"

#include <algorithm>
#include <random>

namespace splitcast::runtime {
namespace {

constexpr char kHello[] = "splitcast-rank-1"; // the number is the version of this protocol
constexpr absl::Duration kHelloTime = absl::Seconds(10);
constexpr int64_t kMostHelloBytes = 1024;

/// How a rank introduces itself. Rank 0 needs the size and the port, other
/// ranks the job's number.
struct Hello {
  int64_t rank = 0, size = 0;
  uint64_t job = 0;
  int port = 0; ///< the port on which it listens

  std::string text() const { return absl::StrCat(kHello, " ", rank, " ", size, " ", job, " ", port); }
};

/// Reads a hello. It is an error if what connected is not a rank of this
/// program.
absl::StatusOr<Hello> readHello(const Socket &socket, absl::Time deadline) {
  SPLITCAST_ASSIGN_OR_RETURN(std::string text,
                             readText(socket, std::min(deadline, absl::Now() + kHelloTime), kMostHelloBytes));
  std::vector<std::string> words = absl::StrSplit(text, ' ');
  Hello hello;
  if (words.size() != 5 || words[0] != kHello || !absl::SimpleAtoi(words[1], &hello.rank) ||
      !absl::SimpleAtoi(words[2], &hello.size) || !absl::SimpleAtoi(words[3], &hello.job) ||
      !absl::SimpleAtoi(words[4], &hello.port))
    return absl::UnavailableError("not a rank");
  return hello;
}

/// Returns a text with the ranks, other than `self`, that have no connection
/// yet.
std::string missingRanks(const std::vector<Socket> &peers, int64_t self) {
  std::vector<int64_t> missing;
  for (size_t rank = 0; rank < peers.size(); ++rank)
    if (static_cast<int64_t>(rank) != self && !peers[rank].isOpen())
      missing.push_back(static_cast<int64_t>(rank));
  return absl::StrCat(missing.size() > 1 ? "ranks " : "rank ", absl::StrJoin(missing, ", "));
}

//===----------------------------------------------------------------------===//
// Rank 0
//===----------------------------------------------------------------------===//

class Host {
public:
  explicit Host(const Rendezvous &rendezvous)
      : rendezvous(rendezvous), deadline(absl::Now() + rendezvous.timeout), peers(rendezvous.size),
        endpoints(rendezvous.size) {}

  absl::StatusOr<std::vector<Socket>> run() {
    absl::Status status = gather();
    std::string reply =
        status.ok() ? table()
                    : absl::StrCat("error ", static_cast<int>(status.code()), " ", std::string(status.message()));
    for (const Socket &peer : peers)
      if (peer.isOpen()) {
        absl::Status told = writeText(peer, reply, absl::Now() + kHelloTime);
        if (status.ok() && !told.ok())
          status = told;
      }
    SPLITCAST_RETURN_IF_ERROR(status);
    return std::move(peers);
  }

private:
  absl::Status gather() {
    absl::StatusOr<Socket> listener = listenAt(rendezvous.master);
    if (!listener.ok())
      return absl::UnavailableError(absl::StrCat("rank 0 cannot listen at ", rendezvous.master.text(), ": ",
                                                 std::string(listener.status().message()),
                                                 "; MASTER_ADDR must be its machine, and MASTER_PORT a free port"));
    for (int64_t missing = rendezvous.size - 1; missing > 0;) {
      absl::StatusOr<Socket> socket = acceptFrom(*listener, deadline);
      if (absl::IsDeadlineExceeded(socket.status()))
        return absl::UnavailableError(absl::StrCat(missingRanks(peers, 0), " of ", rendezvous.size,
                                                   " did not connect to ", rendezvous.master.text(), " within ",
                                                   absl::FormatDuration(rendezvous.timeout)));
      if (!socket.ok())
        return socket.status();
      absl::StatusOr<Hello> hello = readHello(*socket, deadline);
      if (!hello.ok())
        continue; // not a rank of this program
      absl::Status status = check(*hello);
      const int64_t place = status.ok() ? hello->rank : spare();
      absl::StatusOr<Endpoint> from = peerEndpoint(*socket);
      status.Update(from.status());
      peers[place] = *std::move(socket);
      // A rank that connected by loopback runs on the machine of rank 0. The
      // other ranks reach that machine by MASTER_ADDR, which an empty host
      // stands for.
      if (from.ok())
        endpoints[place] = {isLoopback(from->host) ? "" : from->host, hello->port};
      SPLITCAST_RETURN_IF_ERROR(status);
      --missing;
    }
    return absl::OkStatus();
  }

  absl::Status check(const Hello &hello) const {
    if (hello.size != rendezvous.size)
      return absl::InvalidArgumentError(absl::StrCat("rank ", hello.rank, " expects ", hello.size,
                                                     " ranks, but rank 0 expects ", rendezvous.size,
                                                     "; give all the same WORLD_SIZE"));
    if (hello.rank <= 0 || hello.rank >= rendezvous.size || peers[hello.rank].isOpen())
      return absl::InvalidArgumentError(
          absl::StrCat("two processes say that they are rank ", hello.rank, "; give each a RANK of its own"));
    return absl::OkStatus();
  }

  /// Adds a place beyond the ranks, for a rank that is refused, so that it gets
  /// the reply, too.
  int64_t spare() {
    peers.emplace_back();
    endpoints.emplace_back();
    return static_cast<int64_t>(peers.size()) - 1;
  }

  /// Returns the reply if all is well: the job's number, then the endpoint of
  /// each rank.
  std::string table() {
    std::random_device random;
    std::string text = absl::StrCat("ok ", (uint64_t{random()} << 32) | random());
    for (const Endpoint &endpoint : endpoints)
      absl::StrAppend(&text, "\n", endpoint.port, " ", endpoint.host);
    return text;
  }

  const Rendezvous rendezvous;
  const absl::Time deadline;
  std::vector<Socket> peers;
  std::vector<Endpoint> endpoints;
};

//===----------------------------------------------------------------------===//
// The others
//===----------------------------------------------------------------------===//

class Guest {
public:
  explicit Guest(const Rendezvous &rendezvous)
      : rendezvous(rendezvous), deadline(absl::Now() + rendezvous.timeout), peers(rendezvous.size) {}

  absl::StatusOr<std::vector<Socket>> run() {
    absl::Status status = findMaster();
    for (int64_t rank = 1; rank < rendezvous.rank && status.ok(); ++rank)
      status = goTo(rank);
    for (int64_t rank = rendezvous.rank + 1; rank < rendezvous.size && status.ok(); ++rank)
      status = welcome();
    SPLITCAST_RETURN_IF_ERROR(status);
    return std::move(peers);
  }

private:
  /// Introduces this rank to rank 0, and learns where the others listen.
  absl::Status findMaster() {
    absl::StatusOr<Socket> master = connectTo(rendezvous.master, deadline);
    if (!master.ok())
      return absl::UnavailableError(absl::StrCat(
          "rank ", rendezvous.rank, " of ", rendezvous.size, " found no rank 0 at ", rendezvous.master.text(),
          " within ", absl::FormatDuration(rendezvous.timeout), ": ", std::string(master.status().message())));
    SPLITCAST_ASSIGN_OR_RETURN(listener, listenAt({rendezvous.master.host, 0}));
    SPLITCAST_ASSIGN_OR_RETURN(Endpoint at, localEndpoint(listener));
    hello = {rendezvous.rank, rendezvous.size, 0, at.port};
    absl::Status status = writeText(*master, hello.text(), deadline);
    // Rank 0 replies once all ranks are there or its own time is up, and it may
    // have begun later. So allow its whole timeout, and it can name the missing
    // ranks.
    absl::StatusOr<std::string> reply = readText(*master, absl::Now() + rendezvous.timeout + kHelloTime);
    peers[0] = *std::move(master);
    if (!status.ok() || !reply.ok())
      return absl::UnavailableError(absl::StrCat("rank ", rendezvous.rank, " has lost rank 0 at ",
                                                 rendezvous.master.text(), ": ",
                                                 std::string((status.ok() ? reply.status() : status).message())));
    deadline = absl::Now() + rendezvous.timeout; // all ranks are there; the last may have come long after this one
    return readTable(*reply);
  }

  absl::Status readTable(const std::string &reply) {
    if (reply.rfind("error ", 0) == 0) {
      std::vector<std::string> words = absl::StrSplit(reply, absl::MaxSplits(' ', 2));
      int code = 0;
      if (words.size() == 3 && absl::SimpleAtoi(words[1], &code))
        return {static_cast<absl::StatusCode>(code), words[2]};
    }
    std::vector<std::string> lines = absl::StrSplit(reply, '\n');
    if (static_cast<int64_t>(lines.size()) != rendezvous.size + 1 || lines[0].rfind("ok ", 0) != 0 ||
        !absl::SimpleAtoi(lines[0].substr(3), &hello.job))
      return absl::UnavailableError(absl::StrCat("the process that answers at ", rendezvous.master.text(),
                                                 " is not rank 0; check MASTER_ADDR and MASTER_PORT"));
    for (size_t line = 1; line < lines.size(); ++line) {
      std::pair<std::string, std::string> words = absl::StrSplit(lines[line], absl::MaxSplits(' ', 1));
      Endpoint endpoint{words.second.empty() ? rendezvous.master.host : words.second, 0};
      (void)absl::SimpleAtoi(words.first, &endpoint.port);
      endpoints.push_back(endpoint);
    }
    return absl::OkStatus();
  }

  /// Connects to a lower rank.
  absl::Status goTo(int64_t rank) {
    absl::StatusOr<Socket> socket = connectTo(endpoints[rank], deadline);
    absl::Status status = socket.ok() ? writeText(*socket, hello.text(), deadline) : socket.status();
    if (!status.ok())
      return absl::UnavailableError(absl::StrCat("rank ", rendezvous.rank, " cannot connect to rank ", rank, " at ",
                                                 endpoints[rank].text(), ": ", std::string(status.message())));
    peers[rank] = *std::move(socket);
    return absl::OkStatus();
  }

  /// Accepts the next connection that a higher rank of this job makes.
  absl::Status welcome() {
    while (true) {
      absl::StatusOr<Socket> socket = acceptFrom(listener, deadline);
      if (absl::IsDeadlineExceeded(socket.status()))
        return absl::UnavailableError(
            absl::StrCat(missingRanks(peers, rendezvous.rank), " did not connect to rank ", rendezvous.rank));
      if (!socket.ok())
        return socket.status();
      absl::StatusOr<Hello> peer = readHello(*socket, deadline);
      if (!peer.ok() || peer->job != hello.job || peer->rank <= rendezvous.rank || peer->rank >= rendezvous.size)
        continue;
      peers[peer->rank] = *std::move(socket);
      return absl::OkStatus();
    }
  }

  const Rendezvous rendezvous;
  absl::Time deadline;
  Socket listener;
  Hello hello;
  std::vector<Endpoint> endpoints;
  std::vector<Socket> peers;
};

} // namespace

absl::StatusOr<std::vector<Socket>> meet(const Rendezvous &rendezvous) {
  if (rendezvous.size == 1)
    return std::vector<Socket>(1);
  return rendezvous.rank == 0 ? Host(rendezvous).run() : Guest(rendezvous).run();
}

} // namespace splitcast::runtime
