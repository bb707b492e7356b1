//===- EmulatedDevice.h - Runs the kernels of a GPU on the CPU ---------------------------===//
//
// A host device that also accepts kernels with gpu.launch ops. Each thread of a block is a fiber, which runs to the
// next shuffle or barrier and waits there for the others. So the arithmetic, indices and synchronization of kernels are
// those of a GPU. It does not show how fast a GPU is, nor how it orders memory accesses of threads that do not
// synchronize.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_GPU_EMULATEDDEVICE_H
#define SPLITCAST_TESTS_GPU_EMULATEDDEVICE_H

#include "runtime/host/HostDevice.h"

namespace splitcast::gpu_tests {

/// Creates the device. Its kernels have the errors of the host device, and Internal if some threads of a warp shuffle
/// and others do not, or if a thread ends while others wait at a barrier.
std::unique_ptr<runtime::Device> createEmulatedDevice(const runtime::HostDeviceOptions &options);

} // namespace splitcast::gpu_tests

#endif // SPLITCAST_TESTS_GPU_EMULATEDDEVICE_H
