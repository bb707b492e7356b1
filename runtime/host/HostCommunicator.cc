#include "runtime/host/HostCommunicator.h"

#include "dialects/sbp/algebra/Boxing.h"
#include "runtime/host/HostCommunicatorQueue.h"

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

std::vector<int64_t> countTo(int64_t size) {
  std::vector<int64_t> numbers(size);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// Where block `index` of blocks that lie in a row is, in bytes.
Buffer blockOf(Buffer data, absl::Span<const int64_t> elements, int64_t elementBytes, int64_t index) {
  int64_t begin = std::accumulate(elements.begin(), elements.begin() + index, int64_t{0});
  return data.slice(begin * elementBytes, elements[index] * elementBytes);
}

class HostCommunicator final : public Communicator {
public:
  explicit HostCommunicator(std::shared_ptr<CollectiveQueue> queue) : queue(std::move(queue)) {}

  int64_t rank() const override { return queue->transport().rank(); }
  int64_t size() const override { return queue->transport().size(); }

  absl::StatusOr<Event> allGather(Buffer data, absl::Span<const int64_t> bytesPerRank, Stream &stream,
                                  const CallSite &site) override;
  absl::StatusOr<Event> reduceScatter(Buffer data, absl::Span<const int64_t> elementsPerRank, ElementType type,
                                      Buffer output, Buffer workspace, Stream &stream, const CallSite &site) override;
  absl::StatusOr<Event> allReduce(Buffer data, int64_t elements, ElementType type, Buffer workspace, Stream &stream,
                                  const CallSite &site) override;
  absl::StatusOr<Event> allToAll(Buffer input, absl::Span<const int64_t> inputBytesPerRank, Buffer output,
                                 absl::Span<const int64_t> outputBytesPerRank, Stream &stream,
                                 const CallSite &site) override;
  absl::Status barrier(const CallSite &site) override;
  absl::StatusOr<std::vector<std::string>> exchange(const std::string &mine, const CallSite &site) override;
  absl::StatusOr<std::unique_ptr<Communicator>> split(absl::Span<const int64_t> ranks, const CallSite &site) override;

private:
  absl::Status check(const CallSite &site, const char *name, Buffer data, absl::Span<const int64_t> elements,
                     int64_t elementBytes) const;
  absl::Status checkReduction(const CallSite &site, Buffer data, absl::Span<const int64_t> blocks,
                              ElementType type) const;
  absl::Status checkWorkspace(const CallSite &site, Buffer workspace, int64_t needed, int64_t elementBytes) const;

  void addGatherLanes(std::vector<Lane> &lanes, Buffer data, absl::Span<const int64_t> blocks,
                      int64_t elementBytes) const;
  void addScatterLanes(std::vector<Lane> &lanes, Buffer data, absl::Span<const int64_t> blocks, int64_t elementBytes,
                       Buffer workspace) const;
  std::unique_ptr<Operation> smallAllReduce(Buffer data, ElementType type, Buffer workspace,
                                            const CallSite &site) const;
  int64_t peer(int64_t distance) const { return peerAt(rank(), distance, size()); }

  std::shared_ptr<CollectiveQueue> queue;
};

//===----------------------------------------------------------------------===//
// Checks: what is wrong with a call, before anything is sent
//===----------------------------------------------------------------------===//

absl::Status invalid(const CallSite &site, absl::string_view found) {
  return absl::InvalidArgumentError(absl::StrCat(site.what, ": ", found));
}

bool isAligned(Buffer data, int64_t alignment) { return reinterpret_cast<uintptr_t>(data.data) % alignment == 0; }

absl::Status HostCommunicator::check(const CallSite &site, const char *name, Buffer data,
                                     absl::Span<const int64_t> elements, int64_t elementBytes) const {
  if (static_cast<int64_t>(elements.size()) != size())
    return invalid(site, absl::StrCat(name, " has ", elements.size(), " blocks; give one per rank, ", size()));
  int64_t left = data.bytes / elementBytes;
  for (int64_t block : elements) {
    if (block < 0)
      return invalid(site, absl::StrCat(name, " has a block of ", block, " elements; the least is 0"));
    if (block > left)
      return invalid(site, absl::StrCat(name, " has ", data.bytes, " bytes, less than its blocks of ",
                                        absl::StrJoin(elements, ", "), " elements of ", elementBytes, " bytes"));
    left -= block;
  }
  if (!data.data && data.bytes / elementBytes > left)
    return invalid(site, absl::StrCat(name, " has no address but blocks that are not empty"));
  if (!isAligned(data, elementBytes))
    return invalid(site, absl::StrCat(name, " is not aligned to its elements of ", elementBytes, " bytes"));
  return absl::OkStatus();
}

absl::Status HostCommunicator::checkReduction(const CallSite &site, Buffer data, absl::Span<const int64_t> blocks,
                                              ElementType type) const {
  if (type != ElementType::F32 && type != ElementType::F64)
    return invalid(site, absl::StrCat("sums are of f32 or f64, not ", nameOf(type), "; cast before and after"));
  return check(site, "data", data, blocks, bytesOf(type));
}

absl::Status HostCommunicator::checkWorkspace(const CallSite &site, Buffer workspace, int64_t needed,
                                              int64_t elementBytes) const {
  if (workspace.bytes < needed)
    return invalid(site, absl::StrCat("the workspace has ", workspace.bytes, " bytes; at rank ", rank(), " of ", size(),
                                      " this takes ", needed));
  if (needed > 0 && (!workspace.data || !isAligned(workspace, elementBytes)))
    return invalid(site, absl::StrCat("the workspace is not aligned to elements of ", elementBytes, " bytes"));
  return absl::OkStatus();
}

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
  if (!queue->status().ok())
    return queue->status();
  if (absl::Status status = check(site, "data", data, bytesPerRank, 1); !status.ok())
    return status;
  std::vector<Lane> lanes;
  addGatherLanes(lanes, data, bytesPerRank, 1);
  return queue->start(std::make_unique<Operation>(site, std::move(lanes)));
}

