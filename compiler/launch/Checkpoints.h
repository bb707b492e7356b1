//===- Checkpoints.h - Training that goes on where it was ----------------------===//
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
  std::string directory; ///< empty: none are written
  int64_t every = 100;   ///< steps
  int64_t keep = 2;      ///< the newest, and besides them the best
  std::string resume;    ///< a directory of checkpoints to go on from; empty: from the beginning

  /// --checkpoint, --checkpoint-every, --keep and --resume.
  void addTo(Flags &flags);
};

/// A checkpoint that is being written: variables, then digests of what is on the disk, by a thread of each rank.
struct PendingCheckpoint {
  int64_t step = 0;
  std::optional<double> validationLoss;
  std::unique_ptr<runtime::PendingSave> save;                    ///< null once the file has its name
  int64_t bytes = 0;                                             ///< of that file
  std::future<absl::StatusOr<std::vector<std::string>>> digests; ///< of this rank's blocks
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
  /// was computed: begins a checkpoint when it is time, which threads write beside the steps that follow, and goes on
  /// with the one before; once that is complete, removes what is older than those to keep, but for the one of the least
  /// such loss. Waits only where the next is to begin.
  absl::Status afterStep(int64_t done, std::optional<double> validationLoss = std::nullopt);
  /// Waits until all that was begun is on the disk. Called behind the last step.
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
