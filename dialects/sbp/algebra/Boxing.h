//===- Boxing.h - Moving a tensor from one signature to another ------------===//
//
// Along one axis (n ranks), what turns the row's signature into the column's. '-': nothing to do; 'no': not legal,
// since only an op that sums makes partial values; 'two': by way of B.
//
//   from \ to    B            S(j)                       S(@bucket)      P
//   B            -            slice                      slice           no
//   S(i)         all-gather   - if equal, else           two             no
//                             all-to-all
//   S(@bucket)   all-gather   two                        - if the same   no
//   P            all-reduce   reduce-scatter             reduce-scatter  -
//
// S(i) stands for every unit: S(0) to S(0 by 6) is an all-to-all.
//
// On several axes a boxing is a sequence of such steps, one axis at a time, found by search for the fewest bytes. A
// step along an axis may split or join a dimension only while no later axis splits it too, and only while no other axis
// has a flat split: pieces are nested in the order of the axes, flat ones innermost.
//
// Bytes are those of the algorithms in runtime/host, which are those of any algorithm that sends no byte twice.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_SBP_ALGEBRA_BOXING_H
#define SPLITCAST_DIALECTS_SBP_ALGEBRA_BOXING_H

#include "dialects/sbp/algebra/Signature.h"

#include <optional>

namespace splitcast::sbp {

enum class Collective { Slice, AllGather, AllReduce, ReduceScatter, AllToAll };

/// "all-gather" and so on.
const char *toString(Collective collective);

struct BoxingStep {
  int64_t axis = 0;
  Collective collective = Collective::Slice;
  NdSbp from, to;
};

/// The single step along one axis, or nothing where the table says '-', 'no' or 'two'.
std::optional<Collective> singleStep(const Sbp &from, const Sbp &to);

/// Whether a boxing exists: `to` is P only where `from` is P too.
bool isLegalBoxing(const NdSbp &from, const NdSbp &to);

/// The cheapest sequence of steps, empty when nothing is to be done. Axes of size 1 cost nothing and need no step.
/// Requires isLegalBoxing.
std::vector<BoxingStep> planBoxing(const Shape &shape, const NdSbp &from, const NdSbp &to, const Placement &placement);

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
/// Every buffer, slot and chunk starts at a multiple of this: a cache line, and a vector of AVX-512.
inline constexpr int64_t kAlignmentBytes = 64;

/// Rank `rank` of blocks.size() ranks; blocks[r] is the bytes that rank r holds (before an all-gather) or keeps (after
/// a reduce-scatter). Empty blocks send no message.
Traffic allGatherTraffic(const std::vector<int64_t> &blocks, int64_t rank);
Traffic reduceScatterTraffic(const std::vector<int64_t> &blocks, int64_t rank);
/// `elements` of `elementBytes` each, cut by pieceOf when they are many.
Traffic allReduceTraffic(int64_t elements, int64_t elementBytes, int64_t ranks, int64_t rank);
/// sends[r]: the bytes for rank r.
Traffic allToAllTraffic(const std::vector<int64_t> &sends, int64_t rank);

/// Bytes of scratch memory that the receiver of addends needs: two chunks from each other rank.
int64_t reduceScatterWorkspace(const std::vector<int64_t> &blocks, int64_t rank);
int64_t allReduceWorkspace(int64_t elements, int64_t elementBytes, int64_t ranks, int64_t rank);

/// Bytes that a rank sends for the step, the largest over all ranks.
int64_t stepBytes(const BoxingStep &step, const Shape &shape, int64_t elementBytes, const Placement &placement);

/// Sum of stepBytes over the plan.
int64_t boxingBytes(const Shape &shape, int64_t elementBytes, const NdSbp &from, const NdSbp &to,
                    const Placement &placement);

int64_t alignUp(int64_t value, int64_t alignment);

} // namespace splitcast::sbp

#endif // SPLITCAST_DIALECTS_SBP_ALGEBRA_BOXING_H
