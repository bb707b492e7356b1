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
// its SHA-256 is right.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_JIT_JITOBJECTCACHE_H
#define SPLITCAST_RUNTIME_HOST_JIT_JITOBJECTCACHE_H

#include "absl/status/status.h"

#include <optional>
#include <string>

namespace splitcast::runtime {

/// Returns the SHA-256 in hex.
std::string sha256Hex(const std::string &data);

class JitObjectCache {
public:
  /// With an empty directory name, nothing is found and nothing is kept.
  explicit JitObjectCache(std::string directory) : directory(std::move(directory)) {}

  /// Returns the object, or nothing if there is no file or the file is damaged.
  std::optional<std::string> read(const std::string &key) const;

  /// Writes the object, and makes the directory if it is missing.
  ///   Errors  Unavailable, which names file and reason: the object is not kept, and no partial file is left.
  absl::Status write(const std::string &key, const std::string &object) const;

  std::string pathOf(const std::string &key) const { return directory + "/" + key + ".kernel"; }

private:
  std::string directory;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_JIT_JITOBJECTCACHE_H
