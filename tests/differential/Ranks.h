//===- Ranks.h - N ranks as threads of this process -----------------------------===//
#ifndef SPLITCAST_TESTS_DIFFERENTIAL_RANKS_H
#define SPLITCAST_TESTS_DIFFERENTIAL_RANKS_H

#include "runtime/api/Communicator.h"
#include "runtime/api/Device.h"

#include <functional>

namespace splitcast::differential {

using RankBody = std::function<absl::Status(runtime::Device &device, runtime::Communicator &communicator)>;

/// Creates the device of a rank.
using DeviceMaker = absl::StatusOr<std::unique_ptr<runtime::Device>> (*)();

/// From now on, ranks compute on devices of this maker and not on those of onRanks(). If a process can have only one
/// such device, there can be only one rank.
void setDeviceMaker(DeviceMaker maker);

/// Runs `body` once per rank, each in a thread of its own with a device of its own (gpu_tests::createEmulatedDevice,
/// whose streams gpu_tests::createLateDevice runs late or early). The thread transport connects them. If a rank fails,
/// the collectives of the others fail, too. Returns the first failure, with its rank.
absl::Status onRanks(int64_t ranks, const std::string &objectCacheDir, const RankBody &body);

} // namespace splitcast::differential

#endif // SPLITCAST_TESTS_DIFFERENTIAL_RANKS_H
