//===- SessionRun.h - Runs a module like a user, with sessions on N ranks -------------===//
#ifndef SPLITCAST_TESTS_DIFFERENTIAL_SESSIONRUN_H
#define SPLITCAST_TESTS_DIFFERENTIAL_SESSIONRUN_H

#include "tests/differential/Oracle.h"
#include "tests/differential/PassList.h"

namespace splitcast::differential {

struct SessionOutcome {
  Variables initial; ///< the values of the variables' initializers
  Outcome outcome;
};

/// Creates sessions of the module on all ranks of its placement, as threads, and makes the calls. All results of the
/// called functions must be B.
///   Errors  DataLoss: ranks disagree about a result or a variable; those of Session.
absl::StatusOr<SessionOutcome> runSessions(mlir::ModuleOp module, const std::vector<Call> &calls,
                                           const Configuration &configuration, const std::string &objectCacheDir);

} // namespace splitcast::differential

#endif // SPLITCAST_TESTS_DIFFERENTIAL_SESSIONRUN_H
