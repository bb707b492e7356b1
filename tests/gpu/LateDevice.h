//===- LateDevice.h - A device whose streams run as late, or as early, as is legal ---------------===//
//
// On a GPU, calls return before their work is done, and streams wait for each other only if they are told to. This
// device delays work until something waits for it, which is as late as is legal; on the streams that the mode names,
// work runs at once, which is as early as is legal. So work that events should have ordered, but do not, gives wrong
// values.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_GPU_LATEDEVICE_H
#define SPLITCAST_TESTS_GPU_LATEDEVICE_H

#include "runtime/api/Communicator.h"

namespace splitcast::gpu_tests {

/// The streams whose work runs as early as possible; that of others runs as late as possible.
enum class Early { None, Compute, OtherStreams };
inline constexpr int kEarlyModes = 3;

/// Borrows the device. A copy between host and device while work is pending is the error FailedPrecondition.
std::unique_ptr<runtime::Device> createLateDevice(runtime::Device &inner, Early early);

/// Borrows the communicator, whose collectives become work of the late device's streams. They start in the order of the
/// calls, even on different streams. Host calls (barrier, exchange, split) come after all of them.
std::unique_ptr<runtime::Communicator> createLateCommunicator(runtime::Communicator &inner);

} // namespace splitcast::gpu_tests

#endif // SPLITCAST_TESTS_GPU_LATEDEVICE_H
