//===- HostDevice.h - The CPU as a device ------------------------------------===//
//
// Work runs at once, in the thread that enqueues it: a launch that has returned is done, an event that is recorded has
// fired. Kernels are compiled for the CPU this process runs on (JitCompiler.h).
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
  /// Threads that compile kernels, and share a kernel or a library call; below 1 means 1. No bit depends on it.
  int threads = 1;
  /// Compiled kernels are kept in this directory, which processes may share; it is made when missing. Empty: not kept.
  std::string objectCacheDir;
  /// An inaccessible page right after each allocation, to find kernels that run past a buffer. Allocations then begin
  /// only at a multiple of what their size is a multiple of.
  bool guardPages = false;
  /// Names of kernels, as in the plan, and of oneDNN's code in /tmp/perf-PID.map, where Linux's perf looks for them.
  bool namesForPerf = false;
  /// See JitTarget.
  bool anyOrder = false;
  /// Where buffers come from; null: from memory of the device's own, with `guardPages`.
  std::shared_ptr<HostMemory> memory = nullptr;
};

/// The device outlives its buffers and streams; kernels and library calls may outlive it.
std::unique_ptr<Device> createHostDevice(const HostDeviceOptions &options);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_HOSTDEVICE_H
