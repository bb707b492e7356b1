//===- Checkpoints.h - Training that goes on where it was ----------------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_CHECKPOINTS_H
#define SPLITCAST_COMPILER_LAUNCH_CHECKPOINTS_H

#include "compiler/launch/CheckpointManifest.h"
#include "compiler/launch/Launch.h"
#include "compiler/launch/LaunchFlags.h"
#include "compiler/launch/Session.h"

#include <optional>

namespace splitcast {

struct CheckpointOptions {
  std::string directory; ///< empty: none are written
  int64_t every = 100;   ///< steps
  int64_t keep = 2;      ///< the newest, and besides them the best
  std::string resume;    ///< a directory of checkpoints to go on from; empty: from the beginning

  /// --checkpoint, --checkpoint-every, --keep and --resume.
  void addTo(Flags &flags);
};

/// Writes and reads the checkpoints of one job; no other writes to the directory meanwhile. All ranks call the same
/// methods, and all have the directory. Launch and session are borrowed.
class Checkpoints {
public:
  /// Makes the directory, if it is missing.
  ///   Errors  FailedPrecondition: a rank does not see what rank 0 writes there, since hosts do not share it; or
  ///           checkpoints are there that are not gone on from. Those of File.
  static absl::StatusOr<Checkpoints> open(const CheckpointOptions &options, int64_t seed, Launch &launch,
                                          Session &session);

  /// Loads the newest checkpoint that is whole, whatever ranks and ZeRO it was written with, and gives the steps that
  /// had been done; 0 if none is to be loaded. Of one that is damaged rank 0 says so, and the one before it is taken.
  ///   Errors  NotFound: none is whole. InvalidArgument: it is of another seed, or behind `steps`. Those of
  ///           Session::loadVariables: it is of another model.
  absl::StatusOr<int64_t> resume(int64_t steps);

  /// Called after each step, with how many have been done, and the loss of data that nothing is trained on where that
  /// was computed: writes a checkpoint when it is time, then removes what is older than those to keep, but for the one
  /// of the least such loss. Returns when it is on the disk.
  absl::Status afterStep(int64_t done, std::optional<double> validationLoss = std::nullopt);

private:
  Checkpoints(const CheckpointOptions &options, int64_t seed, Launch &launch, Session &session)
      : options(&options), seed(seed), launch(&launch), session(&session) {}

  absl::StatusOr<std::string> makeDirectory() const;
  absl::Status checkShared();
  absl::StatusOr<CheckpointManifest> digested(int64_t step, const std::string &path);
  absl::Status isWhole(int64_t step, CheckpointManifest &manifest);
  absl::StatusOr<std::vector<int64_t>> stepsToTry();
  absl::Status write(int64_t step, std::optional<double> validationLoss);
  absl::StatusOr<std::vector<int64_t>> stepsToKeep(int64_t step) const;
  absl::Status removeOld(int64_t step) const;

  const CheckpointOptions *options;
  int64_t seed;
  Launch *launch;
  Session *session;
};

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_CHECKPOINTS_H
