// The backend for ranks that compute on the processors of the machine.
#include "compiler/launch/LaunchBackend.h"
#include "runtime/host/HostDevice.h"

namespace splitcast {
namespace {

absl::StatusOr<LaunchBackend> create(const LaunchBackendOptions &options, std::unique_ptr<runtime::Communicator> host) {
  runtime::HostDeviceOptions device;
  device.threads = options.threads;
  device.objectCacheDir = options.kernelCache;
  device.warns = options.warnsOfCache;
  device.namesForPerf = options.namesForPerf;
  device.anyOrder = options.anyOrder;
  device.memory = options.memory;
  return LaunchBackend{runtime::createHostDevice(device), std::move(host)};
}

const LaunchBackendRegistration registration("cpu", create);

} // namespace
} // namespace splitcast
