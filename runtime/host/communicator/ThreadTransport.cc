#include "runtime/host/communicator/ThreadTransport.h"

#include "dialects/sbp/algebra/Sizes.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/api/TransportChecks.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

namespace splitcast::runtime {
namespace {

/// Zeroed memory with the alignment of tensors.
struct alignas(sbp::kAlignmentBytes) Line {
  std::byte bytes[sbp::kAlignmentBytes] = {};
};
using HeldLines = std::vector<Line>;

/// The state that all transports of one createThreadTransports share, including
/// those split from them. Ranks are numbered as there.
struct Family {
  struct Rank {
    std::atomic<bool> lost{false};
    std::atomic<int64_t> sentBytes{0};
    std::atomic<int64_t> sentMessages{0};
  };
  Family(int64_t size, bool sharesMemory) : ranks(size), sharesMemory(sharesMemory) {}
  std::vector<Rank> ranks;

  const bool sharesMemory;
  std::mutex memoryMutex;
  std::map<std::string, std::weak_ptr<HeldLines>> memories; ///< by the text that names their place
};

struct Content {
  Frame frame;
  std::vector<std::byte> bytes;
};

/// The messages of one sender with one tag. A receive takes a ticket when it is
/// posted, and gets the message that arrives with this number, whatever the
/// order in which receives are tested.
struct Channel {
  int64_t nextTicket = 0;
  int64_t nextArrival = 0;
  std::map<int64_t, Content> arrived;
  std::set<int64_t> abandoned; ///< the tickets of receives that were given up

  bool isIdle() const { return nextTicket == nextArrival && arrived.empty(); }
};

struct Mailbox {
  std::mutex mutex;
  std::map<std::pair<int64_t, int>, Channel> channels; ///< by sender and tag
};

/// The ranks of a group. Rank i of the group is rank rootRanks[i] of the
/// family.
struct World {
  World(std::shared_ptr<Family> family, std::vector<int64_t> rootRanks)
      : family(std::move(family)), rootRanks(std::move(rootRanks)), mailboxes(this->rootRanks.size()) {}

  bool isLost(int64_t rank) const { return family->ranks[rootRanks[rank]].lost; }

  std::shared_ptr<Family> family;
  std::vector<int64_t> rootRanks;
  std::vector<Mailbox> mailboxes;

  /// Worlds that a split has made and that some member has not fetched yet, by
  /// the number of the split and the ranks.
  struct Split {
    std::shared_ptr<World> world;
    size_t fetched = 0;
  };
  std::mutex splitMutex;
  std::map<std::pair<int64_t, std::vector<int64_t>>, Split> splits;
};

class DoneMessage final : public Message {
public:
  absl::StatusOr<bool> test() override { return true; }
};

class ReceiveMessage final : public Message {
public:
  ReceiveMessage(std::shared_ptr<World> world, int64_t to, int64_t from, int tag, std::byte *data, int64_t bytes,
                 const Frame &frame)
      : world(std::move(world)), to(to), from(from), tag(tag), data(data), bytes(bytes), frame(frame) {
    Mailbox &mailbox = this->world->mailboxes[to];
    std::lock_guard<std::mutex> lock(mailbox.mutex);
    ticket = mailbox.channels[{from, tag}].nextTicket++;
  }

  ~ReceiveMessage() override {
    if (done)
      return;
    Mailbox &mailbox = world->mailboxes[to];
    std::lock_guard<std::mutex> lock(mailbox.mutex);
    Channel &channel = mailbox.channels[{from, tag}];
    if (channel.arrived.erase(ticket) == 0)
      channel.abandoned.insert(ticket);
    else if (channel.isIdle())
      mailbox.channels.erase({from, tag});
  }

  absl::StatusOr<bool> test() override {
    if (done)
      return failure.ok() ? absl::StatusOr<bool>(true) : failure;
    // This is read first: what a rank sent before it was lost still arrives.
    bool lost = world->isLost(from);
    Content content;
    if (!take(content)) {
      if (lost)
        return absl::UnavailableError("the rank is lost");
      return false;
    }
    done = true;
    if (content.frame != frame)
      return failure = unlikeFrame(content.frame, frame);
    if (static_cast<int64_t>(content.bytes.size()) != bytes)
      return failure = wrongLength(static_cast<int64_t>(content.bytes.size()), bytes);
    if (bytes > 0)
      std::memcpy(data, content.bytes.data(), bytes);
    return true;
  }

private:
  bool take(Content &content) {
    Mailbox &mailbox = world->mailboxes[to];
    std::lock_guard<std::mutex> lock(mailbox.mutex);
    auto channel = mailbox.channels.find({from, tag});
    auto message = channel->second.arrived.find(ticket);
    if (message == channel->second.arrived.end())
      return false;
    content = std::move(message->second);
    channel->second.arrived.erase(message);
    if (channel->second.isIdle())
      mailbox.channels.erase(channel);
    return true;
  }

