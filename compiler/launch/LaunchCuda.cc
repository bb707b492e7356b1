// Ranks that compute on GPUs: one each, or several on one when that is asked for. A library of its own
// (LaunchPlugin.h).
#include "compiler/launch/LaunchPlugin.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/nccl/NcclCommunicator.h"

#include "absl/strings/str_cat.h"

#include <cstdlib>
#include <string>

namespace splitcast {
namespace {

bool is(const char *variable, const char *wanted) {
  const char *value = std::getenv(variable);
  return value && std::string(value) == wanted;
}

bool isSet(const char *variable) { return is(variable, "1"); }

/// Whether ranks share GPUs, and may.
bool areShared(const LaunchBackendOptions &options) {
  return isSet("SPLITCAST_SHARE_GPUS") && options.localRanks > runtime::countCudaDevices();
}

/// The device of this rank; the same on all ranks, whether it is an error.
absl::StatusOr<int> chooseDevice(const LaunchBackendOptions &options) {
  const int devices = runtime::countCudaDevices();
  if (devices == 0)
    return absl::FailedPreconditionError("this process sees no GPU, or its driver is too old; look at nvidia-smi and "
                                         "CUDA_VISIBLE_DEVICES, or run with --device=cpu");
  if (options.localRanks > devices && !isSet("SPLITCAST_SHARE_GPUS"))
    return absl::FailedPreconditionError(absl::StrCat(options.localRanks, " ranks on this machine, which has ", devices,
                                                      " GPUs; start fewer, or set SPLITCAST_SHARE_GPUS=1 to let them "
                                                      "share, which is slow and meant for tests"));
  return static_cast<int>(options.localRank % devices);
}

/// NCCL refuses two ranks of one host on one device: each says that it is a host of its own, and they talk over
/// sockets.
void pretendOwnHosts(const LaunchBackendOptions &options) {
  if (!areShared(options))
    return;
  setenv("NCCL_HOSTID", absl::StrCat("splitcast-", options.localRank).c_str(), 0);
  setenv("NCCL_SOCKET_IFNAME", "lo", 0);
  setenv("NCCL_IB_DISABLE", "1", 0);
}

absl::StatusOr<LaunchBackend> create(const LaunchBackendOptions &options, std::unique_ptr<runtime::Communicator> host) {
  LaunchBackend backend;
  absl::StatusOr<int> number = chooseDevice(options);
  absl::Status status = number.status();
  if (status.ok()) {
    pretendOwnHosts(options);
    // Communicators of several streams start their work in the order of the plan, also as parts of a graph.
    setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 0);
    runtime::avoidKnownNcclDefects();
    runtime::CudaDeviceOptions device;
    device.number = *number;
    device.capturesGraphs = !is("SPLITCAST_CUDA_GRAPHS", "0");
    device.allowsTf32 = isSet("SPLITCAST_TF32");
    absl::StatusOr<std::unique_ptr<runtime::Device>> made = runtime::createCudaDevice(device);
    status = made.status();
    if (made.ok())
      backend.device = *std::move(made);
  }
  // A rank without a GPU must not leave the others waiting for it in NCCL.
  absl::StatusOr<std::vector<std::string>> all = host->exchange(status.ok() ? "ready" : "", {"choice of GPUs"});
  if (!status.ok() || !all.ok())
    return status.ok() ? all.status() : status;
  for (size_t rank = 0; rank < all->size(); ++rank)
    if ((*all)[rank] != "ready")
      return absl::FailedPreconditionError(absl::StrCat("rank ", rank, " has no GPU to use; see its error"));
  runtime::NcclCommunicatorOptions nccl;
  nccl.timeout = options.timeout;
  nccl.deterministic = !isSet("SPLITCAST_NCCL_SUMS");
  nccl.usesWindows = isSet("SPLITCAST_NCCL_WINDOWS") && !areShared(options); // sockets copy it anyway
  absl::StatusOr<std::unique_ptr<runtime::Communicator>> communicator =
      runtime::createNcclCommunicator(std::move(host), nccl);
  if (!communicator.ok())
    return communicator.status();
  backend.communicator = *std::move(communicator);
  return backend;
}

} // namespace
} // namespace splitcast

/// LaunchPluginEntry
extern "C" void splitcast_launch_backend(const splitcast::LaunchBackendOptions *options,
                                         std::unique_ptr<splitcast::runtime::Communicator> *host,
                                         absl::StatusOr<splitcast::LaunchBackend> *result) {
  *result = splitcast::create(*options, std::move(*host));
}
