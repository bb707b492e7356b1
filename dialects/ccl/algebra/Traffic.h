//===- Traffic.h - What communicators send, and the scratch memory they need ---===//
//
// These numbers are those of the algorithms in runtime/host/communicator, which use point-to-point messages. Reports
// predict traffic with these functions, communicators check their workspaces against them, and tests compare them with
// the bytes that were sent.
//
//   kind             a rank sends                                              in rounds
//   all_gather       its block to each other rank                              1
//   reduce_scatter   to each other rank that one's block                       1
//   all_to_all       to each other rank that one's block                       1
//   all_reduce       both of the first two, on pieces of the tensor;           2
//                    of at most kSmallAllReduceBytes: all to each other rank   1
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_CCL_ALGEBRA_TRAFFIC_H
#define SPLITCAST_DIALECTS_CCL_ALGEBRA_TRAFFIC_H

#include <cstdint>
#include <vector>

namespace splitcast::ccl {

/// What one rank sends in one collective.
struct Traffic {
  int64_t bytes = 0;
  int64_t messages = 0;
  Traffic &operator+=(const Traffic &other) {
    bytes += other.bytes;
    messages += other.messages;
    return *this;
  }
};

/// A large block is sent in messages of this size, so that the received addends are still in the cache when they are
/// added.
inline constexpr int64_t kChunkBytes = 1 << 20;

/// On GPUs a sum sends larger chunks, since there each round takes some 20 us more than its bytes do: those that a rank
/// receives in one round have so many bytes in all.
inline constexpr int64_t kDeviceRoundBytes = 32 << 20;
/// Returns the size of these chunks in a group of `ranks`: a multiple of 4096, and at least kChunkBytes or a round.
int64_t deviceChunkBytes(int64_t ranks, int64_t roundBytes = kDeviceRoundBytes);

/// An all-reduce of at most so many bytes sends the whole tensor to every other rank, in one round instead of two.
inline constexpr int64_t kSmallAllReduceBytes = 4096;

/// Return the traffic of rank `rank` of blocks.size() ranks; blocks[r] is the number of bytes that rank r holds (before
/// an all-gather) or keeps (after a reduce-scatter). Empty blocks send no message, others one for each `chunkBytes`;
/// what NCCL itself cuts is not counted.
Traffic allGatherTraffic(const std::vector<int64_t> &blocks, int64_t rank, int64_t chunkBytes = kChunkBytes);
Traffic reduceScatterTraffic(const std::vector<int64_t> &blocks, int64_t rank, int64_t chunkBytes = kChunkBytes);
/// Returns the traffic of an all-reduce of `elements` of `elementBytes` each, which pieceOf cuts when they have more
/// than `smallBytes`.
Traffic allReduceTraffic(int64_t elements, int64_t elementBytes, int64_t ranks, int64_t rank,
                         int64_t smallBytes = kSmallAllReduceBytes, int64_t chunkBytes = kChunkBytes);
/// Returns the traffic of an all-to-all; sends[r] is the number of bytes for rank r.
Traffic allToAllTraffic(const std::vector<int64_t> &sends, int64_t rank, int64_t chunkBytes = kChunkBytes);

/// Returns the bytes of the buffer for the addends of one other rank, in a sum of `ownBytes`: it has room for all of
/// them, or for two chunks that are used in turns, if there are more.
int64_t addendBytes(int64_t ownBytes, int64_t chunkBytes = kChunkBytes);
/// Return the bytes of scratch memory that the receiver of addends needs: addendBytes for each other rank, aligned.
int64_t reduceScatterWorkspace(const std::vector<int64_t> &blocks, int64_t rank, int64_t chunkBytes = kChunkBytes);
int64_t allReduceWorkspace(int64_t elements, int64_t elementBytes, int64_t ranks, int64_t rank,
                           int64_t chunkBytes = kChunkBytes);

} // namespace splitcast::ccl

#endif // SPLITCAST_DIALECTS_CCL_ALGEBRA_TRAFFIC_H
