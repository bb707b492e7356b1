//===- Schedules.h - What a schedule comes to, run by run -----------------------------===//
//
// A schedule runs functions with parts of its inputs; nothing passes between runs but variables. So every level can run
// one by running its functions, and the same calls are right for all.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_DIFFERENTIAL_SCHEDULES_H
#define SPLITCAST_TESTS_DIFFERENTIAL_SCHEDULES_H

#include "tests/differential/Oracle.h"

namespace splitcast::differential {

class ScheduledCalls {
public:
  /// The experiment, with the calls of its schedules instead of those of the schedules themselves. InvalidArgument when
  /// an input has no dimension or not the extent that is cut.
  static absl::StatusOr<ScheduledCalls> of(mlir::ModuleOp module, const Experiment &experiment);

  Experiment experiment;

  /// What the schedules gave, by call of the experiment that this was made of, from what the functions gave.
  absl::StatusOr<std::vector<std::vector<Tensor>>> join(std::vector<std::vector<Tensor>> results) const;

private:
  /// What one of the calls is of.
  struct Part {
    size_t call;                       ///< of the experiment that this was made of
    std::vector<int64_t> gives, joins; ///< as in sbp.run
    bool isScheduled;
    std::vector<int64_t> microBatches = {}; ///< that the results are of
  };
  std::vector<Part> parts; ///< by call
};

} // namespace splitcast::differential

#endif // SPLITCAST_TESTS_DIFFERENTIAL_SCHEDULES_H
