//===- Boxing.h - Moving a tensor from one signature to another ------------===//
//
// The tables say what turns the row's signature into the column's along one axis. '-': there is nothing to do. 'no':
// the boxing is not legal, since only an op that sums makes addends. 'two': it takes two steps, by way of B.
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
// S(i) stands for every unit: S(0) to S(0 by 6) is an all-to-all. A tensor that is at one rank alone is treated as an
// uneven split of which that rank has everything: an all-gather of it is a broadcast, a reduce-scatter to it is a
// reduction, and an all-to-all between two such tensors is a send and a receive.
//
// On several axes a boxing is a sequence of steps, found by a search for the least cost: the volume, plus a fixed cost
// for each collective (kElementsPerCall). A sum that ends as pieces is never computed whole: along an axis with P, an
// intermediate signature has B only where the boxing ends with B, or with a slot while an earlier axis still has
// addends; where it ends with a slot, no intermediate signature has pieces. Most steps are along one axis. Such a step
// may split or join a dimension only while no later axis splits it too, and only while no other axis has a flat split:
// pieces are nested in the order of the axes, flat ones innermost. Two more kinds of steps avoid undoing an axis for
// that:
//   exchange        a tensor without addends changes along several axes at once, by one all-to-all among the ranks
//                   that differ only along axes that had pieces: [S(0), S(1)] to [S(1), S(0)]
//   scatter below   P to S(j) while later axes split j: a reduce-scatter of the pieces that these axes leave, after
//                   which the pieces of this axis lie within theirs (`toLast`), and an exchange that reverses the
//                   nesting: [P, S(0)] to [S(0), S(0)]
//
// The volume of a step is the number of bytes that its busiest rank sends by an algorithm that sends nothing twice to
// one rank; that of an all-reduce is the volume of a reduce-scatter and an all-gather. dialects/ccl/algebra says what a
// transport really sends, and what that costs: no sequence of steps depends on it.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_SBP_ALGEBRA_BOXING_H
#define SPLITCAST_DIALECTS_SBP_ALGEBRA_BOXING_H

#include "dialects/sbp/algebra/Signature.h"

#include <functional>
#include <optional>

namespace splitcast::sbp {

enum class Collective { Slice, AllGather, AllReduce, ReduceScatter, AllToAll, Exchange };

/// Returns "all-gather" and so on.
const char *toString(Collective collective);

struct BoxingStep {
  int64_t axis = 0;
  Collective collective = Collective::Slice;
  NdSbp from, to;
  /// For an exchange, the axes after `axis`, ascending, along which ranks had different pieces before the step. An axis
  /// along which all had the same is not in it: every rank finds what it needs at the ranks with its own coordinate
  /// there.
  std::vector<int64_t> further = {};
  /// The axis whose entry applies after those of all other axes, before the step and after it; -1 where entries apply
  /// in the order of the axes, as they always do in the IR.
  int64_t fromLast = -1, toLast = -1;

  std::vector<int64_t> axes() const; ///< all axes along which the step communicates
};

/// Returns the single step along one axis, or nothing where the table says '-', 'no' or 'two'.
std::optional<Collective> singleStep(const Sbp &from, const Sbp &to);

/// Whether a boxing exists: `to` is P only where `from` is P too.
bool isLegalBoxing(const NdSbp &from, const NdSbp &to);

/// The fixed cost of a collective besides its volume, in elements: so many f32 take 13 us to send at 2.5 GB/s. It is
/// the same for every transport, as the steps are.
constexpr int64_t kElementsPerCall = 8192;

/// Returns the sequence of steps with the least cost, and of these the shortest; it is empty when there is nothing to
/// do. Axes of size 1 cost nothing and need no step. Requires isLegalBoxing.
std::vector<BoxingStep> planBoxing(const Shape &shape, const NdSbp &from, const NdSbp &to, const Placement &placement,
                                   int64_t elementsPerCall = kElementsPerCall);

/// Returns the step's volume in bytes: the most that any rank sends. For an exchange on axes of more than 4 ranks, only
/// the ranks at which pieces of the whole tensor change their sizes are looked at; the result may then be too small by
/// one piece.
int64_t stepVolume(const BoxingStep &step, const Shape &shape, int64_t elementBytes, const Placement &placement);

/// Returns the sum of stepVolume over the steps of planBoxing.
int64_t boxingVolume(const Shape &shape, int64_t elementBytes, const NdSbp &from, const NdSbp &to,
                     const Placement &placement);

/// The cost of a boxing of a tensor: 0 or more, in a unit of the model's choice. boxingVolume is such a model.
using BoxingCost = std::function<int64_t(const Shape &shape, int64_t elementBytes, const NdSbp &from, const NdSbp &to,
                                         const Placement &placement)>;

} // namespace splitcast::sbp

#endif // SPLITCAST_DIALECTS_SBP_ALGEBRA_BOXING_H
