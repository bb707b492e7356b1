//===- LaunchBackend.h - Kinds of devices that a program can be launched on -------------------===//
//
// A kind is one file, which registers itself (LaunchCpu.cc, LaunchPlugin.cc); a program that links it can be started
// with --device=KIND.
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

/// What a backend is told of this rank.
struct LaunchBackendOptions {
  int threads = 1;
  std::string kernelCache;
  bool namesForPerf = false;             ///< of generated code, for Linux's perf
  bool anyOrder = false;                 ///< of sums in kernels
  int64_t localRank = 0, localRanks = 1; ///< among the ranks of this machine
  absl::Duration timeout = absl::Seconds(300);
  /// Says why and ends this process, wherever it is: for a device that hangs after an error.
  std::function<void(const absl::Status &)> endProcess;
  std::shared_ptr<runtime::HostMemory> memory; ///< which ranks of this machine read, where tensors lie on the host
};

struct LaunchBackend {
  std::unique_ptr<runtime::Device> device;
  std::unique_ptr<runtime::Communicator> communicator; ///< destroyed before the device
};

/// All ranks call it at the same point. `host` is a communicator of them over the host, which the backend may keep.
using LaunchBackendFactory = absl::StatusOr<LaunchBackend> (*)(const LaunchBackendOptions &options,
                                                               std::unique_ptr<runtime::Communicator> host);

/// A static object of this type adds a kind.
struct LaunchBackendRegistration {
  LaunchBackendRegistration(const char *kind, LaunchBackendFactory factory);
};

/// "cpu" first.
std::vector<std::string> launchBackends();

/// Errors  InvalidArgument: a kind that this program has not; those of the backend.
absl::StatusOr<LaunchBackend> createLaunchBackend(const std::string &kind, const LaunchBackendOptions &options,
                                                  std::unique_ptr<runtime::Communicator> host);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_LAUNCHBACKEND_H
