//===- LaunchBackend.h - Kinds of devices that a program can be launched on -------------------===//
//
// Each kind is one file, which registers itself (LaunchCpu.cc, LaunchPlugin.cc). A program that links the file can be
// started with --device=KIND.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_LAUNCHBACKEND_H
#define SPLITCAST_COMPILER_LAUNCH_LAUNCHBACKEND_H

#include "runtime/api/Communicator.h"
#include "runtime/api/Device.h"

#include "absl/time/time.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace splitcast {
namespace runtime {
class HostMemory; // runtime/host/HostMemory.h
} // namespace runtime

/// The options that a backend gets, for this rank.
struct LaunchBackendOptions {
  int threads = 1;
  std::string kernelCache;                     ///< a directory; if empty, no kernels are kept
  bool warnsOfCache = true;                    ///< whether this rank is the one to say that kernelCache is not used
  bool namesForPerf = false;                   ///< whether generated code gets names for Linux's perf
  bool anyOrder = false;                       ///< whether kernels may sum in any order
  int64_t localRank = 0, localRanks = 1;       ///< this rank's index among those of this machine, and their number
  absl::Duration timeout = absl::Seconds(300); ///< how long a rank waits for another
  /// Prints the status and terminates the process at once. It is for devices that hang after an error. Any thread may
  /// call it.
  std::function<void(const absl::Status &)> endProcess;
  std::shared_ptr<runtime::HostMemory> memory; ///< other ranks of this machine can read it; for tensors on the host
};

struct LaunchBackend {
  std::unique_ptr<runtime::Device> device;
  std::unique_ptr<runtime::Communicator> communicator; ///< destroyed before the device
};

/// Makes the backend of this rank. All ranks call it at the same point, in the thread that will use the backend. `host`
/// is a communicator of all ranks whose buffers are host memory; the backend may keep it.
using LaunchBackendFactory = absl::StatusOr<LaunchBackend> (*)(const LaunchBackendOptions &options,
                                                               std::unique_ptr<runtime::Communicator> host);

/// A static object of this type adds a kind, or replaces the one of that name.
struct LaunchBackendRegistration {
  LaunchBackendRegistration(const char *kind, LaunchBackendFactory factory);
};

/// The kinds that this program has, "cpu" first.
std::vector<std::string> launchBackends();

/// Makes a backend of this kind.
///   Errors  InvalidArgument: the program does not have this kind. Those of the backend.
absl::StatusOr<LaunchBackend> createLaunchBackend(const std::string &kind, const LaunchBackendOptions &options,
                                                  std::unique_ptr<runtime::Communicator> host);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_LAUNCHBACKEND_H