void HostCommunicator::addScatterLanes(std::vector<Lane> &lanes, Buffer data, absl::Span<const int64_t> blocks,
                                       int64_t elementBytes, Buffer workspace) const {
  int tag = queue->nextTag();
  for (int64_t distance = 1; distance < size(); ++distance)
    lanes.push_back(Lane::send(peer(distance), tag, blockOf(data, blocks, elementBytes, peer(distance))));
  int64_t blockBytes = blocks[rank()] * elementBytes;
  int64_t slotBytes = sbp::alignUp(std::min(blockBytes, sbp::kChunkBytes), sbp::kAlignmentBytes);
  int64_t peerBytes = Lane::kSlots * slotBytes;
  for (int64_t distance = 1; distance < size(); ++distance) {
    Buffer slots = workspace.slice((distance - 1) * peerBytes, peerBytes);
    lanes.push_back(Lane::receiveIntoSlots(peer(distance), tag, slots, blockBytes));
  }
}

absl::StatusOr<Event> HostCommunicator::reduceScatter(Buffer data, absl::Span<const int64_t> elementsPerRank,
                                                      ElementType type, Buffer output, Buffer workspace, Stream &,
                                                      const CallSite &site) {
  if (!queue->status().ok())
    return queue->status();
  if (absl::Status status = checkReduction(site, data, elementsPerRank, type); !status.ok())
    return status;
  int64_t own = elementsPerRank[rank()] * bytesOf(type);
  if (output.bytes < own || (own > 0 && !isAligned(output, bytesOf(type))))
    return invalid(site, absl::StrCat("the output has ", output.bytes, " bytes at ",
                                      absl::Hex(reinterpret_cast<uintptr_t>(output.data)), "; it needs ", own,
                                      ", aligned to its elements"));
  std::vector<int64_t> blockBytes;
  for (int64_t elements : elementsPerRank)
    blockBytes.push_back(elements * bytesOf(type));
  int64_t needed = sbp::reduceScatterWorkspace(blockBytes, rank());
  if (absl::Status status = checkWorkspace(site, workspace, needed, bytesOf(type)); !status.ok())
    return status;
  std::vector<Lane> lanes;
  addScatterLanes(lanes, data, elementsPerRank, bytesOf(type), workspace);
  Reduction reduction{rank(), blockOf(data, elementsPerRank, bytesOf(type), rank()), type};
  reduction.sum = output.slice(0, own);
  return queue->start(std::make_unique<ReductionOperation>(site, reduction, size(), std::move(lanes)));
}

