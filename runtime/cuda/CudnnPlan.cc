#include "runtime/cuda/CudnnPlan.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/cuda/CudaStatus.h"

#include "absl/strings/str_cat.h"

#include <limits>
#include <optional>

namespace splitcast::runtime {

namespace {

/// Before this version, gradients of attention read invalid memory in CUDA
/// graphs where the keys are no multiple of 128 (release notes of
/// cudnn-frontend 1.16.0).
constexpr size_t kLeastVersion = 91501;

} // namespace

absl::StatusOr<cudnnHandle_t> cudnnHandle() {
  static cudnnHandle_t handle = nullptr;
  if (handle)
    return handle;
  if (const size_t version = cudnnGetVersion(); version < kLeastVersion)
    return absl::FailedPreconditionError(
        absl::StrCat("cuDNN ", version / 10000, ".", version / 100 % 100, ".", version % 100,
                     " reads invalid memory in attention's gradient; install 9.15.1 or later"));
  SPLITCAST_RETURN_IF_ERROR(cudnnStatusOf(cudnnCreate(&handle), "creating a handle"));
  return handle;
}

absl::StatusOr<std::unique_ptr<CudnnPlan>> CudnnPlan::create(std::unique_ptr<CudnnGraph> graph, bool allowsTensorCores,
                                                             int64_t mostWorkspaceBytes) {
  SPLITCAST_ASSIGN_OR_RETURN(cudnnHandle_t handle, cudnnHandle());
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<CudnnDescriptor> configurations,
                             graph->configurations({handle, "", allowsTensorCores}));
  absl::Status status;
  std::optional<CudnnDescriptor> smallest;
  int64_t fewest = std::numeric_limits<int64_t>::max();
  for (const CudnnDescriptor &configuration : configurations) {
    status = absl::OkStatus(); // a configuration that the heuristics propose may fail
    CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, status);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, static_cast<const void *>(&handle));
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    plan.finish("a plan");
    const int64_t workspace = plan.number(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
    if (!status.ok() || (smallest && workspace >= fewest))
      continue;
    smallest = std::move(plan);
    fewest = workspace;
    if (workspace <= mostWorkspaceBytes)
      break;
  }
  if (!smallest)
    return status;
  return std::unique_ptr<CudnnPlan>(new CudnnPlan(std::move(graph), *std::move(smallest), fewest));
}

absl::Status CudnnPlan::run(const Pointers &pointers, void *workspaceData, cudaStream_t stream) const {
  SPLITCAST_ASSIGN_OR_RETURN(cudnnHandle_t handle, cudnnHandle());
  absl::Status status = cudnnStatusOf(cudnnSetStream(handle, stream), "setting the stream");
  std::vector<int64_t> uids;
  std::vector<const void *> addresses;
  for (const auto &[uid, address] : pointers)
    if (uid != 0) {
      uids.push_back(uid);
      addresses.push_back(address);
    }
  const auto count = static_cast<int64_t>(uids.size());
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, status);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, uids.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count,
           static_cast<const void *>(addresses.data()));
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, static_cast<const void *>(&workspaceData));
  pack.finish("the tensors' addresses");
  if (status.ok())
    status = cudnnStatusOf(cudnnBackendExecute(handle, plan.get(), pack.get()), "running a plan");
  return status;
}

absl::StatusOr<std::shared_ptr<CudaScratch>> sharedCudnnScratch(int64_t bytes) {
  static std::weak_ptr<CudaScratch> largest;
  if (std::shared_ptr<CudaScratch> known = largest.lock(); known && known->bytes >= bytes)
    return known;
  auto made = std::make_shared<CudaScratch>(bytes);
  if (!made->data())
    return cudaStatus(cudaErrorMemoryAllocation, absl::StrCat("allocating cuDNN's workspace of ", bytes, " bytes"));
  largest = made;
  return made;
}

} // namespace splitcast::runtime
