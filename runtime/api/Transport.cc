#include "runtime/api/Transport.h"

#include "runtime/api/StatusMacros.h"

#include <sched.h>

namespace splitcast::runtime {
namespace {

/// A reading by ordinary receive: the data lies in `room`, so there is nothing
/// to release.
class ReceivedReading final : public Reading {
public:
  ReceivedReading(std::unique_ptr<Message> received, const std::byte *room)
      : received(std::move(received)), room(room) {}

  absl::StatusOr<bool> test() override {
    if (received) {
      absl::StatusOr<bool> done = received->test();
      if (!done.ok() || !*done)
        return done;
      received.reset();
    }
    return true;
  }
  const std::byte *data() const override { return room; }
  void release() override {}

private:
  std::unique_ptr<Message> received; ///< null once it has arrived
  const std::byte *room;
};

} // namespace

absl::StatusOr<std::unique_ptr<Reading>> Transport::read(int64_t from, int tag, std::byte *room, int64_t bytes,
                                                         const Frame &frame) {
  SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<Message> received, receive(from, tag, room, bytes, frame));
  return std::make_unique<ReceivedReading>(std::move(received), room);
}

absl::StatusOr<std::unique_ptr<SharedMemory>> Transport::createShared(int64_t, std::string &) { return nullptr; }

absl::StatusOr<std::unique_ptr<SharedMemory>> Transport::joinShared(int64_t, const std::string &, int64_t) {
  return absl::UnavailableError("ranks of this transport have no memory in common");
}

int64_t Transport::fanOut() const { return 8; }

void Transport::idle(absl::Duration, absl::Duration) { sched_yield(); }

} // namespace splitcast::runtime
