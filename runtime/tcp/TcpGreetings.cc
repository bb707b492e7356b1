#include "runtime/tcp/TcpGreetings.h"

#include "runtime/api/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cerrno>
#include <sys/socket.h>
#include <utility>

namespace splitcast::runtime {
namespace {

/// How long a connection from another process may take for its handshake.
constexpr absl::Duration kTalkTime = absl::Seconds(10);
/// So many connections from others may be in their handshakes. If more come,
/// those that have not greeted, or not given a proof, for this long are late.
constexpr size_t kPlaces = 256;
constexpr absl::Duration kSilence = absl::Seconds(1), kWithoutProof = absl::Seconds(3);
/// So many are accepted before handshakes go on, and may free their places.
constexpr int kTurn = 64;

/// The listening socket's key among those of talks.
constexpr uint64_t kListener = 0;

} // namespace

absl::StatusOr<Greetings> Greetings::create(const Membership &self, std::string secret) {
  SPLITCAST_ASSIGN_OR_RETURN(Readiness readiness, Readiness::create());
  Greetings made(std::move(readiness));
  made.self = self;
  made.secret = std::move(secret);
  return made;
}

absl::Status Greetings::listen(Socket socket) {
  listener = std::move(socket);
  return readiness.add(listener, kListener, Readiness::Reads);
}

absl::Status Greetings::call(Socket socket, int64_t rank) {
  return begin(std::move(socket), Handshake::Side::Connects, rank);
}

absl::Status Greetings::begin(Socket socket, Handshake::Side side, int64_t called, const std::string &from) {
  SPLITCAST_ASSIGN_OR_RETURN(Handshake handshake, Handshake::begin(side, self, secret));
  const absl::Duration time = side == Handshake::Side::Accepts ? kTalkTime : absl::InfiniteDuration();
  SPLITCAST_RETURN_IF_ERROR(readiness.add(socket, ++lastTalk, Readiness::Reads));
  if (side == Handshake::Side::Accepts) {
    ++taken;
    ++held[from];
  }
  advance(talks.emplace(lastTalk, Talk{std::move(socket), std::move(handshake), Patience(time), called, from}).first);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Greeted>> Greetings::next(int milliseconds) {
  absl::Status status;
  if (ended.empty())
    readiness.wait(milliseconds, [&](uint64_t key, uint32_t) {
      if (key == kListener)
        status.Update(accept());
      else if (auto talk = talks.find(key); talk != talks.end())
        advance(talk);
    });
  SPLITCAST_RETURN_IF_ERROR(status);
  if (look.isOver()) {
    look.restart();
    endLate();
  }
  if (ended.empty())
    return std::nullopt;
  Greeted greeted = std::move(ended.front());
  ended.pop_front();
  return greeted;
}

//===----------------------------------------------------------------------===//
// Connections from others
//===----------------------------------------------------------------------===//

absl::Status Greetings::accept() {
  for (int i = 0; i < kTurn; ++i) {
    absl::StatusOr<Socket> socket = acceptNext(listener);
    if (absl::IsResourceExhausted(socket.status()) && makeRoom(""))
      continue; // who has connected is seen once it is accepted
    SPLITCAST_RETURN_IF_ERROR(socket.status());
    if (!socket->isOpen())
      return absl::OkStatus();
    const absl::StatusOr<Endpoint> from = peerEndpoint(*socket);
    if (!from.ok())
      continue; // it has reset the connection
    if (taken < kPlaces || makeRoom(from->host))
      SPLITCAST_RETURN_IF_ERROR(begin(*std::move(socket), Handshake::Side::Accepts, -1, from->host));
    else
      note(absl::StatusCode::kResourceExhausted, from->host, "a process",
           "too many connections from its address did not say who they are");
  }
  return absl::OkStatus();
}

/// Ends a handshake for a connection from this address, as the header says, or
/// returns false. An address that is not known holds nothing.
bool Greetings::makeRoom(const std::string &from) {
  const auto own = held.find(from);
  const size_t wanted = from.empty() ? 0 : 1 + (own == held.end() ? 0 : own->second);
  size_t most = wanted;
  for (const auto &[address, places] : held)
    most = std::max(most, places);
  auto makesRoom = [&](const Talk &talk) {
    if (talk.called >= 0 || (talk.from == from ? wanted : held.at(talk.from)) < most)
      return false;
    return wanted < most || talk.patience.waitedFor() > (talk.handshake.hasPeer() ? kWithoutProof : kSilence);
  };
  for (auto talk = talks.begin(); talk != talks.end(); ++talk)
    if (makesRoom(talk->second)) {
      end(talk, absl::DeadlineExceededError("it did not say who it is, while many others connected"));
      return true;
    }
  return false;
}

void Greetings::endLate() {
  for (auto talk = talks.begin(); talk != talks.end();) {
    const auto next = std::next(talk);
    if (talk->second.patience.isOver())
      end(talk, absl::DeadlineExceededError("it did not say who it is"));
    talk = next;
  }
}

//===----------------------------------------------------------------------===//
// One handshake
//===----------------------------------------------------------------------===//

/// Moves what can be moved. A connection is new, so what a handshake sends
/// always fits into its buffer.
void Greetings::advance(Talks::iterator talk) {
  Socket &socket = talk->second.socket;
  Handshake &handshake = talk->second.handshake;
  absl::Status status;
  while (true) {
    const std::string output = handshake.takeOutput();
    if (!output.empty() &&
        send(socket.fd(), output.data(), output.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(output.size()))
      status.Update(socketError("sending"));
    if (!status.ok() || handshake.isDone())
      return end(talk, status);
    char bytes[128];
    const ssize_t count = recv(socket.fd(), bytes, handshake.wanted(), 0);
    if (count > 0)
      status = handshake.take({bytes, static_cast<size_t>(count)});
    else if (count == 0)
      status = absl::UnavailableError("it has closed the connection");
    else if (errno == EAGAIN || errno == EINTR)
      return;
    else
      status = socketError("receiving");
  }
}

void Greetings::end(Talks::iterator talk, absl::Status failure) {
  Talk &over = talk->second;
  readiness.remove(over.socket);
  const bool isCalled = over.called >= 0;
  if (!isCalled) {
    --taken;
    if (--held[over.from] == 0)
      held.erase(over.from);
  }
  if (!failure.ok() && !isCalled)
    note(failure.code(), over.from,
         over.handshake.hasPeer() ? absl::StrCat("a process that calls itself rank ", over.handshake.peer().rank)
                                  : "a process",
         failure.message());
  else
    ended.push_back({std::move(over.socket), over.handshake.peer(), over.called, std::move(failure)});
  talks.erase(talk);
}

//===----------------------------------------------------------------------===//
// Refusals
//===----------------------------------------------------------------------===//

void Greetings::note(absl::StatusCode kind, const std::string &from, const std::string &who, absl::string_view reason) {
  Refused &same = refused[kind];
  ++same.count;
  same.last = absl::StrCat(who, from.empty() ? "" : " at ", from, " was refused: ", reason);
}

void Greetings::refuse(const Greeted &greeted, const std::string &reason) {
  const absl::StatusOr<Endpoint> from = peerEndpoint(greeted.socket);
  note(absl::StatusCode::kFailedPrecondition, from.ok() ? from->host : "",
       absl::StrCat("a process that calls itself rank ", greeted.peer.rank), reason);
}

std::string Greetings::refusals() const {
  std::string text;
  for (const auto &[kind, same] : refused)
    absl::StrAppend(&text, "; ", same.last, same.count > 1 ? absl::StrCat(" (", same.count, " such connections)") : "");
  return text;
}

} // namespace splitcast::runtime
