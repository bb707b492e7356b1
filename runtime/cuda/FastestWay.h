//===- FastestWay.h - Choosing among ways to compute the same bits -----------------------------------===//
#ifndef SPLITCAST_RUNTIME_CUDA_FASTESTWAY_H
#define SPLITCAST_RUNTIME_CUDA_FASTESTWAY_H

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cuda_runtime_api.h"

#include <cstdint>
#include <functional>

namespace splitcast::runtime {

/// Enqueues what writes `result`, in memory of the device.
using Way = std::function<absl::Status(void *result, cudaStream_t stream)>;

/// The number of the fastest way, by this device's and this moment's time, among those whose result has the bits of the
/// first one's here. Takes twice `bytes`, a result's, of the device's memory, for as long as it runs; 0, the first,
/// when there is not as much, or no page-locked memory to compare in.
///   Errors  of the first way, and of copies. A way that fails otherwise is not chosen.
absl::StatusOr<size_t> fastestOfSameBits(absl::Span<const Way> ways, int64_t bytes);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CUDA_FASTESTWAY_H
