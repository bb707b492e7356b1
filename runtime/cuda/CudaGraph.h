//===- CudaGraph.h - Records the work of streams as one launch --------------------------------------===//
#ifndef SPLITCAST_RUNTIME_CUDA_CUDAGRAPH_H
#define SPLITCAST_RUNTIME_CUDA_CUDAGRAPH_H

#include "runtime/api/Device.h"

#include "cuda_runtime_api.h"

#include <memory>

namespace splitcast::runtime {

/// Implements Device::capture: it records, as a CUDA graph, the work that `enqueue` submits to the stream and to those
/// that wait for its events.
absl::StatusOr<std::unique_ptr<CapturedWork>> captureCudaGraph(cudaStream_t stream,
                                                               absl::FunctionRef<absl::Status()> enqueue);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CUDA_CUDAGRAPH_H
