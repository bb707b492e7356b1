//===- DeviceIndexCheck.h - The kernel that looks for an index that lies outside ----------------------===//
//
// A thread per index. What it finds goes into one word, so that nothing waits for it: the position above, the index,
// brought into the range of an i32, below. Of several the first counts, as on the CPU. Needs no GPU to be made or run.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_GPU_DEVICEINDEXCHECK_H
#define SPLITCAST_RUNTIME_GPU_DEVICEINDEXCHECK_H

#include "runtime/api/IndexCheck.h"
#include "runtime/gpu/GpuProgram.h"

#include <cstdint>

namespace splitcast::runtime {

inline constexpr int64_t kIndexCheckThreads = 256;
/// The word before anything was found.
inline constexpr uint64_t kNothingFound = ~uint64_t{0};

/// One gpu.func @check_indices(indices: memref<count x type>, found: memref<1xi64>).
///   Errors  InvalidArgument: more indices than a word can count.
absl::StatusOr<GpuProgram> deviceIndexCheck(const IndexCheck &check, mlir::MLIRContext &context);

/// The error that a word says, or OK.
absl::Status statusOfFound(const IndexCheck &check, uint64_t found);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_GPU_DEVICEINDEXCHECK_H
