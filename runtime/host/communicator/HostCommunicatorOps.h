//===- HostCommunicatorOps.h - Collectives made of messages ----------------===//
//
// A collective is a set of lanes, and the sums to compute when chunks have arrived. There is one lane per peer and
// direction: a block of bytes, cut into chunks that travel in order. Nothing here blocks: `advance` does what can be
// done now.
//
// An all-reduce of 3 chunks per block at 3 ranks, seen from rank 0 (each line is one lane):
//
//   sends            block 1 -> rank 1, block 2 -> rank 2         all chunks at once: nothing writes to them before
//   addends          block 0 <- rank 1, block 0 <- rank 2         chunk k, in slot k % 2, once chunk k - 2 is summed
//   gather sends     block 0 -> rank 1, block 0 -> rank 2         chunk k, once it is summed
//   gather receives  block 1 <- rank 1, block 2 <- rank 2         chunk k, once it has been sent as an addend
//
// A reduce-scatter has the first two kinds of lanes, and an all-gather the last two.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_COMMUNICATOR_HOSTCOMMUNICATOROPS_H
#define SPLITCAST_RUNTIME_HOST_COMMUNICATOR_HOSTCOMMUNICATOROPS_H

#include "runtime/api/Communicator.h"
#include "runtime/api/Transport.h"

#include <vector>

namespace splitcast::runtime {

/// Returns the rank that is `distance` after `rank`. Ranks address their peers in the order of distance, so that they
/// do not all start with the same one.
inline int64_t peerAt(int64_t rank, int64_t distance, int64_t size) { return (rank + distance) % size; }

/// A block that travels to or from one peer, in chunks of ccl::kChunkBytes. A lane borrows its block.
class Lane {
public:
  static Lane send(int64_t peer, int tag, Buffer block);
  static Lane receive(int64_t peer, int tag, Buffer block);
  /// Reads a block of `bytes` bytes in the sender's memory, or otherwise receives it in slots: chunk k in slot
  /// k % kSlots. The slots lie one after the other, each of a chunk's size, in ccl::addendBytes(bytes) bytes. A chunk
  /// is done once it is released.
  static Lane readAddends(int64_t peer, int tag, Buffer slots, int64_t bytes);
  /// Like readAddends, but always receives the whole block, into `room`: the sender may reuse its block before the
  /// chunks are released here.
  static Lane receiveAddend(int64_t peer, int tag, Buffer room);
  /// Sends or receives one empty message.
  static Lane signal(bool receives, int64_t peer, int tag);

  static constexpr int64_t kSlots = 2;

  /// Sets the frame of all messages of this lane, before the first is sent or received.
  void setFrame(const Frame &of) { frame = of; }

  /// Lets only the first `chunks` chunks travel until the next call. A lane on which it was never called lets all
  /// travel, except one of readAddends, which lets kSlots.
  void allow(int64_t chunks) { allowed = chunks; }

  /// Tests and posts messages. Returns true if a message was completed.
  absl::StatusOr<bool> advance(Transport &transport);

  /// For lanes of addends: arrived() is the number of chunks that may be read, and addend() is where chunk `index` is,
  /// which is not yet released.
  int64_t arrived() const { return arrivedChunks; }
  const std::byte *addend(int64_t index) const { return readings[index - doneChunks]->data(); }
  /// Releases the oldest chunk that is not yet released.
  void release() { readings[releasedChunks++ - doneChunks]->release(); }

  /// Gives up the messages in flight.
  void abandon() {
    underWay.clear();
    readings.clear();
  }

  int64_t peer() const { return peerRank; }
  bool receives() const { return isReceive; }
  bool finished() const { return doneChunks == chunks; }
  /// Returns whether the lane waits for its peer.
  bool isUnderWay() const { return reads ? arrivedChunks < postedChunks : !underWay.empty(); }
  int64_t done() const { return doneChunks; }

private:
  /// Returns the memory of chunk `index`, which has been or will be filled.
  Buffer chunk(int64_t index) const;
  absl::StatusOr<bool> testMessages();
  absl::StatusOr<bool> testReadings();
  absl::Status post(Transport &transport);

