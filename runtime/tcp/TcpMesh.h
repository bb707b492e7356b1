//===- TcpMesh.h - Messages over one connection per pair of ranks ------------===//
//
// All transports of a process send through the same connections. A message is a header (its length, the transport's
// number, its tag and its frame) and its bytes. A message that arrives before its receive is posted is kept in memory.
// Each test of a message moves all bytes that can be moved, in both directions, so that two ranks that send at once do
// not wait for each other's buffers. Several threads may call the methods.
//
// What the other side of a connection announces is checked, and memory is asked for as its bytes arrive: a header alone
// costs nothing.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_TCP_TCPMESH_H
#define SPLITCAST_RUNTIME_TCP_TCPMESH_H

#include "runtime/api/Frame.h"
#include "runtime/tcp/TcpReadiness.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace splitcast::runtime {

/// Tells which messages of a rank belong to which receives: the number of the transport, and the tag.
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

  /// Takes over the connections, by rank. The one of this rank itself is closed.
  ///   Errors  Unavailable: the system cannot watch so many sockets.
  static absl::StatusOr<std::shared_ptr<TcpMesh>> create(std::vector<Socket> sockets);
  ~TcpMesh();

  /// Start a message. They borrow the memory until it is done or given up.
  std::shared_ptr<Outgoing> send(int64_t to, Channel channel, const Frame &frame, const std::byte *data, int64_t bytes);
  std::shared_ptr<Incoming> receive(int64_t from, Channel channel, const Frame &frame, std::byte *data, int64_t bytes);

  /// Return whether the message is done. Errors are those of Message::test.
  absl::StatusOr<bool> test(Outgoing &message);
  absl::StatusOr<bool> test(Incoming &message);
  /// Give up a message. Its memory is not touched from then on.
  void giveUp(Outgoing &message);
  void giveUp(Incoming &message);

  /// Waits until bytes can be moved, for this time at most. A signal ends the wait.
  void sleep(absl::Duration longest) const { readiness.sleep(longest); }

  /// Closes all connections at once. The other ranks then take this rank for lost.
  void disconnect();
  bool isConnected() const { return connected; }
  /// Tells the other ranks that no more messages will come, and waits until all have told the same or have closed
  /// their connections, for `patience` at most.
  void finish(absl::Duration patience);

  /// Returns how many ranks run on this machine, with this one.
  int64_t ranksHere() const { return numRanksHere; }

  int64_t sentBytes() const { return totalBytes; }
  int64_t sentMessages() const { return totalMessages; }

private:
  struct Header {
    int64_t bytes;
    Channel channel;
    Frame frame;
  };
  /// The bytes of a message, which arrive in the memory of a receive or, without a target, in `kept`.
  struct Arrival {
    Frame frame;
    int64_t bytes = 0, received = 0;
    std::byte *target = nullptr;
    std::unique_ptr<std::byte, void (*)(void *)> kept{nullptr, std::free};
    int64_t room = 0; ///< how many bytes `kept` has room for
    bool isComplete() const { return received == bytes; }
    bool makeRoom();
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
    int64_t headerBytes = 0;           ///< how many bytes of the header have arrived
    std::shared_ptr<Arrival> arriving; ///< the message whose header has arrived, but not all of its bytes
    bool awaitsWrites = false;         ///< whether the connection is watched for room to write
    absl::Status end = absl::UnavailableError("the connection is closed"); ///< the error once the socket is closed
  };

  explicit TcpMesh(Readiness readiness) : readiness(std::move(readiness)) {}
  void progress();
  void write(Peer &peer);
  void read(Peer &peer);
  struct Place {
    std::byte *data = nullptr;
    int64_t bytes = 0;
  };
  int64_t readSome(Peer &peer, std::byte *data, int64_t bytes);
  void take(Peer &peer, const std::byte *bytes, int64_t count);
  Place placeOf(Peer &peer);
  void took(Peer &peer, int64_t count);
  static absl::Status checkHeader(const Header &header);
  void beginArrival(Peer &peer);
  void watchWrites(Peer &peer);
  void close(Peer &peer);
  uint64_t rankOf(const Peer &peer) const { return &peer - peers.data(); }

  std::mutex mutex;
  Readiness readiness;
  std::chrono::steady_clock::time_point lastIdle = {}; ///< when nothing was found to move
  std::vector<Peer> peers;
  int64_t numRanksHere = 1;
  std::atomic<bool> connected{true};
  std::atomic<int64_t> totalBytes{0}, totalMessages{0};
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_TCP_TCPMESH_H
