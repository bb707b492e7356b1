#include "runtime/tcp/TcpSocket.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/process/ProcessHealth.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace splitcast::runtime {
namespace {

constexpr absl::Duration kRetry = absl::Milliseconds(50);

struct Resolved {
  sockaddr_storage address = {};
  socklen_t length = 0;
};

absl::StatusOr<Resolved> resolve(const Endpoint &endpoint) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  int code = getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found);
  if (code != 0)
    return absl::UnavailableError(absl::StrCat("cannot resolve '", endpoint.host, "': ", gai_strerror(code)));
  Resolved resolved;
  resolved.length = found->ai_addrlen;
  std::memcpy(&resolved.address, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return resolved;
}

absl::StatusOr<Socket> openSocket(int family) {
  Socket socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.isOpen())
    return socketError("creating a socket");
  return socket;
}

/// Turns off Nagle's algorithm, which would hold back short messages.
void sendAtOnce(const Socket &socket) {
  int yes = 1;
  setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

/// Waits for the events, and checks the health of the process ten times a
/// second.
absl::Status waitFor(const Socket &socket, short events, absl::Time deadline) {
  while (true) {
    pollfd wanted = {socket.fd(), events, 0};
    absl::Duration left = deadline - absl::Now();
    int code = poll(&wanted, 1, static_cast<int>(std::clamp<int64_t>(absl::ToInt64Milliseconds(left), 0, 100)));
    if (code > 0)
      return absl::OkStatus();
    if (code < 0 && errno != EINTR)
      return socketError("poll");
    SPLITCAST_RETURN_IF_ERROR(processHealth());
    if (left <= absl::ZeroDuration())
      return absl::DeadlineExceededError("timed out");
  }
}

absl::StatusOr<Socket> tryConnect(const Resolved &to, absl::Time deadline) {
  SPLITCAST_ASSIGN_OR_RETURN(Socket socket, openSocket(to.address.ss_family));
  sendAtOnce(socket);
  if (connect(socket.fd(), reinterpret_cast<const sockaddr *>(&to.address), to.length) == 0)
    return socket;
  if (errno != EINPROGRESS)
    return socketError("connect");
  SPLITCAST_RETURN_IF_ERROR(waitFor(socket, POLLOUT, deadline));
  socklen_t length = sizeof(errno);
  getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &errno, &length);
  if (errno != 0)
    return socketError("connect");
  return socket;
}

/// Sends or receives all of these bytes: `step` moves some and returns their number, as send and recv do.
template <typename Step>
absl::Status moveAll(const Socket &socket, short events, int64_t bytes, Step step, absl::Time deadline) {
  for (int64_t done = 0; done < bytes;) {
    ssize_t moved = step(done);
    if (moved > 0) {
      done += moved;
    } else if (moved == 0) {
      return absl::UnavailableError("the other end has closed the connection");
    } else if (errno == EAGAIN || errno == EINTR) {
      SPLITCAST_RETURN_IF_ERROR(waitFor(socket, events, deadline));
    } else {
      return socketError("using a connection");
    }
  }
  return absl::OkStatus();
}

absl::Status writeAll(const Socket &socket, const void *data, int64_t bytes, absl::Time deadline) {
  auto step = [&](int64_t done) {
    return send(socket.fd(), static_cast<const char *>(data) + done, bytes - done, MSG_NOSIGNAL);
  };
  return moveAll(socket, POLLOUT, bytes, step, deadline);
}

absl::Status readAll(const Socket &socket, void *data, int64_t bytes, absl::Time deadline) {
  auto step = [&](int64_t done) { return recv(socket.fd(), static_cast<char *>(data) + done, bytes - done, 0); };
  return moveAll(socket, POLLIN, bytes, step, deadline);
}

/// Returns the endpoint that `ask` (getsockname or getpeername) gives for a
/// socket.
absl::StatusOr<Endpoint> endpointOf(const Socket &socket, int (*ask)(int, sockaddr *, socklen_t *)) {
  sockaddr_storage address = {};
  socklen_t length = sizeof(address);
  char host[NI_MAXHOST] = {}, port[NI_MAXSERV] = {};
  auto *generic = reinterpret_cast<sockaddr *>(&address);
  if (ask(socket.fd(), generic, &length) != 0)
    return socketError("getting the address of a socket");
  if (int code = getnameinfo(generic, length, host, sizeof(host), port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV))
    return absl::UnavailableError(absl::StrCat("getnameinfo: ", gai_strerror(code)));
  return Endpoint{host, std::stoi(port)};
}

