//===- Checkpoints.h - Training that resumes where it stopped ------------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_CHECKPOINTS_H
#define SPLITCAST_COMPILER_LAUNCH_CHECKPOINTS_H

#include "compiler/launch/CheckpointManifest.h"
#include "compiler/launch/Launch.h"
#include "compiler/launch/LaunchFlags.h"
#include "compiler/launch/Session.h"

#include <future>
#include <memory>
#include <optional>

namespace splitcast {

struct CheckpointOptions {
  std::string directory; ///< where checkpoints are written; if empty, none are
  int64_t every = 100;   ///< steps from one checkpoint to the next, at least 1
  int64_t keep = 2;      ///< how many of the newest checkpoints are kept, in addition to the best one; at least 1
  std::string resume;    ///< a directory of checkpoints to resume from; if empty, training starts from the beginning

  /// Adds --checkpoint, --checkpoint-every, --keep and --resume.
  void addTo(Flags &flags);
};

/// A checkpoint that is being written: a thread of each rank writes variables, then computes digests of the file.
struct PendingCheckpoint {
  int64_t step = 0;
  std::optional<double> validationLoss;
  std::unique_ptr<runtime::PendingSave> save;                    ///< null once the file has its final name
  int64_t bytes = 0;                                             ///< the size of that file
  std::future<absl::StatusOr<std::vector<std::string>>> digests; ///< those of this rank's blocks
};

/// Writes and reads the checkpoints of one job. No other job may write to the directory meanwhile. All ranks call the
/// same methods, in the session's thread, and all see the directory. Options, launch and session are borrowed, and
/// outlive this object. After an error the job ends; the newest complete checkpoint stays.
class Checkpoints {
public:
  /// Makes the directory if it is missing. `seed` is the session's, and at least 0. To write checkpoints, the session
  /// needs SessionOptions::savesBeside.
  ///   Errors  FailedPrecondition: hosts do not share the directory (a rank does not see what rank 0 wrote); or it has
  ///           checkpoints, and the job does not resume from them. Those of File.
  static absl::StatusOr<Checkpoints> open(const CheckpointOptions &options, int64_t seed, Launch &launch,
                                          Session &session);

  /// Loads the newest complete checkpoint, whatever number of ranks and ZeRO options it was written with. Returns the
  /// number of steps that it has completed; 0 if the options do not ask to resume. If a checkpoint is damaged, rank 0
  /// prints this, and the one before it is tried.
  ///   Errors  NotFound: no checkpoint is complete. InvalidArgument: it has another seed, or more than `steps` steps.
  ///           Those of Session::loadVariables: it is of another model.
  absl::StatusOr<int64_t> resume(int64_t steps);

  /// Called after each step with the number of completed steps and, if it was computed, the validation loss (of data
  /// that is not trained on). Advances the pending checkpoint. When this is complete, removes the checkpoints beyond
  /// `keep`, except the one with the lowest validation loss. Begins a checkpoint if one is due; threads write it during
  /// the following steps. It waits only if a checkpoint is due while the one before is still being written.
  absl::Status afterStep(int64_t done, std::optional<double> validationLoss = std::nullopt);
  /// Waits until the pending checkpoint is on the disk. Called after the last step. It begins none: steps after the
  /// last multiple of `every` are in no checkpoint.
  absl::Status finish();

private:
  Checkpoints(const CheckpointOptions &options, int64_t seed, Launch &launch, Session &session)
      : options(&options), seed(seed), launch(&launch), session(&session) {}

  absl::StatusOr<std::string> makeDirectory() const;
  absl::Status checkShared();
  absl::StatusOr<CheckpointManifest> digested();
  absl::Status isWhole(int64_t step, CheckpointManifest &manifest);
  absl::StatusOr<std::vector<int64_t>> stepsToTry();
  absl::Status begin(int64_t step, std::optional<double> validationLoss);
  absl::Status goOn(bool waits);
  absl::StatusOr<bool> isReady(bool isMine);
  absl::Status complete();
  absl::StatusOr<std::vector<int64_t>> stepsToKeep(int64_t step) const;
  absl::Status removeOld(int64_t step) const;

  const CheckpointOptions *options;
  int64_t seed;
  Launch *launch;
  Session *session;
  std::optional<PendingCheckpoint> pending;
};

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_CHECKPOINTS_H
