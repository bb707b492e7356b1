//===- InstalledFile.h - Files of others whose code this process executes ------===//
//
// A backend that is loaded and bitcode that is linked into kernels come with an installation, which is often root's. So
// they are not held to the rule of OwnDirectory.h, which is for what this user's processes keep for themselves: they
// are trusted as much as the program, by this rule.
//
//   owner   root, the user of this process (its effective id), or the user to whom the program belongs
//   type    a regular file; symbolic links are followed, since installations have them
//   mode    others may not write, nor may a group that cannot write the program as well
//
// The program is the file that this code is in: an executable, or a library that some other program has loaded.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_IO_INSTALLEDFILE_H
#define SPLITCAST_RUNTIME_IO_INSTALLEDFILE_H

#include "absl/status/statusor.h"

#include <cstdint>
#include <string>
#include <sys/stat.h>

namespace splitcast::runtime {

/// Returns how a file breaks the rule, as "may be written by others (mode 666)"; "" if it keeps it.
std::string whyNotInstalled(const struct stat &found);

/// Returns the contents of a file, which is looked at by its descriptor, so that nothing can be exchanged between the
/// look and the use. It is not mapped: a file that somebody cuts off meanwhile is an error and no signal.
///   Errors  FailedPrecondition: the rule is broken, or the file is longer than `maxBytes`; the message says how, and
///           the caller adds what to do. Unavailable: it cannot be opened or read.
absl::StatusOr<std::string> readInstalledFile(const std::string &path, int64_t maxBytes);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_IO_INSTALLEDFILE_H
