//===- SplitBoxing.h - Boxings of slots, step by step --------------------------------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_SPLITBOXING_H
#define SPLITCAST_PASSES_GLOBAL_SPLITBOXING_H

#include "dialects/sbp/Sbp.h"

namespace splitcast {

/// Makes boxings of several steps that begin or end in a bucket several boxings, since only what enters or leaves it
/// along one axis can be done for a whole bucket. The steps are those of dialects/sbp/algebra/Boxing.h. On an axis of
/// size 1 a slot comes from B or P, and goes to B.
void splitBucketBoxings(mlir::Block &block);

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_SPLITBOXING_H
