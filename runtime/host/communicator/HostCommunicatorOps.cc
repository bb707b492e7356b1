#include "runtime/host/communicator/HostCommunicatorOps.h"

#include "dialects/ccl/algebra/Traffic.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/host/communicator/TreeSum.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstring>

namespace splitcast::runtime {
namespace {

/// How many messages of a lane may be in flight. They are enough that a peer
/// that computes finds plenty to receive once it polls, and few enough that the
/// queues of the transport stay short.
constexpr int64_t kWindowMessages = 64;

int64_t chunksOf(int64_t bytes) { return (bytes + ccl::kChunkBytes - 1) / ccl::kChunkBytes; }

} // namespace

//===----------------------------------------------------------------------===//
// Lane
//===----------------------------------------------------------------------===//

Lane Lane::receive(int64_t peer, int tag, Buffer block) {
  Lane lane;
  lane.isReceive = true;
  lane.peerRank = peer;
  lane.tag = tag;
  lane.data = block.data;
  lane.bytes = block.bytes;
  lane.chunks = lane.allowed = chunksOf(block.bytes);
  return lane;
}

Lane Lane::send(int64_t peer, int tag, Buffer block) {
  Lane lane = receive(peer, tag, block);
  lane.isReceive = false;
  return lane;
}

Lane Lane::readAddends(int64_t peer, int tag, Buffer slots, int64_t bytes) {
  Lane lane = receiveAddend(peer, tag, {slots.data, bytes});
  lane.leavesThere = lane.usesSlots = true;
  lane.allowed = std::min(lane.chunks, kSlots);
  return lane;
}

Lane Lane::receiveAddend(int64_t peer, int tag, Buffer room) {
  Lane lane = receive(peer, tag, room);
  lane.reads = true;
  return lane;
}

Lane Lane::signal(bool receives, int64_t peer, int tag) {
  Lane lane = receive(peer, tag, {});
  lane.isReceive = receives;
  lane.chunks = lane.allowed = 1;
  return lane;
}

Buffer Lane::chunk(int64_t index) const {
  int64_t begin = index * ccl::kChunkBytes;
  int64_t offset = usesSlots ? index % kSlots * ccl::kChunkBytes : begin;
  return {data + offset, std::min(bytes - begin, ccl::kChunkBytes)};
}

absl::StatusOr<bool> Lane::testMessages() {
  size_t completed = 0;
  for (; completed < underWay.size(); ++completed) {
    SPLITCAST_ASSIGN_OR_RETURN(bool done, underWay[completed]->test());
    if (!done)
      break;
  }
  underWay.erase(underWay.begin(), underWay.begin() + completed);
  doneChunks += completed;
  return completed > 0;
}

absl::StatusOr<bool> Lane::testReadings() {
  const int64_t hadArrived = arrivedChunks, wereDone = doneChunks;
  while (doneChunks < releasedChunks) {
    SPLITCAST_ASSIGN_OR_RETURN(bool done, readings.front()->test());
    if (!done)
      break;
    readings.erase(readings.begin());
    ++doneChunks;
  }
  while (arrivedChunks < postedChunks) {
    SPLITCAST_ASSIGN_OR_RETURN(bool here, readings[arrivedChunks - doneChunks]->test());
    if (!here)
      break;
    ++arrivedChunks;
  }
  return arrivedChunks > hadArrived || doneChunks > wereDone;
}

absl::Status Lane::post(Transport &transport) {
  const Buffer next = chunk(postedChunks);
  if (reads) {
    SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<Reading> reading,
                               leavesThere ? transport.read(peerRank, tag, next.data, next.bytes, frame)
                                           : transport.Transport::read(peerRank, tag, next.data, next.bytes, frame));
    readings.push_back(std::move(reading));
    return absl::OkStatus();
  }
  SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<Message> message,
                             isReceive ? transport.receive(peerRank, tag, next.data, next.bytes, frame)
                                       : transport.send(peerRank, tag, next.data, next.bytes, frame));
  underWay.push_back(std::move(message));
  return absl::OkStatus();
}

absl::StatusOr<bool> Lane::advance(Transport &transport) {
  SPLITCAST_ASSIGN_OR_RETURN(bool moved, reads ? testReadings() : testMessages());
  for (; postedChunks < std::min(allowed, chunks) && postedChunks - doneChunks < kWindowMessages; ++postedChunks)
    SPLITCAST_RETURN_IF_ERROR(post(transport));
  return moved;
}

//===----------------------------------------------------------------------===//
// Operation
//===----------------------------------------------------------------------===//

void Operation::stamp(Frame frame, const std::vector<int64_t> &numbers) {
  for (Lane &lane : lanes) {
    const auto number = static_cast<size_t>(numbers[lane.peer()]);
    frame.alike = site.during && number < site.during->alike.size() ? site.during->alike[number] : 0;
    lane.setFrame(frame);
  }
}

