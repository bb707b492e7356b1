//===- SessionRun.h - A module as a user runs it: sessions on N ranks -----------------===//
#ifndef SPLITCAST_TESTS_DIFFERENTIAL_SESSIONRUN_H
#define SPLITCAST_TESTS_DIFFERENTIAL_SESSIONRUN_H

#include "tests/differential/Oracle.h"
#include "tests/differential/PassList.h"

namespace splitcast::differential {

struct SessionOutcome {
  Variables initial; ///< from the initializers
  Outcome outcome;
};

/// Sessions of the module on all ranks of its placement, as threads: variables from their initializers, then the calls,
/// of functions all of whose results are B.
///   Errors  DataLoss: ranks disagree about a result or a variable; those of Session.
absl::StatusOr<SessionOutcome> runSessions(mlir::ModuleOp module, const std::vector<Call> &calls,
                                           const Configuration &configuration, const std::string &objectCacheDir);

} // namespace splitcast::differential

#endif // SPLITCAST_TESTS_DIFFERENTIAL_SESSIONRUN_H