  std::shared_ptr<World> world;
  int64_t to, from;
  int tag;
  std::byte *data;
  int64_t bytes;
  Frame frame;
  int64_t ticket = 0;
  bool done = false;
  absl::Status failure;
};

class HeldMemory final : public SharedMemory {
public:
  HeldMemory(std::shared_ptr<HeldLines> lines, int64_t bytes) : lines(std::move(lines)), bytes(bytes) {}
  Buffer buffer() const override { return {reinterpret_cast<std::byte *>(lines->data()), bytes}; }

private:
  std::shared_ptr<HeldLines> lines;
  int64_t bytes;
};

class ThreadTransport final : public Transport {
public:
  ThreadTransport(std::shared_ptr<World> world, int64_t rank) : world(std::move(world)), self(rank) {}

  int64_t rank() const override { return self; }
  int64_t size() const override { return world->rootRanks.size(); }
  Family::Rank &mine() const { return family().ranks[world->rootRanks[self]]; }
  Family &family() const { return *world->family; }

  absl::StatusOr<std::unique_ptr<Message>> send(int64_t to, int tag, const std::byte *data, int64_t bytes,
                                                const Frame &frame) override {
    SPLITCAST_RETURN_IF_ERROR(checkMessage(*this, to, tag, bytes));
    if (world->isLost(to))
      return absl::UnavailableError("the rank is lost");
    Content content{frame, {data, data + bytes}};
    {
      Mailbox &mailbox = world->mailboxes[to];
      std::lock_guard<std::mutex> lock(mailbox.mutex);
      Channel &channel = mailbox.channels[{self, tag}];
      int64_t arrival = channel.nextArrival++;
      if (channel.abandoned.erase(arrival) == 0)
        channel.arrived.emplace(arrival, std::move(content));
      else if (channel.isIdle())
        mailbox.channels.erase({self, tag});
    }
    mine().sentBytes += bytes;
    ++mine().sentMessages;
    return std::make_unique<DoneMessage>();
  }

  absl::StatusOr<std::unique_ptr<Message>> receive(int64_t from, int tag, std::byte *data, int64_t bytes,
                                                   const Frame &frame) override {
    SPLITCAST_RETURN_IF_ERROR(checkMessage(*this, from, tag, bytes));
    return std::make_unique<ReceiveMessage>(world, self, from, tag, data, bytes, frame);
  }

  absl::Status health() override {
    if (mine().lost)
      return absl::UnavailableError("this rank is lost");
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<SharedMemory>> createShared(int64_t bytes, std::string &place) override {
    if (!family().sharesMemory)
      return nullptr;
    auto lines = std::make_shared<HeldLines>(bytes / sbp::kAlignmentBytes + 1);
    std::lock_guard<std::mutex> lock(family().memoryMutex);
    place = std::to_string(family().memories.size());
    family().memories[place] = lines;
    return std::make_unique<HeldMemory>(std::move(lines), bytes);
  }

  absl::StatusOr<std::unique_ptr<SharedMemory>> joinShared(int64_t, const std::string &place, int64_t bytes) override {
    std::lock_guard<std::mutex> lock(family().memoryMutex);
    auto found = family().memories.find(place);
    std::shared_ptr<HeldLines> lines = found == family().memories.end() ? nullptr : found->second.lock();
    if (!lines)
      return absl::UnavailableError("no rank has that memory any more");
    if (const auto held = static_cast<int64_t>(lines->size() * sizeof(Line)); bytes > held)
      return absl::InvalidArgumentError(absl::StrCat("cannot join ", bytes, " bytes of memory that has ", held,
                                                     "; pass the same number on all ranks"));
    return std::make_unique<HeldMemory>(std::move(lines), bytes);
  }

  absl::StatusOr<std::unique_ptr<Transport>> split(const std::vector<int64_t> &ranks) override {
    SPLITCAST_RETURN_IF_ERROR(checkGroup(*this, ranks));
    const int64_t me = std::find(ranks.begin(), ranks.end(), self) - ranks.begin();
    std::vector<int64_t> rootRanks;
    rootRanks.reserve(ranks.size());
    for (int64_t rank : ranks)
      rootRanks.push_back(world->rootRanks[rank]);
    std::lock_guard<std::mutex> lock(world->splitMutex);
    auto entry = world->splits.try_emplace({splitsMade++, ranks}).first;
    if (!entry->second.world)
      entry->second.world = std::make_shared<World>(world->family, std::move(rootRanks));
    std::shared_ptr<World> made = entry->second.world;
    if (++entry->second.fetched == ranks.size())
      world->splits.erase(entry);
    return std::make_unique<ThreadTransport>(std::move(made), me);
  }

private:
  std::shared_ptr<World> world;
  int64_t self;
  int64_t splitsMade = 0;
};

} // namespace

std::vector<std::unique_ptr<Transport>> createThreadTransports(int64_t ranks, bool sharesMemory) {
  std::vector<int64_t> all;
  for (int64_t rank = 0; rank < ranks; ++rank)
    all.push_back(rank);
  auto world = std::make_shared<World>(std::make_shared<Family>(ranks, sharesMemory), all);
  std::vector<std::unique_ptr<Transport>> transports;
  for (int64_t rank : all)
    transports.push_back(std::make_unique<ThreadTransport>(world, rank));
  return transports;
}

TransportCounters countersOf(const Transport &transport) {
  const Family::Rank &mine = static_cast<const ThreadTransport &>(transport).mine();
  return {mine.sentBytes, mine.sentMessages};
}

void markLost(Transport &transport, int64_t rank) {
  static_cast<ThreadTransport &>(transport).family().ranks[rank].lost = true;
}

} // namespace splitcast::runtime