std::string Operation::describe() const {
  if (!site.during)
    return site.what;
  const Activity &during = *site.during;
  if (during.function.empty())
    return absl::StrCat(site.what, " of session ", during.session, " after ", during.run, " runs");
  const std::string values = during.values ? during.values() : "";
  return absl::StrCat(site.what, " in run ", during.run, " of session ", during.session, ", of @", during.function,
                      values.empty() ? "" : " with ", values);
}

absl::StatusOr<bool> Operation::advance(Transport &transport) {
  bool moved = false, again = true;
  while (again) {
    for (Lane &lane : lanes) {
      if (lane.finished())
        continue;
      absl::StatusOr<bool> laneMoved = lane.advance(transport);
      if (!laneMoved.ok()) {
        failed = lane.peer();
        return laneMoved.status();
      }
      moved |= *laneMoved;
    }
    again = react();
    moved |= again;
  }
  return moved;
}

bool Operation::finished() const {
  return std::all_of(lanes.begin(), lanes.end(), [](const Lane &lane) { return lane.finished(); });
}

std::vector<int64_t> Operation::peersUnderWay(size_t begin, size_t end, bool receives) const {
  std::vector<int64_t> ranks;
  for (size_t i = begin; i < end; ++i)
    if (lanes[i].receives() == receives && lanes[i].isUnderWay())
      ranks.push_back(lanes[i].peer());
  // A collective may have several lanes to one peer.
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

// A rank that does not receive may itself be waiting for a third one. A rank
// that does not send is more likely the cause.
std::vector<int64_t> Operation::waitsFor() const {
  std::vector<int64_t> ranks = peersUnderWay(0, lanes.size(), /*receives=*/true);
  return ranks.empty() ? peersUnderWay(0, lanes.size(), /*receives=*/false) : ranks;
}

void Operation::abandon() {
  for (Lane &lane : lanes)
    lane.abandon();
}

//===----------------------------------------------------------------------===//
// ReductionOperation
//===----------------------------------------------------------------------===//

ReductionOperation::ReductionOperation(const CallSite &site, uint64_t shape, const Reduction &reduction, int64_t size,
                                       std::vector<Lane> lanes)
    : Operation(site, shape, std::move(lanes)), reduction(reduction), peers(size - 1),
      chunks(chunksOf(reduction.block.bytes)), addends(size) {
  if (!this->reduction.sum.data)
    this->reduction.sum = reduction.block;
  if (peers == 0) {
    if (reduction.block.bytes > 0 && this->reduction.sum.data != reduction.block.data)
      std::memcpy(this->reduction.sum.data, reduction.block.data, reduction.block.bytes);
    summed = chunks;
  }
  if (reduction.gathers)
    for (int64_t peer = 0; peer < peers; ++peer) {
      lane(GatherSends, peer).allow(0);
      lane(GatherReceives, peer).allow(0);
    }
}

// A rank can send its addends at any time, but it sends sums only once it has
// all addends. So a rank whose addends are missing is the cause.
std::vector<int64_t> ReductionOperation::waitsFor() const {
  std::vector<int64_t> ranks = peersUnderWay(Addends * peers, (Addends + 1) * peers, /*receives=*/true);
  return ranks.empty() ? Operation::waitsFor() : ranks;
}

bool ReductionOperation::nextChunkIsHere() const {
  if (summed == chunks)
    return false;
  for (int64_t peer = 0; peer < peers; ++peer)
    if (lane(Addends, peer).arrived() <= summed || (reduction.sendsBlock && !lane(Sends, peer).finished()))
      return false;
  return true;
}

void ReductionOperation::sumNextChunk() {
  int64_t begin = summed * ccl::kChunkBytes;
  Buffer out = reduction.sum.slice(begin, std::min(reduction.block.bytes - begin, ccl::kChunkBytes));
  addends[reduction.rank] = reduction.block.data + begin;
  for (int64_t peer = 0; peer < peers; ++peer)
    addends[lane(Addends, peer).peer()] = lane(Addends, peer).addend(summed);
  treeSum(reduction.type, out.data, addends.data(), addends.size(), out.bytes / bytesOf(reduction.type));
  for (int64_t peer = 0; peer < peers; ++peer)
    lane(Addends, peer).release();
  ++summed;
}

void ReductionOperation::openLanes() {
  for (int64_t peer = 0; peer < peers; ++peer) {
    lane(Addends, peer).allow(summed + Lane::kSlots);
    if (!reduction.gathers)
      continue;
    lane(GatherSends, peer).allow(summed);
    lane(GatherReceives, peer).allow(lane(Sends, peer).done());
  }
}

bool ReductionOperation::react() {
  bool sums = nextChunkIsHere();
  if (sums)
    sumNextChunk();
  openLanes();
  return sums;
}

} // namespace splitcast::runtime
