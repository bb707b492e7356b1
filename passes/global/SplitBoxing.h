//===- SplitBoxing.h - Boxings of slots, step by step --------------------------------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_SPLITBOXING_H
#define SPLITCAST_PASSES_GLOBAL_SPLITBOXING_H

#include "dialects/sbp/Sbp.h"

namespace splitcast {

/// Makes boxings of several steps that begin or end in a bucket several boxings, each along one axis: only such can be
/// done for a whole bucket. The steps are those with the least volume (dialects/sbp/algebra/Boxing.h). On an axis of
/// size 1 a slot comes from B or P, and goes to B.
void splitBucketBoxings(mlir::Block &block);

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_SPLITBOXING_H
