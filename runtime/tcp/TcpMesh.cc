#include "runtime/tcp/TcpMesh.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/api/TransportChecks.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>

namespace splitcast::runtime {
namespace {

/// How many bytes are read from one rank before the others have their turn.
constexpr int64_t kTurnBytes = int64_t{4} << 20;

/// So many bytes of headers and short messages are read at once.
constexpr int64_t kShortBytes = 4096;
/// Memory for a message of which no receive is posted yet is asked for at once
/// up to this size, and beyond it as the bytes arrive.
constexpr int64_t kRoomBytes = int64_t{4} << 20;
/// If nothing could be moved, the system is not asked again for this long. A
/// collective tests hundreds of messages in a row.
constexpr std::chrono::microseconds kIdle{2};

/// Returns whether both ends of the connection have the same address.
bool isWithinMachine(const Socket &socket) {
  sockaddr_storage ends[2] = {};
  socklen_t lengths[2] = {sizeof(sockaddr_storage), sizeof(sockaddr_storage)};
  if (getsockname(socket.fd(), reinterpret_cast<sockaddr *>(&ends[0]), &lengths[0]) != 0 ||
      getpeername(socket.fd(), reinterpret_cast<sockaddr *>(&ends[1]), &lengths[1]) != 0 ||
      ends[0].ss_family != ends[1].ss_family)
    return false;
  if (ends[0].ss_family == AF_INET)
    return reinterpret_cast<sockaddr_in *>(&ends[0])->sin_addr.s_addr ==
           reinterpret_cast<sockaddr_in *>(&ends[1])->sin_addr.s_addr;
  return ends[0].ss_family == AF_INET6 &&
         std::memcmp(&reinterpret_cast<sockaddr_in6 *>(&ends[0])->sin6_addr,
                     &reinterpret_cast<sockaddr_in6 *>(&ends[1])->sin6_addr, sizeof(in6_addr)) == 0;
}

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
  Frame frame;
  std::byte *data;
  int64_t bytes;
  std::shared_ptr<Arrival> arrival; ///< set once the header of its message has arrived
  bool done = false, abandoned = false;
};

/// Makes room for more bytes in `kept`. Returns false if there is no memory.
bool TcpMesh::Arrival::makeRoom() {
  if (room > received)
    return true;
  const int64_t wanted = std::min(bytes, std::max(kRoomBytes, 2 * received));
  std::byte *smaller = kept.release();
  auto *larger = static_cast<std::byte *>(std::realloc(smaller, wanted));
  kept.reset(larger ? larger : smaller);
  if (!larger)
    return false;
  room = wanted;
  return true;
}

absl::StatusOr<std::shared_ptr<TcpMesh>> TcpMesh::create(std::vector<Socket> sockets) {
  SPLITCAST_ASSIGN_OR_RETURN(Readiness readiness, Readiness::create());
  std::shared_ptr<TcpMesh> mesh(new TcpMesh(std::move(readiness)));
  mesh->peers = std::vector<Peer>(sockets.size());
  for (size_t rank = 0; rank < sockets.size(); ++rank) {
    Socket &socket = mesh->peers[rank].socket = std::move(sockets[rank]);
    if (!socket.isOpen())
      continue;
    SPLITCAST_RETURN_IF_ERROR(mesh->readiness.add(socket, rank, Readiness::Reads));
    mesh->numRanksHere += isWithinMachine(socket) ? 1 : 0;
  }
  return mesh;
}

TcpMesh::~TcpMesh() = default;

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

std::shared_ptr<TcpMesh::Outgoing> TcpMesh::send(int64_t to, Channel channel, const Frame &frame, const std::byte *data,
                                                 int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  auto message = std::make_shared<Outgoing>(Outgoing{to, {bytes, channel, frame}, data});
  peers[to].outgoing.push_back(message);
  totalBytes += bytes;
  ++totalMessages;
  write(peers[to]);
  return message;
}

std::shared_ptr<TcpMesh::Incoming> TcpMesh::receive(int64_t from, Channel channel, const Frame &frame, std::byte *data,
                                                    int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  auto message = std::make_shared<Incoming>(Incoming{from, frame, data, bytes, nullptr});
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
    return peers[message.to].end;
  return message.isDone();
}

absl::StatusOr<bool> TcpMesh::test(Incoming &message) {
  std::lock_guard<std::mutex> lock(mutex);
  if (message.done)
    return true;
  progress();
  if (!message.arrival || !message.arrival->isComplete())
    return peers[message.from].socket.isOpen() ? absl::StatusOr<bool>(false) : peers[message.from].end;
  message.done = true;
  const Arrival &arrival = *message.arrival;
  if (arrival.frame != message.frame)
    return unlikeFrame(arrival.frame, message.frame);
  if (arrival.bytes != message.bytes)
    return wrongLength(arrival.bytes, message.bytes);
  if (!arrival.target && arrival.bytes > 0)
    std::memcpy(message.data, arrival.kept.get(), arrival.bytes);
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
  if (!message.arrival || message.done || !message.arrival->target)
    return;
  message.arrival->target = nullptr;
  message.arrival->bytes -= message.arrival->received; // the rest; what has arrived is of no use
  message.arrival->received = 0;
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

void TcpMesh::progress() {
  if (std::chrono::steady_clock::now() - lastIdle < kIdle)
    return;
  bool isIdle = true;
  readiness.wait(0, [&](uint64_t rank, uint32_t events) {
    isIdle = false;
    if ((events & Readiness::Writes) != 0)
      write(peers[rank]);
    if ((events & Readiness::Reads) != 0)
      read(peers[rank]);
  });
  if (isIdle)
    lastIdle = std::chrono::steady_clock::now();
}

/// Watches the connection for room to write as long as something is to be sent.
void TcpMesh::watchWrites(Peer &peer) {
  const bool awaits = !peer.outgoing.empty();
  if (awaits == peer.awaitsWrites || !peer.socket.isOpen())
    return;
  peer.awaitsWrites = awaits;
  readiness.change(peer.socket, rankOf(peer), awaits ? Readiness::Reads | Readiness::Writes : Readiness::Reads);
}

void TcpMesh::close(Peer &peer) {
  if (peer.socket.isOpen())
    readiness.remove(peer.socket);
  peer.socket.close();
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
      break;
    if (count < 0) {
      // Only sending ends: what the peer sent before is still read.
      shutdown(peer.socket.fd(), SHUT_WR);
      peer.outgoing.clear();
      break;
    }
    message.written += count;
    if (message.isDone())
      peer.outgoing.pop_front();
  }
  watchWrites(peer);
}

/// Reads what has arrived. Headers and short messages are read many at a time
/// and taken apart here; the rest of a long message goes straight to its place.
void TcpMesh::read(Peer &peer) {
  std::array<std::byte, kShortBytes> together;
  for (int64_t turn = 0; turn < kTurnBytes && peer.socket.isOpen();) {
    int64_t wanted = kShortBytes, count = 0;
    if (peer.arriving && peer.arriving->bytes - peer.arriving->received > kShortBytes) {
      const Place place = placeOf(peer);
      wanted = place.bytes;
      count = readSome(peer, place.data, wanted);
      took(peer, count);
    } else {
      count = readSome(peer, together.data(), wanted);
      take(peer, together.data(), count);
    }
    // If there is more, the system says so when it is asked again.
    if (count < wanted)
      return;
    turn += count;
  }
}

/// Takes bytes of headers and messages that have been read.
void TcpMesh::take(Peer &peer, const std::byte *bytes, int64_t count) {
  while (count > 0 && peer.socket.isOpen()) {
    const Place place = placeOf(peer);
    const int64_t part = std::min(count, place.bytes);
    if (part > 0)
      std::memcpy(place.data, bytes, part);
    took(peer, part);
    bytes += part;
    count -= part;
  }
}

/// Returns where the next bytes of the connection belong. It is empty if the
/// connection had to be closed, for lack of memory.
TcpMesh::Place TcpMesh::placeOf(Peer &peer) {
  if (!peer.arriving)
    return {reinterpret_cast<std::byte *>(&peer.header) + peer.headerBytes,
            static_cast<int64_t>(sizeof(Header)) - peer.headerBytes};
  Arrival &arrival = *peer.arriving;
  if (arrival.target)
    return {arrival.target + arrival.received, arrival.bytes - arrival.received};
  if (arrival.makeRoom())
    return {arrival.kept.get() + arrival.received, arrival.room - arrival.received};
  peer.end =
      absl::ResourceExhaustedError(absl::StrCat("there is no memory for its message of ", arrival.bytes, " bytes"));
  close(peer);
  return {};
}

/// Notes that so many bytes are at their place.
void TcpMesh::took(Peer &peer, int64_t count) {
  if (peer.arriving) {
    peer.arriving->received += count;
  } else {
    peer.headerBytes += count;
    if (peer.headerBytes == sizeof(Header))
      beginArrival(peer);
  }
  if (peer.arriving && peer.arriving->isComplete())
    peer.arriving = nullptr;
}

/// Returns the number of bytes read. It is 0 if there are none now, or if the
/// connection is closed.
int64_t TcpMesh::readSome(Peer &peer, std::byte *data, int64_t bytes) {
  if (bytes == 0)
    return 0;
  ssize_t count = recv(peer.socket.fd(), data, bytes, 0);
  if (count > 0)
    return count;
  if (count == 0 || (errno != EAGAIN && errno != EINTR))
    close(peer);
  return 0;
}

absl::Status TcpMesh::checkHeader(const Header &header) {
  const Channel &channel = header.channel;
  if (header.bytes >= 0 && header.bytes <= kMaxMessageBytes && channel.transport != 0 && channel.tag >= 0 &&
      channel.tag <= kMaxTag)
    return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("it announced a message of ", header.bytes, " bytes of transport ",
                                             channel.transport, " and tag ", channel.tag, ", which no rank sends"));
}

