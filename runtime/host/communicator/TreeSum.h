//===- TreeSum.h - Sums in one fixed order ---------------------------------===//
//
// Addends of several ranks are added in one order, whatever algorithm brought them here (Communicator.h). The order is
// a binary counter over the index of the addend, whose leftovers fold from the right. In recursive form: let p be the
// largest power of two below n; of n addends, the first p are one subtree, and the others are the second.
//
//   n  sum
//   1  a0
//   2  a0+a1
//   3  (a0+a1)+a2
//   4  (a0+a1)+(a2+a3)
//   5  ((a0+a1)+(a2+a3))+a4
//   7  ((a0+a1)+(a2+a3))+((a4+a5)+a6)
//
// bf16 and f16 are added in f32 and rounded once.
//
// Every element is summed by itself, so the bits of an element never depend on where the array is cut.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_COMMUNICATOR_TREESUM_H
#define SPLITCAST_RUNTIME_HOST_COMMUNICATOR_TREESUM_H

#include "runtime/api/ElementType.h"

#include <cstdint>

namespace splitcast::runtime {

/// Sets out[i] to the tree sum of addends[0][i] .. addends[count - 1][i], for each i below `elements`. Requires
/// count >= 1.
///   Shapes     Each array has `elements` elements of `type`, a float, and is aligned to its element.
///   Ownership  `out` may be one of the addends. No other addend overlaps it.
///   Cost       It takes one pass over memory. With more than four addends, partial sums are in the first-level cache.
void treeSum(ElementType type, void *out, const void *const *addends, int64_t count, int64_t elements);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_COMMUNICATOR_TREESUM_H
