// Who emits kernels for which kind of device: the one place to add another.
#include "passes/plan/GpuKernelEmitter.h"
#include "passes/plan/HostKernelEmitter.h"
#include "passes/plan/KernelEmitter.h"

namespace splitcast {

EmitKernel kernelEmitterOf(llvm::StringRef deviceKind) {
  if (deviceKind == "cuda")
    return emitGpuKernel;
  return emitHostKernel;
}

} // namespace splitcast
