//===- KernelCall.h - A library call that is one kernel -----------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_GPU_KERNELCALL_H
#define SPLITCAST_RUNTIME_GPU_KERNELCALL_H

#include "runtime/api/Device.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/gpu/DeviceCalls.h"

#include <memory>
#include <string>
#include <utility>

namespace splitcast::runtime {

/// A kernel that keeps its library alive.
class KernelCall final : public Launchable {
public:
  /// Prepares the kernel `name` of a module.
  static absl::StatusOr<std::unique_ptr<Launchable>> create(const std::string &module, const std::string &name,
                                                            CallServices &services) {
    SPLITCAST_ASSIGN_OR_RETURN(std::shared_ptr<KernelLibrary> library, services.kernels(module));
    SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<Launchable> kernel, library->kernel(name));
    return std::make_unique<KernelCall>(std::move(library), std::move(kernel));
  }

  KernelCall(std::shared_ptr<KernelLibrary> library, std::unique_ptr<Launchable> kernel)
      : library(std::move(library)), kernel(std::move(kernel)) {}
  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    return kernel->launch(buffers, stream);
  }

private:
  const std::shared_ptr<KernelLibrary> library;
  const std::unique_ptr<Launchable> kernel;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_GPU_KERNELCALL_H