/// Checks that the connection has a peer. If nobody listens, the system may
/// give a connecting socket the very port that it connects to, and so connect
/// it to itself. And a peer may have reset the connection already.
absl::Status checkPeer(const Socket &socket) {
  SPLITCAST_ASSIGN_OR_RETURN(const Endpoint own, endpointOf(socket, getsockname));
  SPLITCAST_ASSIGN_OR_RETURN(const Endpoint peer, endpointOf(socket, getpeername));
  return own.text() == peer.text() ? absl::UnavailableError("nobody listens there") : absl::OkStatus();
}

} // namespace

absl::Status socketError(const std::string &what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(errno)));
}

std::string Endpoint::text() const { return absl::StrCat(host, ":", port); }

Socket &Socket::operator=(Socket &&other) noexcept {
  if (this != &other) {
    close();
    descriptor = other.release();
  }
  return *this;
}

void Socket::close() {
  if (descriptor >= 0)
    ::close(descriptor);
  descriptor = -1;
}

int Socket::release() { return std::exchange(descriptor, -1); }

absl::StatusOr<Socket> listenAt(const Endpoint &at) {
  SPLITCAST_ASSIGN_OR_RETURN(Resolved resolved, resolve(at));
  SPLITCAST_ASSIGN_OR_RETURN(Socket socket, openSocket(resolved.address.ss_family));
  int yes = 1;
  setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  auto *address = reinterpret_cast<sockaddr *>(&resolved.address);
  // A machine's own name may resolve to a loopback address on that machine,
  // which other machines cannot reach. So listen at all addresses.
  if (!isLoopback(at.host) && address->sa_family == AF_INET)
    reinterpret_cast<sockaddr_in *>(address)->sin_addr.s_addr = htonl(INADDR_ANY);
  else if (!isLoopback(at.host))
    reinterpret_cast<sockaddr_in6 *>(address)->sin6_addr = in6addr_any;
  if (bind(socket.fd(), address, resolved.length) != 0 || listen(socket.fd(), SOMAXCONN) != 0)
    return socketError("listening");
  return socket;
}

absl::StatusOr<Socket> connectTo(const Endpoint &to, absl::Time deadline) {
  while (true) {
    absl::StatusOr<Resolved> resolved = resolve(to);
    absl::StatusOr<Socket> socket = resolved.ok() ? tryConnect(*resolved, deadline) : resolved.status();
    if (absl::Status status = socket.ok() ? checkPeer(*socket) : absl::OkStatus(); !status.ok())
      socket = status;
    if (socket.ok() || !processHealth().ok() || absl::Now() + kRetry > deadline)
      return socket;
    absl::SleepFor(kRetry);
  }
}

absl::StatusOr<Socket> acceptFrom(const Socket &listener, absl::Time deadline) {
  while (true) {
    SPLITCAST_RETURN_IF_ERROR(waitFor(listener, POLLIN, deadline));
    Socket socket(accept4(listener.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.isOpen()) {
      sendAtOnce(socket);
      return socket;
    }
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
      return socketError("accept");
  }
}

absl::StatusOr<Endpoint> localEndpoint(const Socket &socket) { return endpointOf(socket, getsockname); }

absl::StatusOr<Endpoint> peerEndpoint(const Socket &socket) { return endpointOf(socket, getpeername); }

bool isLoopback(const std::string &host) { return host == "localhost" || host == "::1" || host.rfind("127.", 0) == 0; }

absl::Status writeText(const Socket &socket, const std::string &text, absl::Time deadline) {
  const int64_t bytes = static_cast<int64_t>(text.size());
  absl::Status status = writeAll(socket, &bytes, sizeof(bytes), deadline);
  return status.ok() ? writeAll(socket, text.data(), bytes, deadline) : status;
}

absl::StatusOr<std::string> readText(const Socket &socket, absl::Time deadline, int64_t mostBytes) {
  int64_t bytes = 0;
  SPLITCAST_RETURN_IF_ERROR(readAll(socket, &bytes, sizeof(bytes), deadline));
  if (bytes < 0 || bytes > mostBytes)
    return absl::UnavailableError(
        absl::StrCat("received a text of ", bytes, " bytes; at most ", mostBytes, " are allowed"));
  std::string text(bytes, '\0');
  SPLITCAST_RETURN_IF_ERROR(readAll(socket, text.data(), bytes, deadline));
  return text;
}

} // namespace splitcast::runtime
