#include "tests/differential/PassList.h"
#include "tests/property/SessionTurns.h"

#include "absl/strings/str_cat.h"

using namespace mlir;

namespace splitcast::property {

namespace {

using differential::SessionOutcome;
using differential::Turn;
using Programs = std::vector<differential::SessionProgram>;

/// As the reference runs the session's calls, from the values with which the session begins.
absl::StatusOr<differential::Outcome> referenceOf(ModuleOp program, const std::vector<Turn> &turns,
                                                  const SessionOutcome &session) {
  OwningOpRef<ModuleOp> module = cast<ModuleOp>(program->clone());
  for (const char *pass : {"nn-differentiate", "nn-expand-optimizers"})
    if (absl::Status status = differential::runPass(*module, pass); !status.ok())
      return status;
  differential::Experiment experiment{{}, session.initial};
  for (const Turn &turn : turns)
    experiment.calls.push_back(turn.call);
  return differential::runGlobal(*module, experiment);
}

absl::Status located(const std::string &where, const absl::Status &status) {
  return status.ok() ? status : absl::Status(status.code(), absl::StrCat(where, ": ", status.message()));
}

/// A session alone, which must be as the reference.
absl::StatusOr<differential::Outcome> runAlone(const differential::SessionProgram &program, double tolerance,
                                               size_t number, const std::vector<Turn> &all,
                                               const std::string &objectCacheDir) {
  std::vector<Turn> turns;
  for (const Turn &turn : all)
    if (turn.session == number)
      turns.push_back({0, turn.call});
  absl::StatusOr<differential::TurnsOutcome> alone =
      differential::runInTurns({program}, turns, std::nullopt, objectCacheDir);
  if (!alone.ok())
    return alone.status();
  const SessionOutcome &session = alone->sessions.front();
  absl::StatusOr<differential::Outcome> expected = referenceOf(program.module, turns, session);
  if (!expected.ok())
    return expected.status();
  if (absl::Status status =
          differential::compare(*expected, session.outcome, differential::Agreement::Close, tolerance);
      !status.ok())
    return status;
  return session.outcome;
}

/// Each rank must have an error, which says that ranks are at unlike calls.
absl::Status checkUnlike(const std::vector<absl::Status> &statuses, int64_t oddRank) {
  for (size_t rank = 0; rank < statuses.size(); ++rank)
    if (!absl::IsFailedPrecondition(statuses[rank]))
      return absl::DataLossError(absl::StrCat("rank ", oddRank, " takes other turns, and rank ", rank, " has no error ",
                                              "that says so: ", statuses[rank].ToString()));
  return absl::OkStatus();
}

} // namespace

absl::Status checkSessionTurns(const SessionTurns &sessions, const std::string &objectCacheDir) {
  Programs programs;
  std::vector<differential::Outcome> alone;
  for (const SessionTurns::Program &program : sessions.programs) {
    programs.push_back({*const_cast<OwningOpRef<ModuleOp> &>(program.module), program.configuration, program.seed});
    absl::StatusOr<differential::Outcome> outcome =
        runAlone(programs.back(), program.tolerance, alone.size(), sessions.turns, objectCacheDir);
    if (!outcome.ok())
      return located(absl::StrCat("session ", alone.size(), " alone"), outcome.status());
    alone.push_back(*std::move(outcome));
  }
  absl::StatusOr<differential::TurnsOutcome> together =
      differential::runInTurns(programs, sessions.turns, sessions.unlike, objectCacheDir);
  if (!together.ok())
    return located("sessions in turns", together.status());
  for (size_t number = 0; number < alone.size(); ++number)
    if (absl::Status status =
            differential::compare(alone[number], together->sessions[number].outcome, differential::Agreement::Bits);
        !status.ok())
      return located(absl::StrCat("session ", number, " in turns with another"), status);
  return located("sessions in unlike turns", checkUnlike(together->unlike, sessions.unlike.rank));
}

} // namespace splitcast::property
