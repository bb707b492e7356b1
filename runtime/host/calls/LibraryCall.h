//===- LibraryCall.h - Library calls on the CPU ------------------------------===//
//
// A library call is work that is done better by a library, or by code here, than by a kernel. Each call is one file,
// which registers itself by name; LibraryEmbeddingGrad.cc is a small one.
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
  /// The threads among which calls divide their work. The division depends on the sizes alone, so that results do not
  /// depend on the number of threads, in any bit.
  std::shared_ptr<WorkerPool> pool;
};

using LibraryCallFactory = absl::StatusOr<std::unique_ptr<Launchable>> (*)(exec::LibraryCallAttrInterface call,
                                                                           const LibraryCallOptions &options);

/// A static object of this type in a call's file registers the call.
struct LibraryCallRegistration {
  LibraryCallRegistration(const char *name, LibraryCallFactory factory);
};

/// Makes oneDNN write the names of the code that it generates from now on; see HostDeviceOptions::namesForPerf.
void nameLibraryCodeForPerf();

/// Implements Device::libraryCall.
absl::StatusOr<std::unique_ptr<Launchable>> createLibraryCall(exec::LibraryCallAttrInterface call,
                                                              const LibraryCallOptions &options);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_CALLS_LIBRARYCALL_H