  bool isReceive = false;
  int64_t peerRank = 0;
  int tag = 0;
  Frame frame;
  std::byte *data = nullptr;
  int64_t bytes = 0;
  bool reads = false, leavesThere = false;
  bool usesSlots = false; ///< if not, the chunks lie one after the other
  int64_t chunks = 0;
  int64_t allowed = 0;
  int64_t postedChunks = 0, arrivedChunks = 0, releasedChunks = 0, doneChunks = 0;
  std::vector<std::unique_ptr<Message>> underWay; ///< oldest first
  std::vector<std::unique_ptr<Reading>> readings; ///< oldest first, from chunk doneChunks on
};

/// A collective in flight whose lanes are independent of each other.
class Operation {
public:
  /// `shape` is a digest of what the ranks must give alike besides the site: the kind of the call, and its sizes.
  Operation(const CallSite &site, uint64_t shape, std::vector<Lane> lanes)
      : site(site), shape(shape), lanes(std::move(lanes)) {}
  virtual ~Operation() = default;

  /// Does what can be done without blocking. Returns true if a message was completed or a chunk was summed.
  ///   Errors  those of the transport; failedPeer() then tells with which rank.
  absl::StatusOr<bool> advance(Transport &transport);
  virtual bool finished() const;

  /// Returns the ranks for whose messages this one waits now, in ascending order: those that most likely cause the
  /// delay.
  virtual std::vector<int64_t> waitsFor() const;
  int64_t failedPeer() const { return failed; }
  void abandon();

  /// Sets the frames of all messages: each lane's is `frame` with the values that this rank has in common with the
  /// lane's peer. `numbers` are the ranks' numbers in Activity::alike. CollectiveQueue::start calls it.
  void stamp(Frame frame, const std::vector<int64_t> &numbers);
  /// Returns the name of the call and where it is, for errors: "all-gather of 'w' in run 2 of @train of session 1".
  std::string describe() const;

  const CallSite site;
  const uint64_t shape;
  /// Whether peers may themselves wait for what they are to send on.
  bool relays = false;
  /// Set when it and all collectives before it are finished.
  bool completed = false;

protected:
  /// Uses what has arrived. Returns true if it did something that may let a lane continue.
  virtual bool react() { return false; }

  /// Returns the peers of those lanes in [begin, end) that have a message of this direction in flight, in ascending
  /// order.
  std::vector<int64_t> peersUnderWay(size_t begin, size_t end, bool receives) const;

  std::vector<Lane> lanes;

private:
  int64_t failed = -1;
};

/// The sum that a reduction computes on this rank.
struct Reduction {
  int64_t rank = 0;
  Buffer block; ///< this rank's addend
  ElementType type = ElementType::F32;
  Buffer sum = {}; ///< where the sum is written; without an address, in the block itself
  /// Whether the lanes are sends, addends, gather sends and gather receives, or only the first two. The lanes of each
  /// kind are in the order peerAt(rank, 1), peerAt(rank, 2), ...
  bool gathers = false;
  /// Whether the block itself is sent, so that it must not change before all sends are done.
  bool sendsBlock = false;
};

class ReductionOperation final : public Operation {
public:
  ReductionOperation(const CallSite &site, uint64_t shape, const Reduction &reduction, int64_t size,
                     std::vector<Lane> lanes);

  bool finished() const override { return summed == chunks && Operation::finished(); }
  std::vector<int64_t> waitsFor() const override;

private:
  bool react() override;
  bool nextChunkIsHere() const;
  void sumNextChunk();
  void openLanes();

  enum Kind { Sends, Addends, GatherSends, GatherReceives };
  const Lane &lane(Kind kind, int64_t peer) const { return lanes[kind * peers + peer]; }
  Lane &lane(Kind kind, int64_t peer) { return lanes[kind * peers + peer]; }

  Reduction reduction;
  int64_t peers;
  int64_t chunks;
  int64_t summed = 0;
  std::vector<const void *> addends; ///< the addends of the chunk that is being summed, by rank
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_COMMUNICATOR_HOSTCOMMUNICATOROPS_H
