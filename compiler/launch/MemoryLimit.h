//===- MemoryLimit.h - To train within the memory of a rank --------------------===//
//
// What is kept of a variable, and of what forward makes, changes no bit of what is trained. So where the memory of a
// rank is limited (sbp::ZeroOptions::memoryLimit) a session may choose it: it compiles one way after the other, until a
// plan's predicted peak is within the limit on every rank.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_MEMORYLIMIT_H
#define SPLITCAST_COMPILER_LAUNCH_MEMORYLIMIT_H

#include "dialects/sbp/algebra/Policy.h"
#include "passes/plan/Reports.h"
#include "runtime/api/Communicator.h"

#include "absl/status/statusor.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace splitcast {

/// The policies to try, one at least, the fastest first. What `said` says is in all of them. Of what it leaves open, by
/// what they cost in time: gradients are split (stage 2); what is elementwise is made again in backward besides;
/// parameters are split (stage 3); both; all that forward makes is made again.
std::vector<sbp::Policy> waysToSave(const sbp::Policy &said);

/// The largest predicted peak of all ranks.
struct LargestPeak {
  int64_t bytes = 0, rank = 0;
};

/// `reports`: of the plans that a session has, or would have. `savesBeside`: as SessionOptions::savesBeside; copies are
/// counted as if all were copied that lies at rest. Every rank calls it, and all get the same.
absl::StatusOr<LargestPeak> largestPeak(mlir::ModuleOp plans, const MemoryReports &reports, bool savesBeside,
                                        runtime::Communicator &communicator);

/// ResourceExhausted: what is least, of what way, and what to do.
absl::Status exceedsLimit(int64_t limit, const LargestPeak &least, const sbp::Policy &way);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_MEMORYLIMIT_H
