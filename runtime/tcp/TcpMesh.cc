#include "runtime/tcp/TcpMesh.h"

#include "runtime/api/TransportChecks.h"

#include "absl/time/clock.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>

namespace splitcast::runtime {
namespace {

/// How many bytes are read from one rank before the others have their turn.
constexpr int64_t kTurnBytes = int64_t{4} << 20;

absl::Status lost() { return absl::UnavailableError("the connection is closed"); }

} // namespace

struct TcpMesh::Outgoing {
  int64_t to;
  Header header;
  const std::byte *data;
  int64_t written = 0;             ///< of the header and the data together
  std::vector<std::byte> own = {}; ///< a copy of the data, if the sender gave up after the message had begun

  int64_t size() const { return static_cast<int64_t>(sizeof(Header)) + header.bytes; }
  bool isDone() const { return written == size(); }
};

struct TcpMesh::Incoming {
  int64_t from;
  std::byte *data;
  int64_t bytes;
  std::shared_ptr<Arrival> arrival; ///< set once the header of its message has arrived
  bool done = false, abandoned = false;
};

/// Makes the bytes arrive in the arrival's own memory.
void TcpMesh::Arrival::keep() {
  own.resize(bytes);
  target = own.data();
}

TcpMesh::TcpMesh(std::vector<Socket> sockets) : peers(sockets.size()) {
  for (size_t rank = 0; rank < sockets.size(); ++rank)
    peers[rank].socket = std::move(sockets[rank]);
}

TcpMesh::~TcpMesh() = default;

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

std::shared_ptr<TcpMesh::Outgoing> TcpMesh::send(int64_t to, Channel channel, const std::byte *data, int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  auto message = std::make_shared<Outgoing>(Outgoing{to, {bytes, channel}, data});
  peers[to].outgoing.push_back(message);
  totalBytes += bytes;
  ++totalMessages;
  write(peers[to]);
  return message;
}

std::shared_ptr<TcpMesh::Incoming> TcpMesh::receive(int64_t from, Channel channel, std::byte *data, int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  auto message = std::make_shared<Incoming>(Incoming{from, data, bytes, nullptr});
  Queue &queue = peers[from].queues[channel];
  if (queue.arrived.empty()) {
    queue.posted.push_back(message);
  } else {
    message->arrival = queue.arrived.front();
    queue.arrived.pop_front();
    if (queue.arrived.empty())
      peers[from].queues.erase(channel);
  }
  return message;
}

absl::StatusOr<bool> TcpMesh::test(Outgoing &message) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!message.isDone())
    progress();
  if (!message.isDone() && !peers[message.to].socket.isOpen())
    return lost();
  return message.isDone();
}

absl::StatusOr<bool> TcpMesh::test(Incoming &message) {
  std::lock_guard<std::mutex> lock(mutex);
  if (message.done)
    return true;
  progress();
  if (!message.arrival || !message.arrival->isComplete())
    return peers[message.from].socket.isOpen() ? absl::StatusOr<bool>(false) : lost();
  message.done = true;
  const Arrival &arrival = *message.arrival;
  if (arrival.bytes != message.bytes)
    return wrongLength(arrival.bytes, message.bytes);
  if (arrival.target != message.data && arrival.bytes > 0)
    std::memcpy(message.data, arrival.target, arrival.bytes);
  message.arrival = nullptr;
  return true;
}

/// If the message has begun, the rest is sent from a copy, since the messages
/// behind it on the connection must still be understood.
void TcpMesh::giveUp(Outgoing &message) {
  std::lock_guard<std::mutex> lock(mutex);
  Peer &peer = peers[message.to];
  auto queued = std::find_if(peer.outgoing.begin(), peer.outgoing.end(),
                             [&](const std::shared_ptr<Outgoing> &other) { return other.get() == &message; });
  if (queued == peer.outgoing.end())
    return;
  if (message.written == 0) {
    peer.outgoing.erase(queued);
    return;
  }
  message.own.assign(message.data, message.data + message.header.bytes);
  message.data = message.own.data();
}

