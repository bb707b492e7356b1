//===- OwnDirectory.h - Files that this process trusts enough to execute -------===//
//
// What lies in a file that is executed or mapped decides what this process does. So such a file must come from the user
// who runs it. docs/security.md lists the files to which this applies. The rule, for a file and for the directory that
// holds it:
//
//   owner   the user of this process (its effective id); root's files are not a user's own
//   type    a regular file with at most one name (of two, one may be anywhere), or a directory; no symbolic link
//   mode    neither the group nor others may write
//
// It is looked at by descriptor, after opening, so that nothing can be exchanged between the look and the use. Opening
// waits for nobody (a FIFO), and no more is read than was asked for. Directories above may belong to others, who can
// then take the directory away, but cannot put a file into it.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_IO_OWNDIRECTORY_H
#define SPLITCAST_RUNTIME_IO_OWNDIRECTORY_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace splitcast::runtime {

/// Looks at a file that is open, whatever it is. It may have no name (memfd_create).
///   Errors  FailedPrecondition: the rule above is broken; the message says how, and what to do.
absl::Status checkOwnFile(int descriptor, const std::string &path);

/// Opens a file for appending, and creates it with mode 0600 if it is missing. Returns a descriptor that the caller
/// closes.
///   Errors  those of checkOwnFile. Unavailable: the system refuses.
absl::StatusOr<int> openOwnFileForAppending(const std::string &path);

/// A directory of which only this user can change the entries. Several threads may use it; the destructor closes it.
class OwnDirectory {
public:
  /// Opens the directory. If it or those above are missing, they are made with mode 0700, whatever the umask. Symbolic
  /// links above it are followed.
  ///   Errors  FailedPrecondition: others may write there, or may have written. The message says why and what to do.
  ///           Unavailable: it cannot be opened or made.
  static absl::StatusOr<OwnDirectory> open(const std::string &path);

  OwnDirectory(OwnDirectory &&other) noexcept;
  OwnDirectory &operator=(OwnDirectory &&other) noexcept;
  ~OwnDirectory();

  const std::string &path() const { return directoryPath; }

  /// Returns the contents of the file; nullopt if there is none of this name, which has no slash.
  ///   Errors  those of checkOwnFile, and FailedPrecondition: it is longer than `maxBytes`. Unavailable: it cannot be
  ///           read.
  absl::StatusOr<std::optional<std::string>> read(const std::string &name, int64_t maxBytes) const;
  /// Writes the file with mode 0600, under a temporary name first, which is `name`.PID-N.tmp. Whatever had the name
  /// before is replaced, not written to.
  ///   Errors  Unavailable, with the system's reason: nothing is left, and the file before is there.
  absl::Status write(const std::string &name, const std::string &contents) const;
  /// Returns the names of all entries.
  std::vector<std::string> names() const;
  /// Removes the file if it was last written more than `seconds` ago. A writer that was killed leaves its temporary
  /// one.
  void removeIfOlder(const std::string &name, time_t seconds) const;
  /// Takes the rights to list and enter the directory from the group and others.
  void makePrivate() const;

private:
  OwnDirectory(int descriptor, std::string path) : descriptor(descriptor), directoryPath(std::move(path)) {}

  int descriptor = -1;
  std::string directoryPath;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_IO_OWNDIRECTORY_H
