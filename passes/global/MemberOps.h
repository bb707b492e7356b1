//===- MemberOps.h - What only some members of a bucket need -------------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_MEMBEROPS_H
#define SPLITCAST_PASSES_GLOBAL_MEMBEROPS_H

#include "passes/global/JoinPlan.h"

namespace splitcast {

/// Elementwise ops on a bucket's range of which fewer members than it has take their part become ops on those parts: an
/// update by numbers that differ from member to member costs the bytes of the members, not those of the bucket for
/// each. Of a block behind 'sbp-join-buckets', where slots are parts of ranges.
void computeByMember(mlir::Block &block, const BucketTable &table);

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_MEMBEROPS_H
