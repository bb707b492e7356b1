//===- MemberOps.h - Ops that only some members of a bucket need -------------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_MEMBEROPS_H
#define SPLITCAST_PASSES_GLOBAL_MEMBEROPS_H

#include "passes/global/JoinPlan.h"

namespace splitcast {

/// Rewrites elementwise ops on a bucket's range whose result only some members use: they become ops on the parts of
/// these members. So an update with numbers that differ from member to member costs the bytes of the members, and not
/// those of the bucket for each member. The block has been rewritten by 'sbp-join-buckets': slots are parts of ranges.
void computeByMember(mlir::Block &block, const BucketTable &table);

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_MEMBEROPS_H
