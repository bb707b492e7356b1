//===- EmulatedCalls.h - A GPU's library calls, on the host ---------------------------------------------===//
#ifndef SPLITCAST_TESTS_GPU_EMULATEDCALLS_H
#define SPLITCAST_TESTS_GPU_EMULATEDCALLS_H

#include "dialects/exec/Exec.h"
#include "runtime/api/Device.h"

namespace splitcast::gpu_tests {

/// What a plan for "cuda" calls. Of bf16 and f16, which the host has no calls for, its call of f32 on extended
/// operands, with each result rounded: what a GPU's library does. Others that a GPU lacks are made of the host's
/// products and of kernels that `device` emulates.
absl::StatusOr<std::unique_ptr<runtime::Launchable>> emulateLibraryCall(runtime::Device &host, runtime::Device &device,
                                                                        exec::LibraryCallAttrInterface call);

} // namespace splitcast::gpu_tests

#endif // SPLITCAST_TESTS_GPU_EMULATEDCALLS_H
