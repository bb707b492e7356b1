//===- Runtime.h - The part of the emulated runtime that the other libraries use ---------------------------===//
#ifndef SPLITCAST_TESTS_CUDA_ON_CPU_RUNTIME_H
#define SPLITCAST_TESTS_CUDA_ON_CPU_RUNTIME_H

#include "tests/cuda_on_cpu/Streams.h"

namespace splitcast::cuda_on_cpu {

Stream &streamOf(cudaStream_t stream);

/// The device that this thread has set last.
int currentDevice();

} // namespace splitcast::cuda_on_cpu

#endif // SPLITCAST_TESTS_CUDA_ON_CPU_RUNTIME_H
