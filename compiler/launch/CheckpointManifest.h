//===- CheckpointManifest.h - The file that makes a checkpoint complete --------===//
//
// A checkpoint is two files of one directory. step-000000120.safetensors has all variables, including the state of
// optimizers, counts and the scale of a loss. step-000000120.json, the manifest, is written after it; it has the step,
// the seed, and digests (SHA-256) of the first file's blocks and of itself. Without a manifest that matches it, a file
// is not a checkpoint. Names of jobs that resumed have the job's number, too (CheckpointName.h).
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
  int64_t step = 0;  ///< the number of completed steps, which is also the index of the next batch, from 0
  int64_t seed = 0;  ///< at least 0
  int64_t bytes = 0; ///< the size of the file of variables
  int64_t blockBytes = int64_t{16} << 20;
  std::vector<std::string> digests;                    ///< one per block of the file; the last block may be shorter
  std::optional<double> validationLoss = std::nullopt; ///< of these variables, if it was computed and is finite

  std::string text() const;
  /// Parses the text of a manifest. `path` is for messages.
  ///   Errors  DataLoss: the text differs from the one that text() returns for its contents. InvalidArgument: a newer
  ///           version wrote it.
  static absl::StatusOr<CheckpointManifest> parse(const std::string &text, const std::string &path);

  int64_t numBlocks() const { return (bytes + blockBytes - 1) / blockBytes; }
};

/// Returns the digests of blocks `first`, `first + stride`, ... of a file of `bytes` bytes. Blocks count from 0, and
/// `stride` and `blockBytes` are at least 1. Any thread may call it.
///   Errors  DataLoss: the file has another size. Those of File.
absl::StatusOr<std::vector<std::string>> digestsOfBlocks(const std::string &path, int64_t bytes, int64_t blockBytes,
                                                         int64_t first, int64_t stride);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_CHECKPOINTMANIFEST_H
