#include "runtime/host/communicator/HostCommunicatorNotices.h"

#include <algorithm>
#include <cstring>

namespace splitcast::runtime {
namespace {

/// A notice as it travels: two numbers, and two texts that end with a zero. MPI
/// sends it with its header in one packet.
struct Wire {
  int64_t from, with;
  char call[Notice::kTextBytes], clause[Notice::kTextBytes];
};

/// Only notices have this tag, so their frames need not say more.
constexpr Frame kFrame = {};

template <size_t kBytes> void copyText(char (&to)[kBytes], const std::string &text) {
  std::memset(to, 0, kBytes);
  std::memcpy(to, text.data(), std::min(text.size(), kBytes - 1));
}

template <size_t kBytes> std::string textIn(const char (&from)[kBytes]) { return {from, strnlen(from, kBytes)}; }

} // namespace

void Notices::send(Transport &transport, const Notice &notice) {
  Wire wire = {notice.from, notice.with, {}, {}};
  copyText(wire.call, notice.call);
  copyText(wire.clause, notice.clause);
  const auto *begin = reinterpret_cast<const std::byte *>(&wire);
  for (int64_t rank = 0; rank < transport.size(); ++rank) {
    if (rank == transport.rank())
      continue;
    Room room = {{begin, begin + sizeof(wire)}, nullptr};
    auto message = transport.send(rank, kNoticeTag, room.bytes.data(), sizeof(Wire), kFrame);
    if (!message.ok())
      continue;
    room.message = *std::move(message);
    sent.push_back(std::move(room));
  }
}

/// Posts the receive of a rank's next notice.
void Notices::listen(Transport &transport, int64_t rank) {
  Room &room = awaited[rank];
  room.bytes.resize(sizeof(Wire));
  auto message = transport.receive(rank, kNoticeTag, room.bytes.data(), sizeof(Wire), kFrame);
  room.message = message.ok() ? *std::move(message) : nullptr;
}

std::optional<Notice> Notices::receive(Transport &transport) {
  for (int64_t rank = 0; rank < transport.size() && !isListening; ++rank)
    if (rank != transport.rank())
      listen(transport, rank);
  isListening = true;
  for (Room &room : sent) // so that they go on their way
    (void)room.message->test().status();
  for (auto &[rank, room] : awaited) {
    if (!room.message)
      continue;
    const absl::StatusOr<bool> done = room.message->test();
    if (done.ok() && !*done)
      continue;
    room.message.reset();
    if (!done.ok())
      continue;
    Wire wire;
    std::memcpy(&wire, room.bytes.data(), sizeof(wire));
    listen(transport, rank);
    Notice notice{wire.from, wire.with, textIn(wire.call), textIn(wire.clause)};
    words.try_emplace(notice.from, notice.call);
    if (notice.with != Notice::kNobody)
      return notice;
  }
  return std::nullopt;
}

std::optional<std::string> Notices::wordsOf(int64_t from) const {
  const auto known = words.find(from);
  return known == words.end() ? std::nullopt : std::optional<std::string>(known->second);
}

} // namespace splitcast::runtime
