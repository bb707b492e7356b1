#include "runtime/cuda/CudaGraph.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/CudaStatus.h"

namespace splitcast::runtime {
namespace {

constexpr char kWhat[] = "capturing a CUDA graph (SPLITCAST_CUDA_GRAPHS=0 does without)";

class CudaGraph : public CapturedWork {
public:
  explicit CudaGraph(cudaGraphExec_t graph) : graph(graph) {}
  CudaGraph(const CudaGraph &) = delete;
  CudaGraph &operator=(const CudaGraph &) = delete;
  ~CudaGraph() override { cudaGraphExecDestroy(graph); }

  absl::Status replay(Stream &stream) override {
    return cudaStatus(cudaGraphLaunch(graph, cudaStreamOf(stream)), "launching a CUDA graph");
  }

private:
  const cudaGraphExec_t graph;
};

} // namespace

bool isCapturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(stream, &status) == cudaSuccess && status != cudaStreamCaptureStatusNone;
}

absl::StatusOr<std::unique_ptr<CapturedWork>> captureCudaGraph(cudaStream_t stream,
                                                               absl::FunctionRef<absl::Status()> enqueue) {
  // Relaxed: NCCL works in threads of its own, and calls there what a capture would else forbid.
  absl::Status status = cudaStatus(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), kWhat);
  SPLITCAST_RETURN_IF_ERROR(status);
  status = enqueue();
  cudaGraph_t graph = nullptr;
  status.Update(cudaStatus(cudaStreamEndCapture(stream, &graph), kWhat)); // after an error, too
  cudaGraphExec_t instance = nullptr;
  if (status.ok())
    status = cudaStatus(cudaGraphInstantiate(&instance, graph, 0), kWhat);
  if (graph)
    cudaGraphDestroy(graph);
  SPLITCAST_RETURN_IF_ERROR(status);
  return std::make_unique<CudaGraph>(instance);
}

} // namespace splitcast::runtime
