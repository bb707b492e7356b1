//===- LateDevice.h - A device whose streams run when they must, or as soon as they can ----------===//
//
// Calls on a GPU return before their work is done, and streams wait for each other only where they are told to. Here
// work is kept, and runs on the calling thread when something waits for it: as late as is legal; or, on the streams
// that a mode names, at once, as early as is legal. What was not ordered by events shows as wrong values.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_GPU_LATEDEVICE_H
#define SPLITCAST_TESTS_GPU_LATEDEVICE_H

#include "runtime/api/Communicator.h"

namespace splitcast::gpu_tests {

/// Which streams run as soon as they can; the others as late as they may.
enum class Early { None, Compute, OtherStreams };
inline constexpr int kEarlyModes = 3;

/// Borrows the device. A copy between host and device while work is pending is FailedPrecondition.
std::unique_ptr<runtime::Device> createLateDevice(runtime::Device &inner, Early early);

/// Borrows the communicator, whose collectives become work of the late device's streams; also on several streams they
/// start in the order of the calls. Host calls (barrier, exchange,
/// split) come after all of them.
std::unique_ptr<runtime::Communicator> createLateCommunicator(runtime::Communicator &inner);

} // namespace splitcast::gpu_tests

#endif // SPLITCAST_TESTS_GPU_LATEDEVICE_H
