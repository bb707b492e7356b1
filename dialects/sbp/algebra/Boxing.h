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
// On several axes a boxing is a sequence of such steps, one axis at a time, found by search for the least volume. A
// step along an axis may split or join a dimension only while no later axis splits it too, and only while no other axis
// has a flat split: pieces are nested in the order of the axes, flat ones innermost.
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

/// The sequence of steps with the least volume, and of these the shortest; empty when nothing is to be done. Axes of
/// size 1 cost nothing and need no step. Requires isLegalBoxing.
std::vector<BoxingStep> planBoxing(const Shape &shape, const NdSbp &from, const NdSbp &to, const Placement &placement);

/// Bytes of the step's volume: of what a rank sends, the largest over all ranks.
int64_t stepVolume(const BoxingStep &step, const Shape &shape, int64_t elementBytes, const Placement &placement);

/// Sum of stepVolume over the plan.
int64_t boxingVolume(const Shape &shape, int64_t elementBytes, const NdSbp &from, const NdSbp &to,
                     const Placement &placement);

/// What the boxing of a tensor costs; 0 or more, in a unit of the model's choice. boxingVolume is one.
using BoxingCost = std::function<int64_t(const Shape &shape, int64_t elementBytes, const NdSbp &from, const NdSbp &to,
                                         const Placement &placement)>;

} // namespace splitcast::sbp

#endif // SPLITCAST_DIALECTS_SBP_ALGEBRA_BOXING_H
