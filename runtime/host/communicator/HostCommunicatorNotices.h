//===- HostCommunicatorNotices.h - How ranks learn that two of them disagree ---===//
//
// If two ranks are at different calls, a third one may wait for either of them and meet no message that is wrong. So
// each rank that finds it out sends a notice to all others, and a rank that has waited for some milliseconds looks for
// notices. The notice also has the words by which the other side names the call. A rank that ends because two others
// disagree sends its words, too: another rank may have met a message of it that is wrong, and wait for them.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_COMMUNICATOR_HOSTCOMMUNICATORNOTICES_H
#define SPLITCAST_RUNTIME_HOST_COMMUNICATOR_HOSTCOMMUNICATORNOTICES_H

#include "runtime/api/Transport.h"

#include <map>
#include <optional>

namespace splitcast::runtime {

/// The tag that only notices use, the largest there is.
inline constexpr int kNoticeTag = 32767;

/// What a rank found. Ranks are numbered as in errors; texts may be cut at kTextBytes.
struct Notice {
  static constexpr size_t kTextBytes = 600;

  static constexpr int64_t kNobody = -1;

  int64_t from = 0;       ///< the rank that found it
  int64_t with = kNobody; ///< the one whose message was wrong; kNobody: the notice has only words of `from`
  std::string call;       ///< the call that `from` was in, and where it is
  std::string clause;     ///< what the two ranks do: "do not run the same collective (...)"
};

/// The notices of one transport, which outlives them.
class Notices {
public:
  /// Sends a notice to all other ranks, and does not wait. A rank that cannot be reached is left out.
  void send(Transport &transport, const Notice &notice);
  /// Returns a notice of two ranks that has arrived and was not returned before. It does not wait. Before the first
  /// call, nothing is received.
  std::optional<Notice> receive(Transport &transport);
  /// Returns the words of a rank of which a notice has been received, or nothing.
  std::optional<std::string> wordsOf(int64_t from) const;

private:
  struct Room {
    std::vector<std::byte> bytes;
    std::unique_ptr<Message> message; ///< null if none can come
  };
  void listen(Transport &transport, int64_t rank);

  std::vector<Room> sent;
  std::map<int64_t, Room> awaited; ///< by rank of the transport
  std::map<int64_t, std::string> words;
  bool isListening = false;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_COMMUNICATOR_HOSTCOMMUNICATORNOTICES_H