/// The whole tensor goes to every rank, and every rank sums all of it.
std::unique_ptr<Operation> HostCommunicator::smallAllReduce(Buffer data, ElementType type, Buffer workspace,
                                                            const CallSite &site) const {
  int tag = queue->nextTag();
  std::vector<Lane> lanes;
  for (int64_t distance = 1; distance < size(); ++distance)
    lanes.push_back(Lane::send(peer(distance), tag, data));
  int64_t slotBytes = sbp::alignUp(data.bytes, sbp::kAlignmentBytes);
  for (int64_t distance = 1; distance < size(); ++distance)
    lanes.push_back(Lane::receive(peer(distance), tag, workspace.slice((distance - 1) * slotBytes, data.bytes)));
  Reduction reduction{rank(), data, type};
  reduction.sendsBlock = true;
  return std::make_unique<ReductionOperation>(site, reduction, size(), std::move(lanes));
}

absl::StatusOr<Event> HostCommunicator::allReduce(Buffer data, int64_t elements, ElementType type, Buffer workspace,
                                                  Stream &, const CallSite &site) {
  if (!queue->status().ok())
    return queue->status();
  std::vector<int64_t> blocks;
  for (int64_t r = 0; r < size(); ++r)
    blocks.push_back(elements < 0 ? elements : sbp::pieceOf(elements, size(), r).count);
  if (absl::Status status = checkReduction(site, data, blocks, type); !status.ok())
    return status;
  int64_t bytes = elements * bytesOf(type);
  int64_t needed = sbp::allReduceWorkspace(elements, bytesOf(type), size(), rank());
  if (absl::Status status = checkWorkspace(site, workspace, needed, bytesOf(type)); !status.ok())
    return status;
  if (bytes <= sbp::kSmallAllReduceBytes)
    return queue->start(smallAllReduce(data.slice(0, bytes), type, workspace, site));
  std::vector<Lane> lanes;
  addScatterLanes(lanes, data, blocks, bytesOf(type), workspace);
  addGatherLanes(lanes, data, blocks, bytesOf(type));
  Reduction reduction{rank(), blockOf(data, blocks, bytesOf(type), rank()), type};
  reduction.gathers = true;
  return queue->start(std::make_unique<ReductionOperation>(site, reduction, size(), std::move(lanes)));
}

absl::StatusOr<Event> HostCommunicator::allToAll(Buffer input, absl::Span<const int64_t> inputBytesPerRank,
                                                 Buffer output, absl::Span<const int64_t> outputBytesPerRank, Stream &,
                                                 const CallSite &site) {
  if (!queue->status().ok())
    return queue->status();
  if (absl::Status status = check(site, "input", input, inputBytesPerRank, 1); !status.ok())
    return status;
  if (absl::Status status = check(site, "output", output, outputBytesPerRank, 1); !status.ok())
    return status;
  Buffer from = blockOf(input, inputBytesPerRank, 1, rank()), to = blockOf(output, outputBytesPerRank, 1, rank());
  if (from.bytes != to.bytes)
    return invalid(site,
                   absl::StrCat("rank ", rank(), " has ", from.bytes, " bytes for itself and expects ", to.bytes));
  std::vector<Lane> lanes;
  int tag = queue->nextTag();
  for (int64_t distance = 1; distance < size(); ++distance)
    lanes.push_back(Lane::send(peer(distance), tag, blockOf(input, inputBytesPerRank, 1, peer(distance))));
  for (int64_t distance = 1; distance < size(); ++distance)
    lanes.push_back(Lane::receive(peer(distance), tag, blockOf(output, outputBytesPerRank, 1, peer(distance))));
  absl::StatusOr<Event> event = queue->start(std::make_unique<Operation>(site, std::move(lanes)));
  if (event.ok() && to.bytes > 0)
    std::memcpy(to.data, from.data, to.bytes);
  return event;
}

//===----------------------------------------------------------------------===//
// What the host itself waits for
//===----------------------------------------------------------------------===//

// Every rank signals every other, and not a few as in a tree: so that each knows which rank is late.
absl::Status HostCommunicator::barrier(const CallSite &site) {
  if (!queue->status().ok())
    return queue->status();
  std::vector<Lane> lanes;
  int tag = queue->nextTag();
  for (bool receives : {false, true})
    for (int64_t distance = 1; distance < size(); ++distance)
      lanes.push_back(Lane::signal(receives, peer(distance), tag));
  return queue->run(std::make_unique<Operation>(site, std::move(lanes)));
}

