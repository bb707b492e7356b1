//===- PlanRun.h - Runs plans, function by function --------------------------------===//
#ifndef SPLITCAST_TESTS_DIFFERENTIAL_PLANRUN_H
#define SPLITCAST_TESTS_DIFFERENTIAL_PLANRUN_H

#include "tests/differential/Oracle.h"

namespace splitcast::differential {

/// Like runPlans, but the calls must be calls of functions, not of schedules.
absl::StatusOr<Outcome> runPlanFunctions(llvm::ArrayRef<mlir::ModuleOp> modules, const Experiment &experiment,
                                         const std::string &objectCacheDir);

} // namespace splitcast::differential

#endif // SPLITCAST_TESTS_DIFFERENTIAL_PLANRUN_H
