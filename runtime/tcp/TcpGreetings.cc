#include "runtime/tcp/TcpGreetings.h"

#include "runtime/api/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <cerrno>
#include <sys/socket.h>
#include <utility>

namespace splitcast::runtime {
namespace {

/// How long a connection from another process may take for its handshake.
constexpr absl::Duration kTalkTime = absl::Seconds(10);
/// So many connections may be in their handshakes. If there are more, those
/// that have not greeted, or not given a proof, for this long make room.
constexpr size_t kMostTalks = 256;
constexpr absl::Duration kSilence = absl::Seconds(1), kWithoutProof = absl::Seconds(3);

/// The listening socket's key among those of talks.
constexpr uint64_t kListener = 0;

absl::Duration waited(const Patience &patience) { return kTalkTime - patience.left(); }

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
  isListening = true;
  return readiness.add(listener, kListener, Readiness::Reads);
}

absl::Status Greetings::call(Socket socket, int64_t rank) {
  return begin(std::move(socket), Handshake::Side::Connects, rank);
}

absl::Status Greetings::begin(Socket socket, Handshake::Side side, int64_t called) {
  SPLITCAST_ASSIGN_OR_RETURN(Handshake handshake, Handshake::begin(side, self, secret));
  const absl::Duration time = side == Handshake::Side::Accepts ? kTalkTime : absl::InfiniteDuration();
  const auto talk =
      talks.emplace(++lastTalk, Talk{std::move(socket), std::move(handshake), Patience(time), called}).first;
  SPLITCAST_RETURN_IF_ERROR(readiness.add(talk->second.socket, talk->first, Readiness::Reads));
  advance(talk);
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
    listenAgain();
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
  while (makeRoom()) {
    absl::StatusOr<Socket> socket = acceptNext(listener);
    if (absl::IsResourceExhausted(socket.status()) && !talks.empty())
      break; // goes on once a talk has ended
    SPLITCAST_RETURN_IF_ERROR(socket.status());
    if (!socket->isOpen())
      return absl::OkStatus();
    SPLITCAST_RETURN_IF_ERROR(begin(*std::move(socket), Handshake::Side::Accepts, -1));
  }
  // Connections that wait would wake this rank all the time.
  isListening = false;
  readiness.remove(listener);
  return absl::OkStatus();
}

void Greetings::listenAgain() {
  if (listener.isOpen() && !isListening)
    isListening = readiness.add(listener, kListener, Readiness::Reads).ok();
}

/// Returns whether another connection may be accepted. If too many are in
/// their handshakes, it closes the oldest one that is late.
bool Greetings::makeRoom() {
  if (talks.size() < kMostTalks)
    return true;
  for (auto talk = talks.begin(); talk != talks.end(); ++talk)
    if (talk->second.called < 0 &&
        waited(talk->second.patience) > (talk->second.handshake.hasPeer() ? kWithoutProof : kSilence)) {
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
  if (!failure.ok() && !isCalled)
    note(failure.code(), over.socket,
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

void Greetings::note(absl::StatusCode kind, const Socket &socket, const std::string &who, absl::string_view reason) {
  Refused &same = refused[kind];
  ++same.count;
  const absl::StatusOr<Endpoint> from = peerEndpoint(socket);
  same.last = absl::StrCat(who, from.ok() ? absl::StrCat(" at ", from->host) : "", " was refused: ", reason);
}

void Greetings::refuse(const Greeted &greeted, const std::string &reason) {
  note(absl::StatusCode::kFailedPrecondition, greeted.socket,
       absl::StrCat("a process that calls itself rank ", greeted.peer.rank), reason);
}

std::string Greetings::refusals() const {
  std::string text;
  for (const auto &[kind, same] : refused)
    absl::StrAppend(&text, "; ", same.last, same.count > 1 ? absl::StrCat(" (", same.count, " such connections)") : "");
  return text;
}

} // namespace splitcast::runtime
