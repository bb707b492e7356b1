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
//   from \ to    At(k)                          from At(k) to
//   B            slice                          B            all-gather
//   S(i)         all-to-all                     S(j)         all-to-all
//   S(@bucket)   two                            S(@bucket)   two
//   P            reduce-scatter                 P            no
//   At(j)        - if equal, else all-to-all
//
// S(i) stands for every unit: S(0) to S(0 by 6) is an all-to-all. What is at one rank alone is an uneven split of which
// that rank has all: so an all-gather of it is a broadcast, a reduce-scatter to it a reduction, and an all-to-all
// between two such a send and a receive.
//
// On several axes a boxing is a sequence of steps, found by search for the least cost: the volume, and of each
// collective what could be sent while it begins (kElementsPerCall). What becomes pieces is never summed whole: P is B
// on the way only where it is B or in a bucket in the end, and pieces on the way to a bucket nowhere. Most steps are
// along one axis. Such a step may split or join a dimension only while no later axis splits it too, and only while no
// other axis has a flat split: pieces are nested in the order of the axes, flat ones innermost. Where an axis would
// have to be undone for that, two more kinds do without:
//
//   exchange        what has no addends, along several axes at once, as one all-to-all of the ranks that differ only
//                   where there were pieces: [S(0), S(1)] to [S(1), S(0)]
//   scatter below   P to S(j) while later axes split j: a reduce-scatter of what these leave, after which the pieces of
//                   this axis lie within theirs (`toLast`), and an exchange that turns the nesting round:
//                   [P, S(0)] to [S(0), S(0)]
//
// The volume of a step is what its busiest rank sends by an algorithm that sends nothing twice to one rank; of an
// all-reduce, that of a reduce-scatter and an all-gather. What a transport sends and what it costs there is said in
// dialects/ccl/algebra: no plan depends on it.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_SBP_ALGEBRA_BOXING_H
#define SPLITCAST_DIALECTS_SBP_ALGEBRA_BOXING_H

#include "dialects/sbp/algebra/Signature.h"

#include <functional>
#include <optional>

namespace splitcast::sbp {

enum class Collective { Slice, AllGather, AllReduce, ReduceScatter, AllToAll, Exchange };

/// "all-gather" and so on.
const char *toString(Collective collective);

struct BoxingStep {
  int64_t axis = 0;
  Collective collective = Collective::Slice;
  NdSbp from, to;
  /// Of an exchange: the axes after `axis`, ascending, along which ranks had other pieces than now. Those along which
  /// all had the same are none: every rank finds what it needs among those that have its coordinates there.
  std::vector<int64_t> further = {};
  /// The axis whose entry applies after those of all others before or after the step; -1 where each is in its place, as
  /// signatures in the IR always have it.
  int64_t fromLast = -1, toLast = -1;

  std::vector<int64_t> axes() const; ///< all along which the step communicates
};

/// The single step along one axis, or nothing where the table says '-', 'no' or 'two'.
std::optional<Collective> singleStep(const Sbp &from, const Sbp &to);

/// Whether a boxing exists: `to` is P only where `from` is P too.
bool isLegalBoxing(const NdSbp &from, const NdSbp &to);

/// What a collective costs besides its volume, in elements: of f32, what takes 13 us to send at 2.5 GB/s. It is the
/// same for every transport, as plans are.
constexpr int64_t kElementsPerCall = 8192;

/// The sequence of steps with the least cost, and of these the shortest; empty when nothing is to be done. Axes of
/// size 1 cost nothing and need no step. Requires isLegalBoxing.
std::vector<BoxingStep> planBoxing(const Shape &shape, const NdSbp &from, const NdSbp &to, const Placement &placement,
                                   int64_t elementsPerCall = kElementsPerCall);

/// Bytes of the step's volume: of what a rank sends, the largest over all ranks; of an exchange on axes of more than 4
/// ranks, over those at which pieces of the whole tensor change their sizes, which may be a piece less.
int64_t stepVolume(const BoxingStep &step, const Shape &shape, int64_t elementBytes, const Placement &placement);

/// Sum of stepVolume over the plan.
int64_t boxingVolume(const Shape &shape, int64_t elementBytes, const NdSbp &from, const NdSbp &to,
                     const Placement &placement);

/// What the boxing of a tensor costs; 0 or more, in a unit of the model's choice. boxingVolume is one.
using BoxingCost = std::function<int64_t(const Shape &shape, int64_t elementBytes, const NdSbp &from, const NdSbp &to,
                                         const Placement &placement)>;

} // namespace splitcast::sbp

#endif // SPLITCAST_DIALECTS_SBP_ALGEBRA_BOXING_H
