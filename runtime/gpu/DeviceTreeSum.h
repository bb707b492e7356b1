//===- DeviceTreeSum.h - Adds the addends of all ranks in the fixed tree, on a GPU --------------------===//
#ifndef SPLITCAST_RUNTIME_GPU_DEVICETREESUM_H
#define SPLITCAST_RUNTIME_GPU_DEVICETREESUM_H

#include "runtime/api/ElementType.h"
#include "runtime/gpu/GpuProgram.h"

#include "absl/status/statusor.h"

namespace splitcast::runtime {

/// The number of threads in a block of the kernels.
inline constexpr int64_t kTreeSumThreads = 256;

/// The largest number of addends.
inline constexpr int64_t kMostAddends = 64;

/// A bound on the number of elements that no device reaches.
inline constexpr int64_t kAnyElements = int64_t{1} << 60;

/// The bytes of each addend that a thread of "tree_sum_wide" adds.
inline constexpr int64_t kTreeSumBytes = 16;

/// Returns a program of two functions, "tree_sum", in which a thread adds one element, and "tree_sum_wide", in which it
/// adds kTreeSumBytes of each addend. Their arguments are `count` pointers to addends, one pointer to the sum, which
/// may be one of the addends, and the number of elements, an i64 of at most `most`. "tree_sum_wide" needs pointers that
/// are aligned to kTreeSumBytes, and a number of elements that has these bytes as a divisor. The tree is that of
/// Communicator.h, so the bits are those of the CPU. bf16 and f16 are added in f32 and rounded once.
///   Errors  InvalidArgument: `count` is not from 1 to kMostAddends, or the type is no float.
absl::StatusOr<GpuProgram> deviceTreeSum(int64_t count, ElementType type, mlir::MLIRContext &context,
                                         int64_t most = kAnyElements);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_GPU_DEVICETREESUM_H
