//===- Fibers.h - Runs the threads of a block as fibers -----------------------------------===//
#ifndef SPLITCAST_TESTS_GPU_FIBERS_H
#define SPLITCAST_TESTS_GPU_FIBERS_H

#include "absl/status/status.h"

#include <cstdint>
#include <functional>

namespace splitcast::gpu_tests {

/// Runs `thread(number)` for each thread of a block; x varies fastest. 32 consecutive threads are a warp. Threads may
/// call the functions that Fibers.cc exports to kernels.
///   Errors  Internal: at a shuffle, other threads of the warp are at another one or have ended; or not all threads
///           reach a barrier.
absl::Status runBlock(int64_t threads, const std::function<void(int64_t)> &thread);

} // namespace splitcast::gpu_tests

#endif // SPLITCAST_TESTS_GPU_FIBERS_H
