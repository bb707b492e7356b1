//===- TcpMesh.h - Messages over one connection per pair of ranks ------------===//
//
// All transports of a process send through the same connections. A message is a header (its length, the transport's
// channel, its tag) and its bytes. What arrives before a receive was posted for it is kept in memory. Whoever tests a
// message moves all that can be moved, in both directions, so that two ranks which send at once do not wait for each
// other's buffers. Calls may come from several threads.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_TCP_TCPMESH_H
#define SPLITCAST_RUNTIME_TCP_TCPMESH_H

#include "runtime/tcp/TcpSocket.h"

#include <atomic>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace splitcast::runtime {

/// Which messages of a rank are meant for which receives: its transport's number, and the tag.
struct Channel {
  uint64_t transport = 0;
  int64_t tag = 0;
  bool operator<(const Channel &other) const {
    return transport != other.transport ? transport < other.transport : tag < other.tag;
  }
};

class TcpMesh {
public:
  struct Outgoing;
  struct Incoming;

  /// Connections by rank; none to this rank.
  explicit TcpMesh(std::vector<Socket> sockets);
  ~TcpMesh();

  /// Borrow the memory until they are done or given up.
  std::shared_ptr<Outgoing> send(int64_t to, Channel channel, const std::byte *data, int64_t bytes);
  std::shared_ptr<Incoming> receive(int64_t from, Channel channel, std::byte *data, int64_t bytes);

  /// Whether it is done. Errors are those of Message::test.
  absl::StatusOr<bool> test(Outgoing &message);
  absl::StatusOr<bool> test(Incoming &message);
  /// Their memory is not touched any more.
  void giveUp(Outgoing &message);
  void giveUp(Incoming &message);

  /// Closes all connections at once: to the others this rank is lost.
  void disconnect();
  bool isConnected() const { return connected; }
  /// Says that no more will come, and waits until all others have said so, too, or have closed: `patience` at most.
  void finish(absl::Duration patience);

  int64_t sentBytes() const { return totalBytes; }
  int64_t sentMessages() const { return totalMessages; }

private:
  struct Header {
    int64_t bytes;
    Channel channel;
  };
  /// A message's bytes, on their way to a receive's memory or into one of its own.
  struct Arrival {
    int64_t bytes = 0, received = 0;
    std::byte *target = nullptr;
    std::vector<std::byte> own;
    bool isComplete() const { return received == bytes; }
    void keep();
  };
  struct Queue {
    std::deque<std::shared_ptr<Incoming>> posted;
    std::deque<std::shared_ptr<Arrival>> arrived;
  };
  struct Peer {
    Socket socket;
    std::deque<std::shared_ptr<Outgoing>> outgoing;
    std::map<Channel, Queue> queues;
    Header header = {};
    int64_t headerBytes = 0;           ///< of the header that are here
    std::shared_ptr<Arrival> arriving; ///< the message whose header is here
  };

  void progress();
  void write(Peer &peer);
  void read(Peer &peer);
  int64_t readSome(Peer &peer, std::byte *data, int64_t bytes);
  void beginArrival(Peer &peer);

  std::mutex mutex;
  std::vector<Peer> peers;
  std::atomic<bool> connected{true};
  std::atomic<int64_t> totalBytes{0}, totalMessages{0};
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_TCP_TCPMESH_H
