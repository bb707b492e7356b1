//===- Runtime.h - What other libraries of CUDA build on ---------------------------------------------------===//
#ifndef SPLITCAST_TESTS_CUDA_ON_CPU_RUNTIME_H
#define SPLITCAST_TESTS_CUDA_ON_CPU_RUNTIME_H

#include "tests/cuda_on_cpu/Streams.h"

namespace splitcast::cuda_on_cpu {

Stream &streamOf(cudaStream_t stream);

/// Of this thread: the one chosen last.
int currentDevice();

} // namespace splitcast::cuda_on_cpu

#endif // SPLITCAST_TESTS_CUDA_ON_CPU_RUNTIME_H
