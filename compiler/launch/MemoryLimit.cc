#include "compiler/launch/MemoryLimit.h"

#include "runtime/api/StatusMacros.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include <algorithm>

namespace splitcast {

std::vector<sbp::Policy> waysToSave(const sbp::Policy &said) {
  using sbp::Recompute;
  std::vector<sbp::Policy> ways;
  for (const auto &[stage, recompute] :
       {std::pair(2, Recompute::No), std::pair(2, Recompute::Elementwise), std::pair(3, Recompute::No),
        std::pair(3, Recompute::Elementwise), std::pair(3, Recompute::Yes)}) {
    const sbp::Policy way = said.over(sbp::Policy().setStage(stage).setRecompute(recompute));
    if (std::find(ways.begin(), ways.end(), way) == ways.end())
      ways.push_back(way);
  }
  return ways;
}

absl::StatusOr<LargestPeak> largestPeak(mlir::ModuleOp plans, const MemoryReports &reports, bool savesBeside,
                                        runtime::Communicator &communicator) {
  int64_t mine = 0;
  for (const exec::EntryPoint &point : exec::entryPointsOf(plans)) {
    MemoryReport report = reports.of(point);
    report.snapshotBytes = savesBeside ? report.persistentBytes : 0;
    mine = std::max(mine, report.peakBytes());
  }
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<std::string> all,
                             communicator.exchange(absl::StrCat(mine), {"comparison of predicted peaks"}));
  LargestPeak largest;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    int64_t bytes = 0;
    if (!absl::SimpleAtoi(all[rank], &bytes))
      return absl::InternalError(absl::StrCat("rank ", rank, " gave '", all[rank], "' as its predicted peak"));
    if (bytes > largest.bytes)
      largest = {bytes, static_cast<int64_t>(rank)};
  }
  return largest;
}

absl::Status exceedsLimit(int64_t limit, const LargestPeak &least, const sbp::Policy &way) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "memory-limit is ", limit, " bytes, but the least predicted peak that was found is ", least.bytes, " on rank ",
      least.rank, ", with ", sbp::toString(way),
      "; raise the limit to that, leave more to be chosen (stage, recompute), or use more ranks or micro-batches "
      "(accumulate)"));
}

} // namespace splitcast
