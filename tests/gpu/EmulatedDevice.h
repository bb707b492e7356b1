//===- EmulatedDevice.h - Kernels of a GPU, run on the CPU -------------------------------===//
//
// A host device that also takes kernels made of gpu.launch ops. Each thread of a block is a fiber of its own, which
// runs to the next shuffle or barrier and there waits for the others: the kernels' arithmetic, indices and
// synchronization are what a GPU would run. What it says nothing about: speed, and how a GPU orders memory between
// threads that do not synchronize.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_GPU_EMULATEDDEVICE_H
#define SPLITCAST_TESTS_GPU_EMULATEDDEVICE_H

#include "runtime/host/HostDevice.h"

namespace splitcast::gpu_tests {

/// Errors of its kernels, besides the host device's: Internal, when threads of a warp shuffle and others do not, or one
/// ends at a barrier.
std::unique_ptr<runtime::Device> createEmulatedDevice(const runtime::HostDeviceOptions &options);

} // namespace splitcast::gpu_tests

#endif // SPLITCAST_TESTS_GPU_EMULATEDDEVICE_H
