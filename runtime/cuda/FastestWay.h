//===- FastestWay.h - Chooses among ways to compute the same bits ------------------------------------===//
#ifndef SPLITCAST_RUNTIME_CUDA_FASTESTWAY_H
#define SPLITCAST_RUNTIME_CUDA_FASTESTWAY_H

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cuda_runtime_api.h"

#include <cstdint>
#include <functional>

namespace splitcast::runtime {

/// Enqueues work that writes `result`, which is memory of the device.
using Way = std::function<absl::Status(void *result, cudaStream_t stream)>;

/// Returns the index of the way that is fastest on this device now, among those whose result has the same bits as that
/// of the first way. `bytes` is the size of a result. While it runs, it takes twice that of the device's memory, and
/// page-locked memory to compare in. If there is not enough of either, it returns 0, the first way.
///   Errors  those of the first way and of copies. Another way that fails is not chosen.
absl::StatusOr<size_t> fastestOfSameBits(absl::Span<const Way> ways, int64_t bytes);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CUDA_FASTESTWAY_H
