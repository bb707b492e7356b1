//===- Ranks.h - N ranks as threads of this process -----------------------------===//
#ifndef SPLITCAST_TESTS_DIFFERENTIAL_RANKS_H
#define SPLITCAST_TESTS_DIFFERENTIAL_RANKS_H

#include "runtime/api/Communicator.h"
#include "runtime/api/Device.h"

#include <functional>

namespace splitcast::differential {

using RankBody = std::function<absl::Status(runtime::Device &device, runtime::Communicator &communicator)>;

/// What a rank computes with.
using DeviceMaker = absl::StatusOr<std::unique_ptr<runtime::Device>> (*)();

/// From now on ranks compute on devices of this maker instead of those that onRanks() says. A device that a process has
/// one of is for one rank.
void setDeviceMaker(DeviceMaker maker);

/// Runs `body` once per rank, each in its own thread with a device of its own (gpu_tests::createEmulatedDevice, whose
/// streams gpu_tests::createLateDevice runs late or early), connected by the thread transport. When one fails, the
/// others' collectives fail too, and the first failure is returned with its rank.
absl::Status onRanks(int64_t ranks, const std::string &objectCacheDir, const RankBody &body);

} // namespace splitcast::differential

#endif // SPLITCAST_TESTS_DIFFERENTIAL_RANKS_H
