//===- Traffic.h - What communicators send, and the scratch memory they need ---===//
//
// Of the algorithms in runtime/host/communicator, over point-to-point messages. Reports predict with these functions,
// communicators check their workspaces by them, and tests count what was sent against them.
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

/// What one rank puts on the wire in one collective.
struct Traffic {
  int64_t bytes = 0;
  int64_t messages = 0;
  Traffic &operator+=(const Traffic &other) {
    bytes += other.bytes;
    messages += other.messages;
    return *this;
  }
};

/// Messages of a large block are cut at this size, so that what is received still lies in the cache when it is added.
inline constexpr int64_t kChunkBytes = 1 << 20;
/// An all-reduce of at most so many bytes sends the whole tensor to every rank, in one round instead of two.
inline constexpr int64_t kSmallAllReduceBytes = 4096;

/// Rank `rank` of blocks.size() ranks; blocks[r] is the bytes that rank r holds (before an all-gather) or keeps (after
/// a reduce-scatter). Empty blocks send no message.
Traffic allGatherTraffic(const std::vector<int64_t> &blocks, int64_t rank);
Traffic reduceScatterTraffic(const std::vector<int64_t> &blocks, int64_t rank);
/// `elements` of `elementBytes` each, cut by pieceOf when they are more than `smallBytes`.
Traffic allReduceTraffic(int64_t elements, int64_t elementBytes, int64_t ranks, int64_t rank,
                         int64_t smallBytes = kSmallAllReduceBytes);
/// sends[r]: the bytes for rank r.
Traffic allToAllTraffic(const std::vector<int64_t> &sends, int64_t rank);

/// Bytes in which the addends of one other rank wait for a sum of `ownBytes`: all of them, or two chunks in turns,
/// where there are more.
int64_t addendBytes(int64_t ownBytes);
/// Bytes of scratch memory that the receiver of addends needs: addendBytes for each other rank, aligned.
int64_t reduceScatterWorkspace(const std::vector<int64_t> &blocks, int64_t rank);
int64_t allReduceWorkspace(int64_t elements, int64_t elementBytes, int64_t ranks, int64_t rank);

} // namespace splitcast::ccl

#endif // SPLITCAST_DIALECTS_CCL_ALGEBRA_TRAFFIC_H
