//===- Alike.h - What all ranks must have in common ---------------------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_ALIKE_H
#define SPLITCAST_COMPILER_LAUNCH_ALIKE_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <string>
#include <vector>

namespace splitcast {

/// SHA-256, in hexadecimal.
std::string digest(const std::string &text);

/// FailedPrecondition unless the texts, one per rank, are equal: "ranks were started with different WHAT; start all
/// with the same:" and a line for each text, with the ranks that have it.
absl::Status checkAlike(const std::vector<std::string> &texts, const std::string &what);

/// Of a file, what ranks can compare without any of them reading all of it: its size and a digest of 64 parts, its
/// beginning and its end among them. So files that differ may have equal texts, but other files than were meant hardly
/// ever do.
absl::StatusOr<std::string> sampleOfFile(const std::string &path);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_ALIKE_H
