//===- HostDevice.h - The CPU as a device ------------------------------------===//
//
// Work runs at once, in the thread that enqueues it: a launch is done when it returns, and a recorded event has already
// fired. Kernels are compiled for the CPU on which this process runs (JitCompiler.h).
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_HOSTDEVICE_H
#define SPLITCAST_RUNTIME_HOST_HOSTDEVICE_H

#include "runtime/api/Device.h"
#include "runtime/host/HostMemory.h"

#include <memory>
#include <string>

namespace splitcast::runtime {

struct HostDeviceOptions {
  /// The number of threads that compile kernels and that divide the work of a kernel or library call; less than 1
  /// means 1. Results do not depend on it, in any bit.
  int threads = 1;
  /// The directory in which compiled kernels are kept. Processes of one user may share it, and it is made if it is
  /// missing. If it is empty, no kernels are kept; nor if others could write to it, since its files are executed
  /// (runtime/io/OwnDirectory.h).
  std::string objectCacheDir;
  /// Whether an inaccessible page follows each allocation, to find kernels that run past a buffer. An allocation is
  /// then aligned only to the largest power of two, up to 4096, that divides its size.
  bool guardPages = false;
  /// Whether the names of kernels, as in the plan, and of oneDNN's code are written to /tmp/perf-PID.map, where Linux's
  /// perf looks for them.
  bool namesForPerf = false;
  /// See JitTarget::anyOrder.
  bool anyOrder = false;
  /// The memory from which buffers are allocated. If it is null, the device has its own, with `guardPages`.
  std::shared_ptr<HostMemory> memory = nullptr;
  /// Whether it is said, on stderr and once, why `objectCacheDir` is not used. It is enough if one of the ranks
  /// of a machine that use it says so.
  bool warns = true;
};

/// Creates the CPU as a device. It must outlive its buffers and streams; kernels and library calls may outlive it.
std::unique_ptr<Device> createHostDevice(const HostDeviceOptions &options);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_HOSTDEVICE_H
