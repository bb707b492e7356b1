//===- LibraryCall.h - What a library does better than a kernel --------------===//
//
// Each call is one file, which registers itself by name: see LibraryEmbeddingGrad.cc for a small one.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_CALLS_LIBRARYCALL_H
#define SPLITCAST_RUNTIME_HOST_CALLS_LIBRARYCALL_H

#include "runtime/api/CallAs.h"
#include "runtime/api/Device.h"
#include "runtime/workers/WorkerPool.h"

#include <memory>
#include <string>

namespace splitcast::runtime {

struct LibraryCallOptions {
  /// What calls divide their work by. How it is divided depends on the sizes alone, so that no bit depends on threads.
  std::shared_ptr<WorkerPool> pool;
};

using LibraryCallFactory = absl::StatusOr<std::unique_ptr<Launchable>> (*)(exec::LibraryCallAttrInterface call,
                                                                           const LibraryCallOptions &options);

/// A static object of this type in a call's file adds the call.
struct LibraryCallRegistration {
  LibraryCallRegistration(const char *name, LibraryCallFactory factory);
};

/// oneDNN writes names of the code that it generates from now on; see HostDeviceOptions.
void nameLibraryCodeForPerf();

/// As Device::libraryCall.
absl::StatusOr<std::unique_ptr<Launchable>> createLibraryCall(exec::LibraryCallAttrInterface call,
                                                              const LibraryCallOptions &options);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_CALLS_LIBRARYCALL_H
