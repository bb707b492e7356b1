//===- DeviceTreeSum.h - Addends of all ranks, added in the fixed tree, on a GPU ----------------------===//
#ifndef SPLITCAST_RUNTIME_GPU_DEVICETREESUM_H
#define SPLITCAST_RUNTIME_GPU_DEVICETREESUM_H

#include "runtime/api/ElementType.h"
#include "runtime/gpu/GpuProgram.h"

#include "absl/status/statusor.h"

namespace splitcast::runtime {

/// Threads of a block of the kernel.
inline constexpr int64_t kTreeSumThreads = 256;

/// More elements than any device holds.
inline constexpr int64_t kAnyElements = int64_t{1} << 60;

/// A program of one function, "tree_sum": `count` pointers to addends, one to the sum, which may be one of the addends,
/// and the number of elements, an i64 of at most `most`. The tree is that of Communicator.h, so the bits are the CPU's.
///   Shapes   count of 1 to 64; of floats; small ones are added in f32, and rounded once.
absl::StatusOr<GpuProgram> deviceTreeSum(int64_t count, ElementType type, mlir::MLIRContext &context,
                                         int64_t most = kAnyElements);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_GPU_DEVICETREESUM_H
