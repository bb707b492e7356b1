//===- EmulatedCalls.h - Emulates the library calls of a GPU on the host --------------------------------===//
#ifndef SPLITCAST_TESTS_GPU_EMULATEDCALLS_H
#define SPLITCAST_TESTS_GPU_EMULATEDCALLS_H

#include "dialects/exec/Exec.h"
#include "runtime/api/Device.h"

namespace splitcast::gpu_tests {

/// Returns the emulation of a library call of a plan for "cuda". For bf16 and f16, for which the host has no calls, it
/// is the host's call in f32 on converted operands, with the results rounded, like a GPU's library. Calls that a GPU's
/// libraries do not have are made of the host's products and of kernels that `device` emulates.
absl::StatusOr<std::unique_ptr<runtime::Launchable>> emulateLibraryCall(runtime::Device &host, runtime::Device &device,
                                                                        exec::LibraryCallAttrInterface call);

} // namespace splitcast::gpu_tests

#endif // SPLITCAST_TESTS_GPU_EMULATEDCALLS_H
