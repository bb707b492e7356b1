//===- PerfMap.h - Names of kernels for Linux's perf -------------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_JIT_PERFMAP_H
#define SPLITCAST_RUNTIME_HOST_JIT_PERFMAP_H

#include "absl/status/status.h"

#include <string>

namespace splitcast::runtime {

/// Collects names of generated code for /tmp/perf-PID.map, which `perf report` reads. The destructor appends them to
/// the file, because oneDNN writes its own names there while it generates code, over whatever the file has. The file of
/// a process that is killed has only oneDNN's names.
class PerfMap {
public:
  /// Removes the file that an earlier process of the same number left, and creates it anew. It is done once per
  /// process, before anybody writes to the file. In /tmp it may be somebody else's.
  ///   Errors  those of openOwnFileForAppending: no names can be written.
  static absl::Status prepareFile();

  PerfMap() = default;
  ~PerfMap();
  /// Adds the functions of an object file that has one kernel, whose entry was loaded at `address`.
  void add(const std::string &name, const void *address, const std::string &object, const std::string &entry);

private:
  std::string lines;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_JIT_PERFMAP_H
