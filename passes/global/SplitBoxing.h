//===- SplitBoxing.h - Boxings of slots, step by step --------------------------------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_SPLITBOXING_H
#define SPLITCAST_PASSES_GLOBAL_SPLITBOXING_H

#include "dialects/sbp/Sbp.h"

namespace splitcast {

/// Splits boxings that begin or end with a slot into one boxing per step, since only a step that enters or leaves the
/// bucket along one axis can be done for a whole bucket. The steps are those of dialects/sbp/algebra/Boxing.h. On an
/// axis of size 1, a slot is boxed from B or P, and to B.
void splitBucketBoxings(mlir::Block &block);

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_SPLITBOXING_H
