//===- CudaClock.h - When CUDA's streams reach points of their work --------------------------------===//
#ifndef SPLITCAST_RUNTIME_CUDA_CUDACLOCK_H
#define SPLITCAST_RUNTIME_CUDA_CUDACLOCK_H

#include "runtime/api/Device.h"

namespace splitcast::runtime {

/// Returns a clock for the streams of the calling thread's device. Distances between times are right to a microsecond
/// or so if the stream's work is waited for every few seconds. A mark takes the device some time, too.
absl::StatusOr<std::unique_ptr<StreamClock>> createCudaClock();

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CUDA_CUDACLOCK_H