/// When the message arrives, it is received and discarded.
void TcpMesh::giveUp(Incoming &message) {
  std::lock_guard<std::mutex> lock(mutex);
  message.abandoned = true;
  if (message.arrival && !message.done && message.arrival->target == message.data)
    message.arrival->keep();
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

void TcpMesh::progress() {
  std::vector<pollfd> ready;
  for (const Peer &peer : peers)
    ready.push_back({peer.socket.fd(), static_cast<short>(peer.outgoing.empty() ? POLLIN : POLLIN | POLLOUT), 0});
  if (poll(ready.data(), ready.size(), 0) <= 0)
    return;
  for (size_t rank = 0; rank < peers.size(); ++rank) {
    if ((ready[rank].revents & POLLOUT) != 0)
      write(peers[rank]);
    if ((ready[rank].revents & (POLLIN | POLLHUP | POLLERR)) != 0)
      read(peers[rank]);
  }
}

void TcpMesh::write(Peer &peer) {
  while (!peer.outgoing.empty() && peer.socket.isOpen()) {
    Outgoing &message = *peer.outgoing.front();
    const int64_t headerLeft = std::max<int64_t>(0, static_cast<int64_t>(sizeof(Header)) - message.written);
    const int64_t dataBegin = std::max<int64_t>(0, message.written - static_cast<int64_t>(sizeof(Header)));
    iovec parts[2] = {
        {reinterpret_cast<char *>(&message.header) + sizeof(Header) - headerLeft, static_cast<size_t>(headerLeft)},
        {const_cast<std::byte *>(message.data) + dataBegin, static_cast<size_t>(message.header.bytes - dataBegin)}};
    msghdr what = {};
    what.msg_iov = parts;
    what.msg_iovlen = 2;
    ssize_t count = sendmsg(peer.socket.fd(), &what, MSG_NOSIGNAL);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
      return;
    if (count < 0) {
      // Only sending ends: what the peer sent before is still read.
      shutdown(peer.socket.fd(), SHUT_WR);
      peer.outgoing.clear();
      return;
    }
    message.written += count;
    if (message.isDone())
      peer.outgoing.pop_front();
  }
}

void TcpMesh::read(Peer &peer) {
  for (int64_t turn = 0; turn < kTurnBytes && peer.socket.isOpen();) {
    int64_t count = 0;
    if (!peer.arriving) {
      auto *header = reinterpret_cast<std::byte *>(&peer.header);
      count = readSome(peer, header + peer.headerBytes, static_cast<int64_t>(sizeof(Header)) - peer.headerBytes);
      peer.headerBytes += count;
      if (peer.headerBytes == sizeof(Header))
        beginArrival(peer);
    } else {
      Arrival &arrival = *peer.arriving;
      count = readSome(peer, arrival.target + arrival.received, arrival.bytes - arrival.received);
      arrival.received += count;
    }
    if (peer.arriving && peer.arriving->isComplete())
      peer.arriving = nullptr;
    if (count == 0)
      return;
    turn += count;
  }
}

/// Returns the number of bytes read. It is 0 if there are none now, or if the
/// connection is closed.
int64_t TcpMesh::readSome(Peer &peer, std::byte *data, int64_t bytes) {
  ssize_t count = recv(peer.socket.fd(), data, bytes, 0);
  if (count > 0)
    return count;
  if (count == 0 || (errno != EAGAIN && errno != EINTR))
    peer.socket.close();
  return 0;
}

/// Finds the posted receive for the message whose header has just arrived, or
/// keeps the message until one is posted.
void TcpMesh::beginArrival(Peer &peer) {
  peer.headerBytes = 0;
  auto arrival = std::make_shared<Arrival>();
  arrival->bytes = peer.header.bytes;
  Queue &queue = peer.queues[peer.header.channel];
  Incoming *receive = queue.posted.empty() ? nullptr : queue.posted.front().get();
  if (receive && !receive->abandoned && receive->bytes == arrival->bytes)
    arrival->target = receive->data;
  else
    arrival->keep();
  if (receive) {
    receive->arrival = arrival;
    queue.posted.pop_front();
  } else {
    queue.arrived.push_back(arrival);
  }
  if (queue.posted.empty() && queue.arrived.empty())
    peer.queues.erase(peer.header.channel);
  peer.arriving = std::move(arrival);
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

void TcpMesh::disconnect() {
  std::lock_guard<std::mutex> lock(mutex);
  connected = false;
  for (Peer &peer : peers)
    peer.socket.close();
}

void TcpMesh::finish(absl::Duration patience) {
  std::lock_guard<std::mutex> lock(mutex);
  const absl::Time deadline = absl::Now() + patience;
  for (Peer &peer : peers)
    if (peer.socket.isOpen())
      shutdown(peer.socket.fd(), SHUT_WR);
  // Closing a socket with unread bytes resets the connection, which would
  // discard what the peer has not read yet. So read until the peers close.
  auto isOpen = [](const Peer &peer) { return peer.socket.isOpen(); };
  while (std::any_of(peers.begin(), peers.end(), isOpen) && absl::Now() < deadline) {
    progress();
    absl::SleepFor(absl::Microseconds(200));
  }
}

} // namespace splitcast::runtime
