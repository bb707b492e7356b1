//===- SessionRun.h - Runs a module like a user, with sessions on N ranks -------------===//
#ifndef SPLITCAST_TESTS_DIFFERENTIAL_SESSIONRUN_H
#define SPLITCAST_TESTS_DIFFERENTIAL_SESSIONRUN_H

#include "tests/differential/Oracle.h"
#include "tests/differential/PassList.h"

#include <optional>

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

/// A session of several that the same ranks have.
struct SessionProgram {
  mlir::ModuleOp module;
  Configuration configuration;
  uint64_t seed = 0;
};

/// A call of one of the sessions.
struct Turn {
  size_t session;
  Call call;
};

/// What follows turns that all ranks take alike: one rank goes on otherwise than the others.
struct UnlikeTurns {
  int64_t rank;
  std::vector<Turn> ofRank, ofOthers;
};

struct TurnsOutcome {
  std::vector<SessionOutcome> sessions; ///< after the turns that all ranks take alike
  std::vector<absl::Status> unlike;     ///< by rank: its first error in the turns that are unlike
};

/// Creates a session of each program on all ranks, in this order, and takes the turns: first those that are alike,
/// then, if there are any, those that are not. All programs have placements with as many ranks; all results must be B.
///   Errors  as those of runSessions, of turns that are alike.
absl::StatusOr<TurnsOutcome> runInTurns(const std::vector<SessionProgram> &programs, const std::vector<Turn> &turns,
                                        const std::optional<UnlikeTurns> &unlike, const std::string &objectCacheDir);

} // namespace splitcast::differential

#endif // SPLITCAST_TESTS_DIFFERENTIAL_SESSIONRUN_H
