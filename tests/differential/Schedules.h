//===- Schedules.h - Replaces calls of schedules by calls of their functions ----------===//
//
// A schedule runs functions on parts of its inputs, and only variables pass values from run to run. So every level can
// run a schedule by calling its functions, and the same calls are right for all levels.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_DIFFERENTIAL_SCHEDULES_H
#define SPLITCAST_TESTS_DIFFERENTIAL_SCHEDULES_H

#include "tests/differential/Oracle.h"

namespace splitcast::differential {

class ScheduledCalls {
public:
  /// Returns the experiment with each call of a schedule replaced by calls of its functions.
  ///   Errors  InvalidArgument: an input that is cut has no dimension, or not the expected extent.
  static absl::StatusOr<ScheduledCalls> of(mlir::ModuleOp module, const Experiment &experiment);

  Experiment experiment;

  /// Returns the results of the calls of the original experiment, from those of the functions.
  absl::StatusOr<std::vector<std::vector<Tensor>>> join(std::vector<std::vector<Tensor>> results) const;

private:
  /// The part of the original experiment that a call is.
  struct Part {
    size_t call;                       ///< the index of the call in the original experiment
    std::vector<int64_t> gives, joins; ///< as in sbp.run
    bool isScheduled;
    std::vector<int64_t> microBatches = {}; ///< those of the results
  };
  std::vector<Part> parts; ///< one per call
};

} // namespace splitcast::differential

#endif // SPLITCAST_TESTS_DIFFERENTIAL_SCHEDULES_H
