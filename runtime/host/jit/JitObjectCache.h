//===- JitObjectCache.h - Compiled kernels on disk ---------------------------===//
//
// Each kernel has one file, `<key>.kernel`. The key is a SHA-256, in hex, of all that the object depends on. The file's
// contents are
//
//   bytes 0-7    "SCKERN01"
//   bytes 8-39   SHA-256 of key and object
//   bytes 40-    the object
//
// Processes may share a directory: a file is written under a temporary name and then renamed, and it is used only if
// its SHA-256 is right. The SHA-256 finds damage; that nobody else has written the file follows from the directory,
// which must be this user's own (OwnDirectory.h).
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_JIT_JITOBJECTCACHE_H
#define SPLITCAST_RUNTIME_HOST_JIT_JITOBJECTCACHE_H

#include "runtime/io/OwnDirectory.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <optional>
#include <string>

namespace splitcast::runtime {

/// Returns the SHA-256 in hex.
std::string sha256Hex(const std::string &data);

/// Several threads may read at the same time.
class JitObjectCache {
public:
  /// With an empty directory name, nothing is found and nothing is kept.
  explicit JitObjectCache(std::string directory) : directory(std::move(directory)) {}

  /// Opens the directory, and makes it if it is missing. Before this call, and after an error, nothing is found and
  /// nothing is kept. A second call does nothing.
  ///   Errors  those of OwnDirectory::open.
  absl::Status open();

  /// Returns the object; nullopt if there is no file, or if it is damaged.
  ///   Errors  those of OwnDirectory::read: the file is not this user's own.
  absl::StatusOr<std::optional<std::string>> read(const std::string &key) const;

  /// Writes the object. The first call removes files that writers left behind when they were killed: a process that
  /// finds all its kernels, as many start at once, need not list a directory that may have thousands.
  ///   Errors  Unavailable, which names file and reason: the object is not kept, and no partial file is left.
  absl::Status write(const std::string &key, const std::string &object);

private:
  std::string directory;
  bool isTried = false, isSwept = false;
  std::optional<OwnDirectory> opened;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_JIT_JITOBJECTCACHE_H
