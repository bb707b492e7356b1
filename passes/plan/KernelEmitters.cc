// Chooses the emitter of kernels for a kind of device.
#include "passes/plan/GpuKernelEmitter.h"
#include "passes/plan/HostKernelEmitter.h"
#include "passes/plan/KernelEmitter.h"

namespace splitcast {

KernelEmitter kernelEmitterOf(const DeviceTraits &traits) {
  if (traits.launchesThreads)
    return {emitGpuKernel, gpuKernelWorkspace};
  return {emitHostKernel, hostKernelWorkspace};
}

} // namespace splitcast
