//===- PerfMap.h - What Linux's perf calls the code of kernels ---------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_JIT_PERFMAP_H
#define SPLITCAST_RUNTIME_HOST_JIT_PERFMAP_H

#include <string>

namespace splitcast::runtime {

/// Names of generated code, for /tmp/perf-PID.map, which `perf report` reads. They are appended when this ends: oneDNN
/// writes its own names there while it generates, over whatever is in it. A process that is killed leaves oneDNN's
/// alone.
class PerfMap {
public:
  /// The process's first removes what an earlier process of the same number has left.
  PerfMap();
  ~PerfMap();
  /// The code of an object file that holds one kernel, whose entry was loaded at `address`.
  void add(const std::string &name, const void *address, const std::string &object, const std::string &entry);

private:
  std::string lines;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_JIT_PERFMAP_H
