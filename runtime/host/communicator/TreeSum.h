//===- TreeSum.h - Sums in one fixed order ---------------------------------===//
//
// The order in which addends of several ranks are added, whatever algorithm brought them here (Communicator.h): a
// binary counter over the index of the addend, whose leftovers fold from the right. In recursive form: of n addends,
// the first p, the largest power of two below n, are one subtree and the others the second.
//
//   n  sum
//   1  a0
//   2  a0+a1
//   3  (a0+a1)+a2
//   4  (a0+a1)+(a2+a3)
//   5  ((a0+a1)+(a2+a3))+a4
//   7  ((a0+a1)+(a2+a3))+((a4+a5)+a6)
//
// bf16 and f16 are added in f32, and rounded once.
//
// Every element is summed by itself, so the bits of an element never depend on where the array is cut.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_COMMUNICATOR_TREESUM_H
#define SPLITCAST_RUNTIME_HOST_COMMUNICATOR_TREESUM_H

#include "runtime/api/ElementType.h"

#include <cstdint>

namespace splitcast::runtime {

/// out[i] = the tree sum of addends[0][i] .. addends[count - 1][i], for i below `elements`; count >= 1.
///   Shapes     arrays of `elements` of `type`, a float, each aligned to its element.
///   Ownership  out may be one of the addends; apart from that no addend overlaps it.
///   Cost       up to four addends: one pass over memory; more: one pass, with partial sums in the first-level cache.
void treeSum(ElementType type, void *out, const void *const *addends, int64_t count, int64_t elements);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_COMMUNICATOR_TREESUM_H
