//===- Alike.h - Checks that all ranks have the same --------------------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_ALIKE_H
#define SPLITCAST_COMPILER_LAUNCH_ALIKE_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <string>
#include <vector>

namespace splitcast {

/// The text's SHA-256, as 64 hexadecimal digits in upper case.
std::string digest(const std::string &text);

/// Checks that the texts, one per rank, are equal.
///   Errors  FailedPrecondition: they differ. The message is "ranks were started with different WHAT; start all with
///           the same:" and a line for each text, with the ranks that have it.
absl::Status checkAlike(const std::vector<std::string> &texts, const std::string &what);

/// Returns a text by which ranks can compare their files without reading all of them: the file's size and a digest of
/// 64 parts, its beginning and its end among them. So two different files can have equal texts, but the text of a wrong
/// file nearly always differs. It reads at most 256 KiB.
///   Errors  those of File.
absl::StatusOr<std::string> sampleOfFile(const std::string &path);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_ALIKE_H
