//===- StagedCommunicator.h - Uses a device's communicator with host buffers ---------===//
//
// The suites have host buffers. This lets them check a communicator whose buffers are a device's: each call copies its
// operands to memory of the device, with the same alignment as on the host, and its event copies the results back.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_RUNTIME_CONFORMANCE_STAGEDCOMMUNICATOR_H
#define SPLITCAST_TESTS_RUNTIME_CONFORMANCE_STAGEDCOMMUNICATOR_H

#include "runtime/api/Communicator.h"

namespace splitcast::runtime::conformance {

/// Owns `inner` and borrows the device. It ignores the streams of calls, and has a stream of its own.
///   Errors  those of Device::createStream.
absl::StatusOr<std::unique_ptr<Communicator>> createStagedCommunicator(std::unique_ptr<Communicator> inner,
                                                                       Device &device);

} // namespace splitcast::runtime::conformance

#endif // SPLITCAST_TESTS_RUNTIME_CONFORMANCE_STAGEDCOMMUNICATOR_H
