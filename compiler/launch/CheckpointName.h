//===- CheckpointName.h - Which checkpoint of a directory a file is of --------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_CHECKPOINTNAME_H
#define SPLITCAST_COMPILER_LAUNCH_CHECKPOINTNAME_H

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

namespace splitcast {

/// The job that wrote a checkpoint, by its number in the directory (DirectoryClaim.h), and the step. Names of two jobs
/// differ, so no job replaces another's file, however late it writes. Later jobs come after earlier ones in the order,
/// whatever their steps: what an earlier job wrote after a later one had begun is of no use to the later one.
///
///   job, step      text()                    files
///   1, 120         step-000000120            step-000000120.json, step-000000120.safetensors
///   2, 120         step-000000120-job-2      step-000000120-job-2.json, ...
///
/// Job 1 includes programs of before there were numbers.
struct CheckpointName {
  int64_t job = 1;  ///< at least 1
  int64_t step = 0; ///< the number of completed steps

  std::string text() const;

  /// Returns the checkpoint to which a file of this name belongs, finished or not; nullopt if it belongs to none.
  static std::optional<CheckpointName> ofFile(const std::string &fileName);
  /// Returns the same, for the name of a manifest, and otherwise nullopt.
  static std::optional<CheckpointName> ofManifest(const std::string &fileName);

  friend bool operator==(const CheckpointName &a, const CheckpointName &b) {
    return a.job == b.job && a.step == b.step;
  }
  friend bool operator<(const CheckpointName &a, const CheckpointName &b) {
    return std::tie(a.job, a.step) < std::tie(b.job, b.step);
  }
};

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_CHECKPOINTNAME_H
