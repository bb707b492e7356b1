//===- TcpReadiness.h - Which of many sockets are ready -----------------------===//
//
// To ask costs as much as there are sockets that are ready, however many are watched (epoll).
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_TCP_TCPREADINESS_H
#define SPLITCAST_RUNTIME_TCP_TCPREADINESS_H

#include "runtime/tcp/TcpSocket.h"

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"

namespace splitcast::runtime {

class Readiness {
public:
  /// Events of a socket. Errors and the end of a connection count as Reads.
  enum Events : uint32_t { Reads = 1, Writes = 2 };

  static absl::StatusOr<Readiness> create();

  /// Watches a socket until remove(). Call remove() before the socket is closed.
  absl::Status add(const Socket &socket, uint64_t key, uint32_t events);
  void change(const Socket &socket, uint64_t key, uint32_t events);
  void remove(const Socket &socket);

  /// Calls `visit` with the key and the events of each socket that is ready, some tens at most. It waits for the first
  /// one, for this time at most. `visit` may remove sockets; it should not mind keys of sockets that are gone.
  void wait(int milliseconds, absl::FunctionRef<void(uint64_t key, uint32_t events)> visit);

  /// Waits until a socket is ready, for this time at most, in whole milliseconds. Other threads may use this object
  /// meanwhile. A signal ends the wait.
  void sleep(absl::Duration longest) const;

private:
  Socket epoll;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_TCP_TCPREADINESS_H
