//===- Fibers.h - The threads of a block, one after the other -----------------------------===//
#ifndef SPLITCAST_TESTS_GPU_FIBERS_H
#define SPLITCAST_TESTS_GPU_FIBERS_H

#include "absl/status/status.h"

#include <cstdint>
#include <functional>

namespace splitcast::gpu_tests {

/// Runs `thread(number)` for each thread of a block, numbered x first; 32 that follow each other are a warp. The
/// threads may call what Fibers.cc exports to kernels.
///   Errors  Internal: threads of a warp are at different shuffles, or some have ended; a barrier that not all reach.
absl::Status runBlock(int64_t threads, const std::function<void(int64_t)> &thread);

} // namespace splitcast::gpu_tests

#endif // SPLITCAST_TESTS_GPU_FIBERS_H
