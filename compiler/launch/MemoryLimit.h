//===- MemoryLimit.h - Training within the memory of a rank --------------------===//
//
// How variables are split, and which activations are recomputed, changes no bit of the training. So if the memory of a
// rank is limited (sbp::ZeroOptions::memoryLimit), a session may choose both: it compiles with one policy after another
// until the predicted peak is within the limit on every rank.
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

/// Returns the policies to try, at least one, the fastest first. All of them keep what `said` sets. What it leaves open
/// is chosen in this order of cost in time: gradients are split (stage 2); stage 2, and elementwise results are
/// recomputed in backward (recompute=elementwise); parameters are split (stage 3); stage 3 with recompute=elementwise;
/// stage 3, and all activations are recomputed (recompute=yes).
std::vector<sbp::Policy> waysToSave(const sbp::Policy &said);

/// The largest predicted peak of all ranks.
struct LargestPeak {
  int64_t bytes = 0, rank = 0; ///< of ranks with equal peaks, the first
};

/// Returns the largest predicted peak. `reports` are those of the plans that a session has, or would have.
/// `savesBeside` is SessionOptions::savesBeside; the copies are counted as if everything persistent were copied. Every
/// rank calls it, and all get the same result.
absl::StatusOr<LargestPeak> largestPeak(mlir::ModuleOp plans, const MemoryReports &reports, bool savesBeside,
                                        runtime::Communicator &communicator);

/// Returns the error ResourceExhausted, whose message has the smallest peak that was found, the policy with this peak,
/// and a remedy.
absl::Status exceedsLimit(int64_t limit, const LargestPeak &least, const sbp::Policy &way);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_MEMORYLIMIT_H
