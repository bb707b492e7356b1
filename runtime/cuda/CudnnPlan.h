//===- CudnnPlan.h - A compiled graph of cuDNN ----------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_CUDA_CUDNNPLAN_H
#define SPLITCAST_RUNTIME_CUDA_CUDNNPLAN_H

#include "runtime/cuda/CudaScratch.h"
#include "runtime/cuda/CudnnGraph.h"

#include "cuda_runtime_api.h"

#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace splitcast::runtime {

/// Returns cuDNN's handle of this process and its device, which is made once.
absl::StatusOr<cudnnHandle_t> cudnnHandle();

class CudnnPlan {
public:
  /// Compiles the kernels of a graph: the first way that cuDNN proposes of those that need at most so many bytes of
  /// workspace, or if all need more, the one that needs the fewest. This takes a second, so all calls of one
  /// configuration should share a plan.
  ///   Errors  Unimplemented: cuDNN has no kernels for this graph on this GPU.
  static absl::StatusOr<std::unique_ptr<CudnnPlan>>
  create(std::unique_ptr<CudnnGraph> graph, bool allowsTensorCores = true,
         int64_t mostWorkspaceBytes = std::numeric_limits<int64_t>::max());

  int64_t workspaceBytes() const { return workspace; }

  /// Addresses by uid: device memory for tensors, and host memory for values, which is read when the work is enqueued.
  using Pointers = std::vector<std::pair<int64_t, const void *>>;
  absl::Status run(const Pointers &pointers, void *workspaceData, cudaStream_t stream) const;

private:
  CudnnPlan(std::unique_ptr<CudnnGraph> graph, CudnnDescriptor plan, int64_t workspace)
      : graph(std::move(graph)), plan(std::move(plan)), workspace(workspace) {}

  std::unique_ptr<CudnnGraph> graph;
  CudnnDescriptor plan;
  int64_t workspace;
};

/// Returns scratch that the calls of the process share, all on one stream. It grows: a call that needs more gets a new,
/// larger one. Earlier calls keep theirs, since CUDA graphs may hold its address.
absl::StatusOr<std::shared_ptr<CudaScratch>> sharedCudnnScratch(int64_t bytes);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CUDA_CUDNNPLAN_H
