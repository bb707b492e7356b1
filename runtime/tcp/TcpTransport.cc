#include "runtime/tcp/TcpTransport.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/api/TransportChecks.h"
#include "runtime/process/OwnFiles.h"
#include "runtime/process/ProcessHealth.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <thread>

namespace splitcast::runtime {
namespace {

/// A transport's name is 16 bits for each split that led to it, after the
/// number of the job's transport. Messages carry the name, so that they reach
/// the right transport.
constexpr int kNumberBits = 16;
/// Names from here on have no room for another split.
constexpr uint64_t kDeepest = uint64_t{1} << (64 - kNumberBits);
/// A rank that waits polls for so long, and then sleeps. To be woken takes some
/// tens of microseconds; where ranks share a processor, it is worth it.
constexpr absl::Duration kPolling = absl::Microseconds(500);
/// Where a processor has more ranks than this, they poll for less: together
/// they would keep it busy for as long as each of them polls.
constexpr int64_t kPollingRanks = 2;

/// Returns how long a rank polls if so many run on this machine.
absl::Duration pollingTime(int64_t ranksHere) {
  const int64_t polling = std::max<int64_t>(1, kPollingRanks * std::thread::hardware_concurrency());
  return ranksHere <= polling ? kPolling : kPolling * polling / ranksHere;
}

template <typename Part> class TcpMessage final : public Message {
public:
  TcpMessage(std::shared_ptr<TcpMesh> mesh, std::shared_ptr<Part> part)
      : mesh(std::move(mesh)), part(std::move(part)) {}
  ~TcpMessage() override {
    if (!done)
      mesh->giveUp(*part);
  }
  absl::StatusOr<bool> test() override {
    if (done || !failure.ok())
      return failure.ok() ? absl::StatusOr<bool>(true) : failure;
    absl::StatusOr<bool> result = mesh->test(*part);
    done = result.ok() && *result;
    failure = result.status();
    return result;
  }

private:
  std::shared_ptr<TcpMesh> mesh;
  std::shared_ptr<Part> part;
  bool done = false;
  absl::Status failure;
};

class TcpTransport final : public Transport {
public:
  TcpTransport(std::shared_ptr<TcpMesh> mesh, std::vector<int64_t> ranks, int64_t self, uint64_t name)
      : mesh(std::move(mesh)), ranks(std::move(ranks)), self(self), name(name),
        polling(pollingTime(this->mesh->ranksHere())) {}

  int64_t rank() const override { return self; }
  int64_t size() const override { return static_cast<int64_t>(ranks.size()); }

  absl::StatusOr<std::unique_ptr<Message>> send(int64_t to, int tag, const std::byte *data, int64_t bytes,
                                                const Frame &frame) override {
    SPLITCAST_RETURN_IF_ERROR(checkMessage(*this, to, tag, bytes));
    return std::make_unique<TcpMessage<TcpMesh::Outgoing>>(mesh,
                                                           mesh->send(ranks[to], {name, tag}, frame, data, bytes));
  }

  absl::StatusOr<std::unique_ptr<Message>> receive(int64_t from, int tag, std::byte *data, int64_t bytes,
                                                   const Frame &frame) override {
    SPLITCAST_RETURN_IF_ERROR(checkMessage(*this, from, tag, bytes));
    return std::make_unique<TcpMessage<TcpMesh::Incoming>>(mesh,
                                                           mesh->receive(ranks[from], {name, tag}, frame, data, bytes));
  }

  absl::Status health() override {
    if (isForkedChild())
      return absl::UnavailableError(
          "this process was forked from a rank and is none itself; call Splitcast in the parent alone");
    return mesh->isConnected() ? processHealth() : absl::UnavailableError("this rank has left the job");
  }

  void idle(absl::Duration waited, absl::Duration longest) override {
    if (waited < polling)
      Transport::idle(waited, longest);
    else
      mesh->sleep(longest);
  }

  absl::StatusOr<std::unique_ptr<Transport>> split(const std::vector<int64_t> &group) override {
    SPLITCAST_RETURN_IF_ERROR(checkGroup(*this, group));
    if (splits == kMaxTransports || name >= kDeepest)
      return absl::ResourceExhaustedError(absl::StrCat("a transport can be split at most ", kMaxTransports,
                                                       " times, and splits can be nested at most three deep"));
    std::vector<int64_t> members;
    members.reserve(group.size());
    for (int64_t rank : group)
      members.push_back(ranks[rank]);
    const int64_t place = std::find(group.begin(), group.end(), self) - group.begin();
    const uint64_t split = ++splits;
    return std::make_unique<TcpTransport>(mesh, std::move(members), place, name << kNumberBits | split);
  }

private:
  std::shared_ptr<TcpMesh> mesh;
  std::vector<int64_t> ranks; ///< the ranks of the mesh, by rank of this transport
  int64_t self;
  uint64_t name;
  absl::Duration polling;
  int64_t splits = 0;
};

} // namespace

std::unique_ptr<Transport> createTcpTransport(std::shared_ptr<TcpMesh> mesh, const std::vector<int64_t> &ranks,
                                              int64_t self, int64_t number) {
  const int64_t place = std::find(ranks.begin(), ranks.end(), self) - ranks.begin();
  return std::make_unique<TcpTransport>(std::move(mesh), ranks, place, static_cast<uint64_t>(number));
}

} // namespace splitcast::runtime
