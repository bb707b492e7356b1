//===- Checkpoints.h - Training that resumes where it stopped ------------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_CHECKPOINTS_H
#define SPLITCAST_COMPILER_LAUNCH_CHECKPOINTS_H

#include "compiler/launch/CheckpointManifest.h"
#include "compiler/launch/CheckpointName.h"
#include "compiler/launch/DirectoryClaim.h"
#include "compiler/launch/Launch.h"
#include "compiler/launch/LaunchFlags.h"
#include "compiler/launch/SavedRates.h"
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
  CheckpointName name;
  std::optional<double> validationLoss;
  std::unique_ptr<runtime::PendingSave> save;                    ///< null once the file has its final name
  int64_t bytes = 0;                                             ///< the size of that file
  std::future<absl::StatusOr<std::vector<std::string>>> digests; ///< those of this rank's blocks
};

/// Writes and reads the checkpoints of one job. The directory belongs to the job that began last (DirectoryClaim.h). An
/// earlier one that still runs, or goes on after a pause, gets an error on all ranks when it is about to write, and
/// what the later one has written stays. All ranks call the same methods, in the session's thread, and all see the
/// directory. Options, launch and session are borrowed, and outlive this object. After an error the job ends; the
/// newest complete checkpoint stays.
class Checkpoints {
public:
  /// Makes the directory if it is missing, and takes it from any job that had it. `seed` is the session's, and at least
  /// 0. To write checkpoints, the session needs SessionOptions::savesBeside.
  ///   Errors  FailedPrecondition: hosts do not share the directory (a rank does not see what rank 0 wrote); or it has
  ///           checkpoints, and the job does not resume from them. Those of File.
  static absl::StatusOr<Checkpoints> open(const CheckpointOptions &options, int64_t seed, Launch &launch,
                                          Session &session);

  /// Loads the newest complete checkpoint, whatever number of ranks and ZeRO options it was written with. Returns the
  /// number of steps that it has completed; 0 if the options do not ask to resume. If a checkpoint is damaged, rank 0
  /// prints this, and the one before it is tried. `rates` says whose learning rates count.
  ///   Errors  NotFound: no checkpoint is complete. InvalidArgument: it has another seed, or more than `steps` steps.
  ///           Those of Session::loadVariables: it is of another model. Those of SavedRates::load. After an error, the
  ///           directory belongs to the job before this one again.
  absl::StatusOr<int64_t> resume(int64_t steps, const SavedRates &rates);

  /// Called after each step with the number of completed steps and, if it was computed, the validation loss (of data
  /// that is not trained on). Advances the pending checkpoint. When this is complete, removes the checkpoints beyond
  /// `keep`, except the one with the lowest validation loss. Begins a checkpoint if one is due; threads write it during
  /// the following steps. It waits only if a checkpoint is due while the one before is still being written.
  ///   Errors  FailedPrecondition, from finish(), too: the directory belongs to another job by now, which is named.
  absl::Status afterStep(int64_t done, std::optional<double> validationLoss = std::nullopt);
  /// Waits until the pending checkpoint is on the disk. Called after the last step. It begins none: steps after the
  /// last multiple of `every` are in no checkpoint.
  absl::Status finish();

private:
  Checkpoints(const CheckpointOptions &options, int64_t seed, Launch &launch, Session &session)
      : options(&options), seed(seed), launch(&launch), session(&session) {}

  absl::Status refuseOthers() const;
  absl::StatusOr<DirectoryClaim> takeDirectory() const;
  absl::Status claimDirectory();
  absl::Status checkOwned();
  absl::Status causeOf(const absl::Status &error) const;
  absl::StatusOr<CheckpointManifest> digested();
  absl::Status isWhole(const CheckpointName &name, CheckpointManifest &manifest);
  absl::StatusOr<std::vector<CheckpointName>> namesToTry();
  absl::StatusOr<std::optional<CheckpointName>> newestWhole(const std::vector<CheckpointName> &names,
                                                            CheckpointManifest &manifest);
  absl::StatusOr<int64_t> load(int64_t steps, const SavedRates &rates);
  absl::Status begin(int64_t step, std::optional<double> validationLoss);
  absl::Status goOn(bool waits);
  absl::StatusOr<bool> isReady(bool isMine);
  absl::Status complete();
  absl::Status writeManifest(const CheckpointManifest &manifest, const std::string &path) const;
  absl::StatusOr<std::vector<CheckpointName>> namesToKeep(int64_t step) const;
  absl::Status removeOld(int64_t step) const;

  const CheckpointOptions *options;
  int64_t seed;
  Launch *launch;
  Session *session;
  std::optional<DirectoryClaim> claim; ///< nullopt if no checkpoints are written
  int64_t resumedStep = -1;            ///< -1: this job has not resumed
  std::optional<PendingCheckpoint> pending;
};

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_CHECKPOINTS_H
