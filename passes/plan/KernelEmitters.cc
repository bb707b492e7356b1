// Chooses the emitter of kernels for a kind of device.
#include "passes/plan/GpuKernelEmitter.h"
#include "passes/plan/HostKernelEmitter.h"
#include "passes/plan/KernelEmitter.h"

namespace splitcast {

EmitKernel kernelEmitterOf(const DeviceTraits &traits) {
  return traits.launchesThreads ? emitGpuKernel : emitHostKernel;
}

} // namespace splitcast