/// Finds the posted receive for the message whose header has just arrived, or
/// keeps the message until one is posted.
void TcpMesh::beginArrival(Peer &peer) {
  peer.headerBytes = 0;
  if (absl::Status status = checkHeader(peer.header); !status.ok()) {
    peer.end = status;
    close(peer);
    return;
  }
  auto arrival = std::make_shared<Arrival>();
  arrival->bytes = peer.header.bytes;
  arrival->frame = peer.header.frame;
  Queue &queue = peer.queues[peer.header.channel];
  Incoming *receive = queue.posted.empty() ? nullptr : queue.posted.front().get();
  if (receive && !receive->abandoned && receive->bytes == arrival->bytes && receive->frame == arrival->frame)
    arrival->target = receive->data;
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
    close(peer);
}

void TcpMesh::finish(absl::Duration patience) {
  std::lock_guard<std::mutex> lock(mutex);
  Patience wait(patience);
  for (Peer &peer : peers)
    if (peer.socket.isOpen())
      shutdown(peer.socket.fd(), SHUT_WR);
  // Closing a socket with unread bytes resets the connection, which would
  // discard what the peer has not read yet. So read until the peers close.
  auto isOpen = [](const Peer &peer) { return peer.socket.isOpen(); };
  while (std::any_of(peers.begin(), peers.end(), isOpen) && !wait.isOver()) {
    progress();
    absl::SleepFor(absl::Microseconds(200));
  }
}

} // namespace splitcast::runtime
