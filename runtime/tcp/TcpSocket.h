//===- TcpSocket.h - Sockets with deadlines ---------------------------------===//
//
// The calls that take a Patience block until it is over, or until the process is told to end. They return Unavailable
// with the system's text, DeadlineExceeded, or the error of processHealth(). No forked child keeps a socket.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_TCP_TCPSOCKET_H
#define SPLITCAST_RUNTIME_TCP_TCPSOCKET_H

#include "runtime/process/Patience.h"

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <cstdint>
#include <string>

namespace splitcast::runtime {

struct Endpoint {
  std::string host; ///< a name, or a numeric address
  int port = 0;     ///< 0: the system chooses a port to listen at
  std::string text() const;
};

/// Owns the descriptor of a socket in non-blocking mode, or of what waits for sockets.
class Socket {
public:
  Socket() = default;
  /// Takes what `create` returns: a new descriptor, or -1 for none. It must not block.
  static Socket open(absl::FunctionRef<int()> create);
  Socket(Socket &&other) noexcept : descriptor(other.release()) {}
  Socket &operator=(Socket &&other) noexcept;
  ~Socket() { close(); }

  int fd() const { return descriptor; }
  bool isOpen() const { return descriptor >= 0; }
  void close();

private:
  explicit Socket(int descriptor) : descriptor(descriptor) {}
  int release();
  int descriptor = -1;
};

/// Returns whether `host` is "localhost" or an address that only this machine itself can reach.
bool isLoopback(const std::string &host);

/// Returns the first numeric address to which this machine resolves the name.
absl::StatusOr<std::string> addressOf(const std::string &host);

enum class Reach {
  ThisAddress, ///< only the address that the name resolves to
  AllAddresses ///< all addresses of this machine
};
absl::StatusOr<Socket> listenAt(const Endpoint &at, Reach reach = Reach::ThisAddress);
/// Tries to connect again and again until another process listens there.
absl::StatusOr<Socket> connectTo(const Endpoint &to, Patience &patience);
/// Returns the next connection, or a closed socket if there is none now.
///   Errors  ResourceExhausted: this process or the system can open no more files.
absl::StatusOr<Socket> acceptNext(const Socket &listener);

/// Returns how long a poll may last at most, so that the process's health and `patience` are looked at in time.
int pollMilliseconds(const Patience &patience);

/// Return the endpoint of this side of the connection, and of the other side, with numeric addresses.
absl::StatusOr<Endpoint> localEndpoint(const Socket &socket);
absl::StatusOr<Endpoint> peerEndpoint(const Socket &socket);

/// The longest text is the table of the job's endpoints: a name of at most 253 bytes and a port for each of up to 65536
/// ranks.
inline constexpr int64_t kMaxTextBytes = 1 << 25;

/// Write and read a text, after its length. readText returns Unavailable for a text that has more than `mostBytes` or
/// ends early. A stranger may have sent it, so `mostBytes` is also what is allocated for it at most.
absl::Status writeText(const Socket &socket, const std::string &text, Patience &patience);
absl::StatusOr<std::string> readText(const Socket &socket, Patience &patience, int64_t mostBytes = kMaxTextBytes);

/// Returns Unavailable with `what` and errno's text.
absl::Status socketError(const std::string &what);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_TCP_TCPSOCKET_H
