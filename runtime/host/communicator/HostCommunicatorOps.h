//===- HostCommunicatorOps.h - Which messages make a collective ------------===//
//
// A collective is a set of lanes, one per peer and direction, each a block of bytes cut into chunks that travel in
// order, and what is to be added when chunks have come. Nothing here waits: `advance` does what can be done now.
//
// An all-reduce of 3 chunks per block at 3 ranks, seen from rank 0 (each line is one lane):
//
//   sends            block 1 -> rank 1, block 2 -> rank 2         all chunks at once: they are not written to before
//   addends          block 0 <- rank 1, block 0 <- rank 2         chunk k, in slot k % 2, once chunk k - 2 is summed
//   gather sends     block 0 -> rank 1, block 0 -> rank 2         chunk k, once it is summed
//   gather receives  block 1 <- rank 1, block 2 <- rank 2         chunk k, once it has been sent as an addend
//
// A reduce-scatter is the first two kinds of lanes, an all-gather the last two.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_COMMUNICATOR_HOSTCOMMUNICATOROPS_H
#define SPLITCAST_RUNTIME_HOST_COMMUNICATOR_HOSTCOMMUNICATOROPS_H

#include "runtime/api/Communicator.h"
#include "runtime/api/Transport.h"

#include <vector>

namespace splitcast::runtime {

/// The rank that is `distance` after `rank`. Ranks address their peers in the order of distance, so that not all of
/// them start with the same one.
inline int64_t peerAt(int64_t rank, int64_t distance, int64_t size) { return (rank + distance) % size; }

/// A block on its way to or from one peer, in chunks of ccl::kChunkBytes. Borrows the block.
class Lane {
public:
  static Lane send(int64_t peer, int tag, Buffer block);
  static Lane receive(int64_t peer, int tag, Buffer block);
  /// Reads a block of `bytes` where its sender has it, or else in slots: chunk k in slot k % kSlots; slots lie in a
  /// row, each of a chunk's size, and have ccl::addendBytes(bytes). A chunk is done once it was released.
  static Lane readAddends(int64_t peer, int tag, Buffer slots, int64_t bytes);
  /// The same of a block that has room as a whole, and is brought there: its sender has it for itself again before it
  /// is released.
  static Lane receiveAddend(int64_t peer, int tag, Buffer room);
  /// One message with no contents, either way.
  static Lane signal(bool receives, int64_t peer, int tag);

  static constexpr int64_t kSlots = 2;

  /// Chunks from `chunks` on wait for a later call; without a call all may go.
  void allow(int64_t chunks) { allowed = chunks; }

  /// Tests and posts messages. True if a message was completed.
  absl::StatusOr<bool> advance(Transport &transport);

  /// Of a lane that reads: how many chunks may be read, and where chunk `index`, not yet released, is.
  int64_t arrived() const { return arrivedChunks; }
  const std::byte *addend(int64_t index) const { return readings[index - doneChunks]->data(); }
  /// The oldest chunk that was not is needed no more.
  void release() { readings[releasedChunks++ - doneChunks]->release(); }

  /// Gives up the messages under way.
  void abandon() {
    underWay.clear();
    readings.clear();
  }

  int64_t peer() const { return peerRank; }
  bool receives() const { return isReceive; }
  bool finished() const { return doneChunks == chunks; }
  /// Whether it waits for its peer.
  bool isUnderWay() const { return reads ? arrivedChunks < postedChunks : !underWay.empty(); }
  int64_t done() const { return doneChunks; }

private:
  /// Where chunk `index` lies, or has room.
  Buffer chunk(int64_t index) const;
  absl::StatusOr<bool> testMessages();
  absl::StatusOr<bool> testReadings();
  absl::Status post(Transport &transport);

  bool isReceive = false;
  int64_t peerRank = 0;
  int tag = 0;
  std::byte *data = nullptr;
  int64_t bytes = 0;
  bool reads = false, leavesThere = false;
  bool usesSlots = false; ///< else chunks lie in a row
  int64_t chunks = 0;
  int64_t allowed = 0;
  int64_t postedChunks = 0, arrivedChunks = 0, releasedChunks = 0, doneChunks = 0;
  std::vector<std::unique_ptr<Message>> underWay; ///< oldest first
  std::vector<std::unique_ptr<Reading>> readings; ///< likewise, from chunk doneChunks on
};

/// A collective under way whose lanes are independent of each other.
class Operation {
public:
  Operation(const CallSite &site, std::vector<Lane> lanes) : what(site.what), lanes(std::move(lanes)) {}
  virtual ~Operation() = default;

  /// Does what can be done without waiting. True if a message was completed or something was summed.
  ///   Errors  those of the transport; failedPeer() then says with which rank.
  absl::StatusOr<bool> advance(Transport &transport);
  virtual bool finished() const;

  /// The ranks for whose messages this one waits now, ascending: those that are most likely the cause.
  virtual std::vector<int64_t> waitsFor() const;
  int64_t failedPeer() const { return failed; }
  void abandon();

  /// The collective, as CallSite says.
  const std::string what;
  /// Set when it and all collectives before it are finished.
  bool completed = false;

protected:
  /// Uses what has come. True if it did something that may let a lane go on.
  virtual bool react() { return false; }

  /// The peers of those of lanes[begin..end) that have a message of this direction under way, ascending.
  std::vector<int64_t> peersUnderWay(size_t begin, size_t end, bool receives) const;

  std::vector<Lane> lanes;

private:
  int64_t failed = -1;
};

/// What a reduction adds up on this rank.
struct Reduction {
  int64_t rank = 0;
  Buffer block; ///< this rank's addend
  ElementType type = ElementType::F32;
  Buffer sum = {}; ///< where the sum goes; the block itself when there is no address
  /// The lanes of each kind lie in the order of peerAt(rank, 1), peerAt(rank, 2), ...: sends, addends, and with
  /// `gathers` gather sends and gather receives.
  bool gathers = false;
  /// Whether the block is itself what is sent, and may not change before that is done.
  bool sendsBlock = false;
};

class ReductionOperation final : public Operation {
public:
  ReductionOperation(const CallSite &site, const Reduction &reduction, int64_t size, std::vector<Lane> lanes);

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
  std::vector<const void *> addends; ///< of the chunk being summed, by rank
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_COMMUNICATOR_HOSTCOMMUNICATOROPS_H
