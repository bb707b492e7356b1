//===- DeviceIndexCheck.h - The kernel that looks for indices out of range ----------------------------===//
//
// The kernel has one thread per index. It writes what it finds into one 64-bit word, so that nothing waits for it: the
// position is in the upper half, and the index, clamped to the range of an i32, in the lower half. If several indices
// are out of range, the first counts, as on the CPU. No GPU is needed to make or to run it.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_GPU_DEVICEINDEXCHECK_H
#define SPLITCAST_RUNTIME_GPU_DEVICEINDEXCHECK_H

#include "runtime/api/IndexCheck.h"
#include "runtime/gpu/GpuProgram.h"

#include <cstdint>

namespace splitcast::runtime {

inline constexpr int64_t kIndexCheckThreads = 256;
/// The value of the word as long as nothing was found.
inline constexpr uint64_t kNothingFound = ~uint64_t{0};

/// Returns a program of one gpu.func @check_indices(indices: memref<count x type>, found: memref<1xi64>).
///   Errors  InvalidArgument: there are more than 2^31 - 1 indices.
absl::StatusOr<GpuProgram> deviceIndexCheck(const IndexCheck &check, mlir::MLIRContext &context);

/// Returns the error that the word `found` describes, or OK.
absl::Status statusOfFound(const IndexCheck &check, uint64_t found);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_GPU_DEVICEINDEXCHECK_H
