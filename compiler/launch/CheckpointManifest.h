//===- CheckpointManifest.h - What says that a checkpoint is whole -------------===//
//
// A checkpoint is two files of one directory: step-000000120.safetensors has all variables, state of optimizers, counts
// and the scale of a loss among them, and step-000000120.json, the manifest, is written behind it: the step, the seed,
// and digests (SHA-256) of the former's blocks and of itself. What has no manifest that agrees with it is none.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_CHECKPOINTMANIFEST_H
#define SPLITCAST_COMPILER_LAUNCH_CHECKPOINTMANIFEST_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace splitcast {

struct CheckpointManifest {
  int64_t step = 0; ///< steps that had been done; the next batch is that of this number, counted from 0
  int64_t seed = 0;
  int64_t bytes = 0; ///< of the file of variables
  int64_t blockBytes = int64_t{16} << 20;
  std::vector<std::string> digests;                    ///< of each block of the file, the last of which may be shorter
  std::optional<double> validationLoss = std::nullopt; ///< of these variables, where it was computed; finite

  /// "step-000000120", to which ".json" or ".safetensors" is added.
  static std::string nameOf(int64_t step);
  /// The step of a manifest's name; -1: it is no such name.
  static int64_t stepOf(const std::string &fileName);

  std::string text() const;
  /// `path` is for messages.
  ///   Errors  DataLoss: the text is not, to the byte, what text() gives of what it says. InvalidArgument: it is of a
  ///           newer version.
  static absl::StatusOr<CheckpointManifest> parse(const std::string &text, const std::string &path);

  int64_t numBlocks() const { return (bytes + blockBytes - 1) / blockBytes; }
};

/// Digests of blocks `first`, `first + stride`, ... of a file of so many bytes.
///   Errors  DataLoss: the file has another size. Those of File.
absl::StatusOr<std::vector<std::string>> digestsOfBlocks(const std::string &path, int64_t bytes, int64_t blockBytes,
                                                         int64_t first, int64_t stride);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_CHECKPOINTMANIFEST_H