absl::StatusOr<std::vector<std::string>> HostCommunicator::exchange(const std::string &mine, const CallSite &site) {
  if (!queue->status().ok())
    return queue->status();
  if (static_cast<int64_t>(mine.size()) > kMaxExchangeBytes)
    return invalid(site, absl::StrCat(mine.size(), " bytes are too many to exchange; the most is ", kMaxExchangeBytes));
  std::vector<int64_t> lengths(size());
  lengths[rank()] = mine.size();
  std::vector<Lane> lanes;
  Buffer all{reinterpret_cast<std::byte *>(lengths.data()), size() * static_cast<int64_t>(sizeof(int64_t))};
  addGatherLanes(lanes, all, std::vector<int64_t>(size(), 1), sizeof(int64_t));
  if (absl::Status status = queue->run(std::make_unique<Operation>(site, std::move(lanes))); !status.ok())
    return status;

  std::vector<std::string> contents;
  for (int64_t length : lengths) {
    if (length < 0 || length > kMaxExchangeBytes)
      return queue->die(absl::FailedPreconditionError(
          absl::StrCat(site.what, ": a rank announced ", length, " bytes; the ranks do not run the same program")));
    contents.emplace_back(length, '\0');
  }
  contents[rank()] = mine;
  auto bufferOf = [&](int64_t r) { return Buffer{reinterpret_cast<std::byte *>(contents[r].data()), lengths[r]}; };
  lanes.clear();
  int tag = queue->nextTag();
  for (int64_t distance = 1; distance < size(); ++distance)
    lanes.push_back(Lane::send(peer(distance), tag, bufferOf(rank())));
  for (int64_t distance = 1; distance < size(); ++distance)
    lanes.push_back(Lane::receive(peer(distance), tag, bufferOf(peer(distance))));
  if (absl::Status status = queue->run(std::make_unique<Operation>(site, std::move(lanes))); !status.ok())
    return status;
  return contents;
}

/// The groups that all ranks ask for, as they were exchanged, or what is wrong with one of them.
absl::StatusOr<std::vector<std::vector<int64_t>>> readGroups(const std::vector<std::string> &texts,
                                                             const CallSite &site) {
  int64_t size = texts.size();
  std::vector<std::vector<int64_t>> groups(size);
  for (int64_t r = 0; r < size; ++r) {
    for (absl::string_view number : absl::StrSplit(texts[r], ',', absl::SkipEmpty())) {
      int64_t member = -1;
      if (!absl::SimpleAtoi(number, &member) || member < 0 || member >= size)
        return invalid(site, absl::StrCat("rank ", r, " asks for the group [", texts[r], "] of ", size, " ranks"));
      groups[r].push_back(member);
    }
    std::set<int64_t> members(groups[r].begin(), groups[r].end());
    if (members.size() != groups[r].size() || members.count(r) == 0)
      return invalid(site, absl::StrCat("rank ", r, " asks for the group [", texts[r],
                                        "]; a group names its members once, among them the rank itself"));
  }
  for (int64_t r = 0; r < size; ++r)
    for (int64_t member : groups[r])
      if (groups[member] != groups[r])
        return invalid(site, absl::StrCat("rank ", r, " asks for the group [", texts[r], "], and its member ", member,
                                          " for [", texts[member], "]; all members of a group ask for the same"));
  return groups;
}

// The groups are compared first, so that all ranks go on to the split of the transport, or none.
absl::StatusOr<std::unique_ptr<Communicator>> HostCommunicator::split(absl::Span<const int64_t> ranks,
                                                                      const CallSite &site) {
  absl::StatusOr<std::vector<std::string>> texts = exchange(absl::StrJoin(ranks, ","), site);
  if (!texts.ok())
    return texts.status();
  auto groups = readGroups(*texts, site);
  if (!groups.ok())
    return groups.status();
  const std::vector<int64_t> &mine = (*groups)[rank()];
  absl::StatusOr<std::unique_ptr<Transport>> transport = queue->transport().split(mine);
  if (!transport.ok())
    return transport.status();
  std::vector<int64_t> names;
  for (int64_t member : mine)
    names.push_back(queue->names()[member]);
  return std::make_unique<HostCommunicator>(
      std::make_shared<CollectiveQueue>(*std::move(transport), queue->options(), std::move(names), queue->siblings()));
}

} // namespace

std::unique_ptr<Communicator> createHostCommunicator(std::unique_ptr<Transport> transport,
                                                     HostCommunicatorOptions options) {
  std::vector<int64_t> names = countTo(transport->size());
  return std::make_unique<HostCommunicator>(std::make_shared<CollectiveQueue>(
      std::move(transport), options, std::move(names), std::make_shared<CollectiveQueue::Siblings>()));
}

} // namespace splitcast::runtime
