//===- TcpSocket.h - Sockets with deadlines ---------------------------------===//
//
// Blocking calls that end at a deadline, or when the process is told to end. Errors: Unavailable with the system's
// text, DeadlineExceeded, or what processHealth says.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_TCP_TCPSOCKET_H
#define SPLITCAST_RUNTIME_TCP_TCPSOCKET_H

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <cstdint>
#include <string>

namespace splitcast::runtime {

struct Endpoint {
  std::string host; ///< a name, or an address in digits
  int port = 0;     ///< 0, to listen: the system chooses
  std::string text() const;
};

/// Owns a descriptor in non-blocking mode.
class Socket {
public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor(descriptor) {}
  Socket(Socket &&other) noexcept : descriptor(other.release()) {}
  Socket &operator=(Socket &&other) noexcept;
  ~Socket() { close(); }

  int fd() const { return descriptor; }
  bool isOpen() const { return descriptor >= 0; }
  void close();

private:
  int release();
  int descriptor = -1;
};

/// Whether an address, or the name "localhost", is of this machine alone.
bool isLoopback(const std::string &host);

/// Listens at all addresses of this machine, or at the endpoint's alone where that is a loopback.
absl::StatusOr<Socket> listenAt(const Endpoint &at);
/// Tries again until somebody listens there.
absl::StatusOr<Socket> connectTo(const Endpoint &to, absl::Time deadline);
absl::StatusOr<Socket> acceptFrom(const Socket &listener, absl::Time deadline);

/// Where this end of the socket is, and the other, in digits.
absl::StatusOr<Endpoint> localEndpoint(const Socket &socket);
absl::StatusOr<Endpoint> peerEndpoint(const Socket &socket);

/// A text of at most 1 MiB, after its length. Of a text that is longer, or ends early: Unavailable.
absl::Status writeText(const Socket &socket, const std::string &text, absl::Time deadline);
absl::StatusOr<std::string> readText(const Socket &socket, absl::Time deadline);

/// Unavailable: `what`, and errno's text.
absl::Status socketError(const std::string &what);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_TCP_TCPSOCKET_H
