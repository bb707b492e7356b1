#include "tests/cuda_on_cpu/Mesh.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace splitcast::cuda_on_cpu {
namespace {

constexpr int kPatienceMs = 20; // between looks at whether to stop

/// A name that no file has: Linux's abstract sockets end with their processes.
struct Address {
  sockaddr_un address = {};
  socklen_t bytes;

  Address(const std::string &name, int rank) {
    const std::string text = absl::StrCat(name, "/", rank);
    address.sun_family = AF_UNIX;
    const size_t length = std::min(text.size(), sizeof(address.sun_path) - 1);
    std::memcpy(address.sun_path + 1, text.data(), length);
    bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  }
  const sockaddr *get() const { return reinterpret_cast<const sockaddr *>(&address); }
};

absl::Status systemError(const char *what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(errno)));
}

/// The rest of a list of transfers with one peer.
struct Progress {
  std::vector<Transfer> left; ///< the next one last
  bool isDone() const { return left.empty(); }

  /// As much as goes without waiting.
  template <typename Move> absl::Status advance(Move move) {
    while (!left.empty()) {
      Transfer &next = left.back();
      const ssize_t moved = next.bytes == 0 ? 0 : move(next.data, next.bytes);
      if (moved < 0 && (errno == EAGAIN || errno == EINTR))
        return absl::OkStatus();
      if (moved < 0 || (moved == 0 && next.bytes > 0))
        return absl::UnavailableError(absl::StrCat("rank ", next.peer, " is gone"));
      next.data += moved;
      next.bytes -= static_cast<size_t>(moved);
      if (next.bytes == 0)
        left.pop_back();
    }
    return absl::OkStatus();
  }
};

std::vector<Progress> byPeer(const std::vector<Transfer> &transfers, size_t peers) {
  std::vector<Progress> result(peers);
  for (auto transfer = transfers.rbegin(); transfer != transfers.rend(); ++transfer)
    result[transfer->peer].left.push_back(*transfer);
  return result;
}

} // namespace

Mesh::~Mesh() {
  for (int socket : sockets)
    if (socket >= 0)
      close(socket);
  if (listener >= 0)
    close(listener);
}

absl::Status Mesh::listen() {
  const Address own(name, rank);
  listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0 || bind(listener, own.get(), own.bytes) != 0 ||
      ::listen(listener, static_cast<int>(sockets.size())) != 0)
    return systemError("listening");
  return absl::OkStatus();
}

absl::Status Mesh::call(int peer) {
  const Address address(name, peer);
  const int called = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (called < 0)
    return systemError("a socket");
  sockets[peer] = called;
  while (::connect(called, address.get(), address.bytes) != 0) {
    if (stop)
      return absl::CancelledError("stopped");
    if (errno != ECONNREFUSED && errno != ENOENT)
      return systemError("connecting");
    usleep(kPatienceMs * 100);
  }
  return send(called, &rank, sizeof(rank), MSG_NOSIGNAL) == sizeof(rank) ? absl::OkStatus() : systemError("a greeting");
}

absl::Status Mesh::accept() {
  while (!stop) {
    pollfd waiting = {listener, POLLIN, 0};
    if (poll(&waiting, 1, kPatienceMs) <= 0)
      continue;
    const int caller = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    int peer = -1;
    if (caller < 0 || recv(caller, &peer, sizeof(peer), MSG_WAITALL) != sizeof(peer))
      return systemError("a caller");
    sockets[peer] = caller;
    return absl::OkStatus();
  }
  return absl::CancelledError("stopped");
}

absl::Status Mesh::connect() {
  absl::Status status = listen();
  for (int peer = 0; peer < rank && status.ok(); ++peer)
    status = call(peer);
  for (int peer = rank + 1; peer < static_cast<int>(sockets.size()) && status.ok(); ++peer)
    status = accept();
  return status;
}

absl::Status Mesh::exchange(const std::vector<Transfer> &sends, const std::vector<Transfer> &receives) {
  std::vector<Progress> sending = byPeer(sends, sockets.size()), receiving = byPeer(receives, sockets.size());
  while (true) {
    std::vector<pollfd> waiting;
    for (size_t peer = 0; peer < sockets.size(); ++peer) {
      absl::Status status = sending[peer].advance(
          [&](std::byte *data, size_t bytes) { return send(sockets[peer], data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL); });
      status.Update(receiving[peer].advance(
          [&](std::byte *data, size_t bytes) { return recv(sockets[peer], data, bytes, MSG_DONTWAIT); }));
      if (!status.ok())
        return status;
      const int events = (sending[peer].isDone() ? 0 : POLLOUT) | (receiving[peer].isDone() ? 0 : POLLIN);
      if (events)
        waiting.push_back({sockets[peer], static_cast<short>(events), 0});
    }
    if (waiting.empty())
      return absl::OkStatus();
    if (stop)
      return absl::CancelledError("stopped");
    poll(waiting.data(), waiting.size(), kPatienceMs);
  }
}

} // namespace splitcast::cuda_on_cpu
