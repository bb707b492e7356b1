#include "runtime/host/communicator/HostCommunicator.h"

#include "dialects/ccl/algebra/Traffic.h"
#include "dialects/sbp/algebra/Sizes.h"
#include "runtime/api/CollectiveChecks.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/host/communicator/HostCommunicatorQueue.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

namespace splitcast::runtime {
namespace {

constexpr int64_t kMaxExchangeBytes = int64_t{1} << 30;
/// Texts that are no longer than this together go the way of HostCommunicator::spread; each rank sends longer ones to
/// each other rank, which needs no copy of all.
constexpr int64_t kMaxSpreadBytes = int64_t{1} << 20;
/// What a rank tells of its text first. A short text needs no more messages.
struct Announced {
  static constexpr int64_t kTextBytes = 120;
  int64_t bytes = 0;
  char text[kTextBytes] = {}; ///< all of it, if it has no more bytes than this
};

std::vector<int64_t> countTo(int64_t size) {
  std::vector<int64_t> numbers(size);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// The kinds of calls whose messages must not meet.
enum class Call : uint64_t {
  AllGather,
  AllGatherInPlace,
  ReduceScatter,
  AllReduce,
  AllToAll,
  Barrier,
  Lengths,
  Contents
};

/// Returns Operation::shape of a call.
uint64_t shapeOf(Call call, absl::Span<const int64_t> sizes = {}, uint64_t type = 0) {
  uint64_t shape = mixed(static_cast<uint64_t>(call), type);
  for (int64_t size : sizes)
    shape = mixed(shape, static_cast<uint64_t>(size));
  return shape;
}

/// Returns block `index` of consecutive blocks.
Buffer blockOf(Buffer data, absl::Span<const int64_t> elements, int64_t elementBytes, int64_t index) {
  int64_t begin = std::accumulate(elements.begin(), elements.begin() + index, int64_t{0});
  return data.slice(begin * elementBytes, elements[index] * elementBytes);
}

/// The memory of which the ranks of a communicator have one copy.
class SharedBuffers {
public:
  bool contain(Buffer data) const {
    return std::any_of(buffers.begin(), buffers.end(), [&](Buffer buffer) {
      return buffer.data <= data.data && data.data + data.bytes <= buffer.data + buffer.bytes;
    });
  }
  void add(Buffer buffer) { buffers.push_back(buffer); }
  void remove(Buffer buffer) {
    buffers.erase(std::remove_if(buffers.begin(), buffers.end(), [&](Buffer b) { return b.data == buffer.data; }),
                  buffers.end());
  }

private:
  std::vector<Buffer> buffers;
};

/// Shared memory that registers itself with its communicator while it exists.
class KnownMemory final : public SharedMemory {
public:
  KnownMemory(std::unique_ptr<SharedMemory> memory, std::shared_ptr<SharedBuffers> known)
      : memory(std::move(memory)), known(std::move(known)) {
    this->known->add(this->memory->buffer());
  }
  KnownMemory(const KnownMemory &) = delete;
  KnownMemory &operator=(const KnownMemory &) = delete;
  ~KnownMemory() override { known->remove(memory->buffer()); }
  Buffer buffer() const override { return memory->buffer(); }

private:
  std::unique_ptr<SharedMemory> memory;
  std::shared_ptr<SharedBuffers> known;
};

class HostCommunicator final : public Communicator {
public:
  explicit HostCommunicator(std::shared_ptr<CollectiveQueue> queue) : queue(std::move(queue)) {}

  int64_t rank() const override { return queue->transport().rank(); }
  int64_t size() const override { return queue->transport().size(); }
  int64_t numberOf(int64_t rank) const override { return queue->names()[rank]; }
  uint32_t nextSession() override { return ++queue->family()->sessions; }

  absl::StatusOr<Event> allGather(Buffer data, absl::Span<const int64_t> bytesPerRank, Stream &stream,
                                  const CallSite &site) override;
  absl::StatusOr<Event> reduceScatter(Buffer data, absl::Span<const int64_t> elementsPerRank, ElementType type,
                                      Buffer output, Buffer workspace, Stream &stream, const CallSite &site) override;
  absl::StatusOr<Event> allReduce(Buffer data, int64_t elements, ElementType type, Buffer workspace, Stream &stream,
                                  const CallSite &site) override;
  absl::StatusOr<Event> allToAll(Buffer input, absl::Span<const int64_t> inputBytesPerRank, Buffer output,
                                 absl::Span<const int64_t> outputBytesPerRank, Stream &stream,
                                 const CallSite &site) override;
  absl::StatusOr<std::unique_ptr<SharedMemory>> shareMemory(int64_t bytes, const CallSite &site) override;
  absl::Status barrier(const CallSite &site) override;
  absl::StatusOr<std::vector<std::string>> exchange(const std::string &mine, const CallSite &site) override;
  absl::StatusOr<std::unique_ptr<Communicator>> split(absl::Span<const int64_t> ranks, const CallSite &site) override;

private:
  std::vector<Lane> signalLanes() const;
  absl::Status spread(Buffer blocks, absl::Span<const int64_t> bytes, Call call, const CallSite &site);
  absl::StatusOr<std::vector<Announced>> announce(const std::string &mine, const CallSite &site);
  absl::Status exchangeLong(std::vector<std::string> &contents, const CallSite &site);
  void addGatherLanes(std::vector<Lane> &lanes, Buffer data, absl::Span<const int64_t> blocks,
                      int64_t elementBytes) const;
  void addScatterLanes(std::vector<Lane> &lanes, Buffer data, absl::Span<const int64_t> blocks, int64_t elementBytes,
                       Buffer workspace) const;
  std::unique_ptr<Operation> smallAllReduce(Buffer data, ElementType type, Buffer workspace, const CallSite &site,
                                            uint64_t shape) const;
  int64_t peer(int64_t distance) const { return peerAt(rank(), distance, size()); }

  std::shared_ptr<CollectiveQueue> queue;
  std::shared_ptr<SharedBuffers> shared = std::make_shared<SharedBuffers>();
};

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

void HostCommunicator::addGatherLanes(std::vector<Lane> &lanes, Buffer data, absl::Span<const int64_t> blocks,
                                      int64_t elementBytes) const {
  int tag = queue->nextTag();
  for (int64_t distance = 1; distance < size(); ++distance)
    lanes.push_back(Lane::send(peer(distance), tag, blockOf(data, blocks, elementBytes, rank())));
  for (int64_t distance = 1; distance < size(); ++distance)
    lanes.push_back(Lane::receive(peer(distance), tag, blockOf(data, blocks, elementBytes, peer(distance))));
}

absl::StatusOr<Event> HostCommunicator::allGather(Buffer data, absl::Span<const int64_t> bytesPerRank, Stream &,
                                                  const CallSite &site) {
  SPLITCAST_RETURN_IF_ERROR(queue->status());
  SPLITCAST_RETURN_IF_ERROR(checkAllGather(*this, data, bytesPerRank, site));
  if (data.bytes > 0 && shared->contain(data))
    return queue->start(
        std::make_unique<Operation>(site, shapeOf(Call::AllGatherInPlace, bytesPerRank), signalLanes()));
  std::vector<Lane> lanes;
  addGatherLanes(lanes, data, bytesPerRank, 1);
  return queue->start(std::make_unique<Operation>(site, shapeOf(Call::AllGather, bytesPerRank), std::move(lanes)));
}

void HostCommunicator::addScatterLanes(std::vector<Lane> &lanes, Buffer data, absl::Span<const int64_t> blocks,
                                       int64_t elementBytes, Buffer workspace) const {
  int tag = queue->nextTag();
  for (int64_t distance = 1; distance < size(); ++distance)
    lanes.push_back(Lane::send(peer(distance), tag, blockOf(data, blocks, elementBytes, peer(distance))));
  int64_t blockBytes = blocks[rank()] * elementBytes;
  int64_t peerBytes = sbp::alignUp(ccl::addendBytes(blockBytes), sbp::kAlignmentBytes);
  for (int64_t distance = 1; distance < size(); ++distance) {
    Buffer slots = workspace.slice((distance - 1) * peerBytes, peerBytes);
    lanes.push_back(Lane::readAddends(peer(distance), tag, slots, blockBytes));
  }
}

absl::StatusOr<Event> HostCommunicator::reduceScatter(Buffer data, absl::Span<const int64_t> elementsPerRank,
                                                      ElementType type, Buffer output, Buffer workspace, Stream &,
                                                      const CallSite &site) {
  SPLITCAST_RETURN_IF_ERROR(queue->status());
  SPLITCAST_RETURN_IF_ERROR(checkReduceScatter(*this, data, elementsPerRank, type, output, workspace, site));
  const int64_t own = elementsPerRank[rank()] * bytesOf(type);
  std::vector<Lane> lanes;
  addScatterLanes(lanes, data, elementsPerRank, bytesOf(type), workspace);
  Reduction reduction{rank(), blockOf(data, elementsPerRank, bytesOf(type), rank()), type};
  reduction.sum = output.slice(0, own);
  const uint64_t shape = shapeOf(Call::ReduceScatter, elementsPerRank, static_cast<uint64_t>(type));
  return queue->start(std::make_unique<ReductionOperation>(site, shape, reduction, size(), std::move(lanes)));
}

/// Every rank sends its whole tensor to every other, and sums all of it.
std::unique_ptr<Operation> HostCommunicator::smallAllReduce(Buffer data, ElementType type, Buffer workspace,
                                                            const CallSite &site, uint64_t shape) const {
  int tag = queue->nextTag();
  std::vector<Lane> lanes;
  for (int64_t distance = 1; distance < size(); ++distance)
    lanes.push_back(Lane::send(peer(distance), tag, data));
  int64_t slotBytes = sbp::alignUp(data.bytes, sbp::kAlignmentBytes);
  for (int64_t distance = 1; distance < size(); ++distance)
    lanes.push_back(Lane::receiveAddend(peer(distance), tag, workspace.slice((distance - 1) * slotBytes, data.bytes)));
  Reduction reduction{rank(), data, type};
  reduction.sendsBlock = true;
  return std::make_unique<ReductionOperation>(site, shape, reduction, size(), std::move(lanes));
}

absl::StatusOr<Event> HostCommunicator::allReduce(Buffer data, int64_t elements, ElementType type, Buffer workspace,
                                                  Stream &, const CallSite &site) {
  SPLITCAST_RETURN_IF_ERROR(queue->status());
  SPLITCAST_RETURN_IF_ERROR(checkAllReduce(*this, data, elements, type, workspace, site));
  const std::vector<int64_t> blocks = allReduceBlocks(*this, elements);
  const int64_t bytes = elements * bytesOf(type);
  const uint64_t shape = shapeOf(Call::AllReduce, {elements}, static_cast<uint64_t>(type));
  if (bytes <= ccl::kSmallAllReduceBytes)
    return queue->start(smallAllReduce(data.slice(0, bytes), type, workspace, site, shape));
  std::vector<Lane> lanes;
  addScatterLanes(lanes, data, blocks, bytesOf(type), workspace);
  addGatherLanes(lanes, data, blocks, bytesOf(type));
  Reduction reduction{rank(), blockOf(data, blocks, bytesOf(type), rank()), type};
  reduction.gathers = true;
  return queue->start(std::make_unique<ReductionOperation>(site, shape, reduction, size(), std::move(lanes)));
}

absl::StatusOr<Event> HostCommunicator::allToAll(Buffer input, absl::Span<const int64_t> inputBytesPerRank,
                                                 Buffer output, absl::Span<const int64_t> outputBytesPerRank, Stream &,
                                                 const CallSite &site) {
  SPLITCAST_RETURN_IF_ERROR(queue->status());
  SPLITCAST_RETURN_IF_ERROR(checkAllToAll(*this, input, inputBytesPerRank, output, outputBytesPerRank, site));
  Buffer from = blockOf(input, inputBytesPerRank, 1, rank()), to = blockOf(output, outputBytesPerRank, 1, rank());
  std::vector<Lane> lanes;
  int tag = queue->nextTag();
  for (int64_t distance = 1; distance < size(); ++distance)
    lanes.push_back(Lane::send(peer(distance), tag, blockOf(input, inputBytesPerRank, 1, peer(distance))));
  for (int64_t distance = 1; distance < size(); ++distance)
    lanes.push_back(Lane::receive(peer(distance), tag, blockOf(output, outputBytesPerRank, 1, peer(distance))));
  absl::StatusOr<Event> event =
      queue->start(std::make_unique<Operation>(site, shapeOf(Call::AllToAll), std::move(lanes)));
  if (event.ok() && to.bytes > 0)
    std::memcpy(to.data, from.data, to.bytes);
  return event;
}

//===----------------------------------------------------------------------===//
// Calls that block
//===----------------------------------------------------------------------===//

// Every rank signals every other rank. A tree would take fewer messages, but a
// rank would not know which one is late.
std::vector<Lane> HostCommunicator::signalLanes() const {
  std::vector<Lane> lanes;
  int tag = queue->nextTag();
  for (bool receives : {false, true})
    for (int64_t distance = 1; distance < size(); ++distance)
      lanes.push_back(Lane::signal(receives, peer(distance), tag));
  return lanes;
}

absl::Status HostCommunicator::barrier(const CallSite &site) {
  SPLITCAST_RETURN_IF_ERROR(queue->status());
  return queue->run(std::make_unique<Operation>(site, shapeOf(Call::Barrier), signalLanes()));
}

// Rank 0 creates the memory and tells its place, by which the others join. Then
// all exchange their errors.
absl::StatusOr<std::unique_ptr<SharedMemory>> HostCommunicator::shareMemory(int64_t bytes, const CallSite &site) {
  std::string place;
  absl::StatusOr<std::unique_ptr<SharedMemory>> memory = nullptr;
  if (rank() == 0)
    memory = queue->transport().createShared(bytes, place);
  const bool hasNone = memory.ok() && !*memory;
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<std::string> places, exchange(rank() == 0 && hasNone ? "none" : place, site));
  if (places.front() == "none")
    return nullptr;
  if (rank() != 0 && !places.front().empty())
    memory = queue->transport().joinShared(0, places.front(), bytes);
  const absl::Status mine = memory.ok() && *memory ? (*memory)->populate() : memory.status();
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<std::string> failures, exchange(std::string(mine.message()), site));
  for (int64_t r = 0; r < size(); ++r)
    if (!failures[r].empty())
      return absl::ResourceExhaustedError(
          absl::StrCat(site.what, ": rank ", queue->names()[r], " cannot share the memory: ", failures[r]));
  return std::make_unique<KnownMemory>(*std::move(memory), shared);
}

/// Fills blocks that lie in the order of peer(0), peer(1), ..., of `bytes` bytes each; the first is this rank's. With a
/// fanOut() of 8, each of 256 ranks receives 7 blocks, then 7 times 8 blocks, then 3 times 64. If all sent to all,
/// messages would grow with the square of the ranks, and those of one machine would be busy for seconds. As many ranks
/// as the fanOut() do send to all: each then knows which one is late.
absl::Status HostCommunicator::spread(Buffer blocks, absl::Span<const int64_t> bytes, Call call, const CallSite &site) {
  std::vector<int64_t> begins(1, 0);
  for (int64_t block : bytes)
    begins.push_back(begins.back() + block);
  const int64_t factor = queue->transport().fanOut();
  for (int64_t known = 1; known < size(); known *= factor) {
    const int tag = queue->nextTag();
    const int64_t end = std::min(size(), known * factor);
    std::vector<Lane> lanes;
    for (int64_t distance = known; distance < end; distance += known)
      lanes.push_back(
          Lane::send(peer(size() - distance), tag, blocks.slice(0, begins[std::min(known, size() - distance)])));
    for (int64_t distance = known; distance < end; distance += known) {
      const int64_t last = std::min(distance + known, size());
      lanes.push_back(
          Lane::receive(peer(distance), tag, blocks.slice(begins[distance], begins[last] - begins[distance])));
    }
    auto round = std::make_unique<Operation>(site, shapeOf(call, {known}), std::move(lanes));
    round->relays = size() > factor;
    SPLITCAST_RETURN_IF_ERROR(queue->run(std::move(round)));
  }
  return absl::OkStatus();
}

/// Returns what the ranks tell of their texts, in the order of peer(0), peer(1), ...
absl::StatusOr<std::vector<Announced>> HostCommunicator::announce(const std::string &mine, const CallSite &site) {
  std::vector<Announced> told(size());
  told.front().bytes = static_cast<int64_t>(mine.size());
  std::memcpy(told.front().text, mine.data(), std::min<size_t>(mine.size(), Announced::kTextBytes));
  const Buffer all{reinterpret_cast<std::byte *>(told.data()), size() * static_cast<int64_t>(sizeof(Announced))};
  SPLITCAST_RETURN_IF_ERROR(spread(all, std::vector<int64_t>(size(), sizeof(Announced)), Call::Lengths, site));
  for (const Announced &one : told)
    if (one.bytes < 0 || one.bytes > kMaxExchangeBytes)
      return queue->die(absl::FailedPreconditionError(
          absl::StrCat(site.what, ": a rank announced ", one.bytes,
                       " bytes, so the ranks run different programs; start the same one on all ranks")));
  return told;
}

/// Each rank sends to each other one: this takes no copy of all contents.
absl::Status HostCommunicator::exchangeLong(std::vector<std::string> &contents, const CallSite &site) {
  const auto bufferOf = [&](int64_t r) {
    return Buffer{reinterpret_cast<std::byte *>(contents[r].data()), static_cast<int64_t>(contents[r].size())};
  };
  const int tag = queue->nextTag();
  std::vector<Lane> lanes;
  for (int64_t distance = 1; distance < size(); ++distance)
    lanes.push_back(Lane::send(peer(distance), tag, bufferOf(rank())));
  for (int64_t distance = 1; distance < size(); ++distance)
    lanes.push_back(Lane::receive(peer(distance), tag, bufferOf(peer(distance))));
  return queue->run(std::make_unique<Operation>(site, shapeOf(Call::Contents), std::move(lanes)));
}

absl::StatusOr<std::vector<std::string>> HostCommunicator::exchange(const std::string &mine, const CallSite &site) {
  SPLITCAST_RETURN_IF_ERROR(queue->status());
  if (static_cast<int64_t>(mine.size()) > kMaxExchangeBytes)
    return invalidCall(
        site, absl::StrCat("cannot exchange ", mine.size(), " bytes; at most ", kMaxExchangeBytes, " are allowed"));
  SPLITCAST_ASSIGN_OR_RETURN(const std::vector<Announced> told, announce(mine, site));
  std::vector<int64_t> lengths;
  for (const Announced &one : told)
    lengths.push_back(one.bytes);
  std::vector<std::string> contents(size());
  contents[rank()] = mine;
  if (*std::max_element(lengths.begin(), lengths.end()) <= Announced::kTextBytes) {
    for (int64_t distance = 1; distance < size(); ++distance)
      contents[peer(distance)].assign(told[distance].text, lengths[distance]);
    return contents;
  }
  const int64_t total = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  if (total > kMaxSpreadBytes) {
    for (int64_t distance = 1; distance < size(); ++distance)
      contents[peer(distance)].resize(lengths[distance]);
    SPLITCAST_RETURN_IF_ERROR(exchangeLong(contents, site));
    return contents;
  }
  std::string all = mine;
  all.resize(total);
  SPLITCAST_RETURN_IF_ERROR(spread({reinterpret_cast<std::byte *>(all.data()), total}, lengths, Call::Contents, site));
  for (int64_t distance = 1, begin = lengths.front(); distance < size(); begin += lengths[distance++])
    contents[peer(distance)] = all.substr(begin, lengths[distance]);
  return contents;
}

/// Parses the groups of all ranks, as they were exchanged. Returns an error if
/// a group is wrong, or if its members do not agree on it.
absl::StatusOr<std::vector<std::vector<int64_t>>> readGroups(const std::vector<std::string> &texts,
                                                             const CallSite &site) {
  int64_t size = texts.size();
  std::vector<std::vector<int64_t>> groups(size);
  for (int64_t r = 0; r < size; ++r) {
    for (absl::string_view number : absl::StrSplit(texts[r], ',', absl::SkipEmpty())) {
      int64_t member = -1;
      if (!absl::SimpleAtoi(number, &member) || member < 0 || member >= size)
        return invalidCall(
            site, absl::StrCat("rank ", r, " asks for the group [", texts[r], "], but the ranks are 0 to ", size - 1));
      groups[r].push_back(member);
    }
    std::set<int64_t> members(groups[r].begin(), groups[r].end());
    if (members.size() != groups[r].size() || members.count(r) == 0)
      return invalidCall(site, absl::StrCat("rank ", r, " asks for the group [", texts[r],
                                            "]; a group must name each member once, and the rank itself"));
  }
  for (int64_t r = 0; r < size; ++r)
    for (int64_t member : groups[r])
      if (groups[member] != groups[r])
        return invalidCall(site,
                           absl::StrCat("rank ", r, " asks for the group [", texts[r], "], but its member ", member,
                                        " asks for [", texts[member], "]; all members must ask for the same group"));
  return groups;
}

// The groups are compared first, so that either all ranks split the transport,
// or none does.
absl::StatusOr<std::unique_ptr<Communicator>> HostCommunicator::split(absl::Span<const int64_t> ranks,
                                                                      const CallSite &site) {
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<std::string> texts, exchange(absl::StrJoin(ranks, ","), site));
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<std::vector<int64_t>> groups, readGroups(texts, site));
  const std::vector<int64_t> &mine = groups[rank()];
  SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<Transport> transport, queue->transport().split(mine));
  std::vector<int64_t> names;
  for (int64_t member : mine)
    names.push_back(queue->names()[member]);
  return std::make_unique<HostCommunicator>(
      std::make_shared<CollectiveQueue>(std::move(transport), queue->options(), std::move(names), queue->family()));
}

} // namespace

std::unique_ptr<Communicator> createHostCommunicator(std::unique_ptr<Transport> transport,
                                                     const HostCommunicatorOptions &options) {
  std::vector<int64_t> names = countTo(transport->size());
  return std::make_unique<HostCommunicator>(std::make_shared<CollectiveQueue>(
      std::move(transport), options, std::move(names), std::make_shared<CollectiveQueue::Family>()));
}

} // namespace splitcast::runtime
