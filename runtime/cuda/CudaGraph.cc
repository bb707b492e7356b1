#include "runtime/cuda/CudaGraph.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/CudaStatus.h"

#include <utility>

namespace splitcast::runtime {
namespace {

constexpr char kWhat[] = "capturing a CUDA graph (set SPLITCAST_CUDA_GRAPHS=0 to run without)";

class Replays : public CudaReplays {
public:
  bool areDone() const override { return !last || isCudaEventDone(last); }

  Event last; ///< fires when the last replay is done; null before the first replay
};

/// The replays of the graph that is being captured, or null.
std::shared_ptr<Replays> &captured() {
  static auto *replays = new std::shared_ptr<Replays>;
  return *replays;
}

class CudaGraph : public CapturedWork {
public:
  CudaGraph(cudaGraphExec_t graph, std::shared_ptr<Replays> replays) : graph(graph), replays(std::move(replays)) {}
  CudaGraph(const CudaGraph &) = delete;
  CudaGraph &operator=(const CudaGraph &) = delete;
  ~CudaGraph() override { cudaGraphExecDestroy(graph); }

  absl::Status replay(Stream &stream) override {
    SPLITCAST_RETURN_IF_ERROR(cudaStatus(cudaGraphLaunch(graph, cudaStreamOf(stream)), "launching a CUDA graph"));
    SPLITCAST_ASSIGN_OR_RETURN(replays->last, recordCudaEvent(cudaStreamOf(stream)));
    return absl::OkStatus();
  }

private:
  const cudaGraphExec_t graph;
  const std::shared_ptr<Replays> replays;
};

} // namespace

bool isCapturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(stream, &status) == cudaSuccess && status != cudaStreamCaptureStatusNone;
}

std::shared_ptr<const CudaReplays> replaysOfCapture() { return captured(); }

absl::StatusOr<std::unique_ptr<CapturedWork>> captureCudaGraph(cudaStream_t stream,
                                                               absl::FunctionRef<absl::Status()> enqueue) {
  // The mode is relaxed because NCCL's own threads make calls that another mode
  // would forbid during a capture.
  absl::Status status = cudaStatus(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), kWhat);
  SPLITCAST_RETURN_IF_ERROR(status);
  captured() = std::make_shared<Replays>();
  status = enqueue();
  std::shared_ptr<Replays> replays = std::exchange(captured(), nullptr);
  cudaGraph_t graph = nullptr;
  status.Update(cudaStatus(cudaStreamEndCapture(stream, &graph), kWhat)); // also after an error
  cudaGraphExec_t instance = nullptr;
  if (status.ok())
    status = cudaStatus(cudaGraphInstantiate(&instance, graph, 0), kWhat);
  if (graph)
    cudaGraphDestroy(graph);
  SPLITCAST_RETURN_IF_ERROR(status);
  return std::make_unique<CudaGraph>(instance, std::move(replays));
}

} // namespace splitcast::runtime
