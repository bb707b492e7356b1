#include "runtime/tcp/TcpSocket.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/process/OwnFiles.h"
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
  Socket socket = Socket::open([&] { return ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
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
absl::Status waitFor(const Socket &socket, short events, Patience &patience) {
  while (true) {
    pollfd wanted = {socket.fd(), events, 0};
    int code = poll(&wanted, 1, pollMilliseconds(patience));
    if (code > 0)
      return absl::OkStatus();
    if (code < 0 && errno != EINTR)
      return socketError("poll");
    SPLITCAST_RETURN_IF_ERROR(processHealth());
    if (patience.isOver())
      return absl::DeadlineExceededError("timed out");
  }
}

/// Gives up after 3 seconds, so that one may begin anew. The system would ask
/// again after ever longer pauses, and a listener whose backlog others fill
/// answers only now and then.
void giveUpSoon(const Socket &socket) {
  int retries = 1;
  setsockopt(socket.fd(), IPPROTO_TCP, TCP_SYNCNT, &retries, sizeof(retries));
}

absl::StatusOr<Socket> tryConnect(const Resolved &to, Patience &patience) {
  SPLITCAST_ASSIGN_OR_RETURN(Socket socket, openSocket(to.address.ss_family));
  sendAtOnce(socket);
  giveUpSoon(socket);
  if (connect(socket.fd(), reinterpret_cast<const sockaddr *>(&to.address), to.length) == 0)
    return socket;
  if (errno != EINPROGRESS)
    return socketError("connect");
  SPLITCAST_RETURN_IF_ERROR(waitFor(socket, POLLOUT, patience));
  socklen_t length = sizeof(errno);
  getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &errno, &length);
  if (errno == ETIMEDOUT)
    return absl::DeadlineExceededError("connect: Connection timed out");
  if (errno != 0)
    return socketError("connect");
  return socket;
}

/// Sends or receives all of these bytes: `step` moves some and returns their number, as send and recv do.
template <typename Step>
absl::Status moveAll(const Socket &socket, short events, int64_t bytes, Step step, Patience &patience) {
  for (int64_t done = 0; done < bytes;) {
    ssize_t moved = step(done);
    if (moved > 0) {
      done += moved;
    } else if (moved == 0) {
      return absl::UnavailableError("the other end has closed the connection");
    } else if (errno == EAGAIN || errno == EINTR) {
      SPLITCAST_RETURN_IF_ERROR(waitFor(socket, events, patience));
    } else {
      return socketError("using a connection");
    }
  }
  return absl::OkStatus();
}

absl::Status writeAll(const Socket &socket, const void *data, int64_t bytes, Patience &patience) {
  auto step = [&](int64_t done) {
    return send(socket.fd(), static_cast<const char *>(data) + done, bytes - done, MSG_NOSIGNAL);
  };
  return moveAll(socket, POLLOUT, bytes, step, patience);
}

absl::Status readAll(const Socket &socket, void *data, int64_t bytes, Patience &patience) {
  auto step = [&](int64_t done) { return recv(socket.fd(), static_cast<char *>(data) + done, bytes - done, 0); };
  return moveAll(socket, POLLIN, bytes, step, patience);
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
    closeOwn(descriptor);
  descriptor = -1;
}

int Socket::release() { return std::exchange(descriptor, -1); }

Socket Socket::open(absl::FunctionRef<int()> create) { return Socket(openOwn(create)); }

absl::StatusOr<Socket> listenAt(const Endpoint &at, Reach reach) {
  SPLITCAST_ASSIGN_OR_RETURN(Resolved resolved, resolve(at));
  SPLITCAST_ASSIGN_OR_RETURN(Socket socket, openSocket(resolved.address.ss_family));
  int yes = 1;
  setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  auto *address = reinterpret_cast<sockaddr *>(&resolved.address);
  if (reach == Reach::AllAddresses && address->sa_family == AF_INET)
    reinterpret_cast<sockaddr_in *>(address)->sin_addr.s_addr = htonl(INADDR_ANY);
  else if (reach == Reach::AllAddresses)
    reinterpret_cast<sockaddr_in6 *>(address)->sin6_addr = in6addr_any;
  if (bind(socket.fd(), address, resolved.length) != 0 || listen(socket.fd(), SOMAXCONN) != 0)
    return socketError("listening");
  return socket;
}

absl::StatusOr<Socket> connectTo(const Endpoint &to, Patience &patience) {
  while (true) {
    absl::StatusOr<Resolved> resolved = resolve(to);
    absl::StatusOr<Socket> socket = resolved.ok() ? tryConnect(*resolved, patience) : resolved.status();
    if (absl::Status status = socket.ok() ? checkPeer(*socket) : absl::OkStatus(); !status.ok())
      socket = status;
    if (socket.ok() || !processHealth().ok() || patience.isOver())
      return socket;
    absl::SleepFor(kRetry);
  }
}

absl::StatusOr<Socket> acceptNext(const Socket &listener) {
  while (true) {
    Socket socket =
        Socket::open([&] { return accept4(listener.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC); });
    if (socket.isOpen())
      sendAtOnce(socket);
    if (socket.isOpen() || errno == EAGAIN)
      return socket;
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
      return absl::ResourceExhaustedError(absl::StrCat("accept: ", std::strerror(errno)));
    // accept also reports errors of the connection itself, which is then gone.
    if (errno == EBADF || errno == EINVAL || errno == ENOTSOCK || errno == EOPNOTSUPP || errno == EFAULT)
      return socketError("accept");
  }
}

int pollMilliseconds(const Patience &patience) {
  return static_cast<int>(std::clamp<int64_t>(absl::ToInt64Milliseconds(patience.left()), 1, 100));
}

absl::StatusOr<std::string> addressOf(const std::string &host) {
  SPLITCAST_ASSIGN_OR_RETURN(const Resolved resolved, resolve({host, 0}));
  char text[NI_MAXHOST] = {};
  if (int code = getnameinfo(reinterpret_cast<const sockaddr *>(&resolved.address), resolved.length, text, sizeof(text),
                             nullptr, 0, NI_NUMERICHOST))
    return absl::UnavailableError(absl::StrCat("getnameinfo: ", gai_strerror(code)));
  return std::string(text);
}

absl::StatusOr<Endpoint> localEndpoint(const Socket &socket) { return endpointOf(socket, getsockname); }

absl::StatusOr<Endpoint> peerEndpoint(const Socket &socket) { return endpointOf(socket, getpeername); }

bool isLoopback(const std::string &host) { return host == "localhost" || host == "::1" || host.rfind("127.", 0) == 0; }

absl::Status writeText(const Socket &socket, const std::string &text, Patience &patience) {
  const int64_t bytes = static_cast<int64_t>(text.size());
  absl::Status status = writeAll(socket, &bytes, sizeof(bytes), patience);
  return status.ok() ? writeAll(socket, text.data(), bytes, patience) : status;
}

absl::StatusOr<std::string> readText(const Socket &socket, Patience &patience, int64_t mostBytes) {
  int64_t bytes = 0;
  SPLITCAST_RETURN_IF_ERROR(readAll(socket, &bytes, sizeof(bytes), patience));
  if (bytes < 0 || bytes > mostBytes)
    return absl::UnavailableError(
        absl::StrCat("received a text of ", bytes, " bytes; at most ", mostBytes, " are allowed"));
  std::string text(bytes, '\0');
  SPLITCAST_RETURN_IF_ERROR(readAll(socket, text.data(), bytes, patience));
  return text;
}

} // namespace splitcast::runtime
