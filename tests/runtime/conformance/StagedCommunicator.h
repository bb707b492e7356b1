//===- StagedCommunicator.h - A device's communicator, for buffers of the host -------===//
//
// Lets the suites, whose buffers are the host's, run against a communicator whose buffers are a device's: each call
// copies its operands to memory of the device (at addresses as well or badly aligned), and the event copies results
// back.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_RUNTIME_CONFORMANCE_STAGEDCOMMUNICATOR_H
#define SPLITCAST_TESTS_RUNTIME_CONFORMANCE_STAGEDCOMMUNICATOR_H

#include "runtime/api/Communicator.h"

namespace splitcast::runtime::conformance {

/// Owns `inner`; borrows the device. Streams given to it are ignored: its work is on one of its own.
///   Errors  those of Device::createStream.
absl::StatusOr<std::unique_ptr<Communicator>> createStagedCommunicator(std::unique_ptr<Communicator> inner,
                                                                       Device &device);

} // namespace splitcast::runtime::conformance

#endif // SPLITCAST_TESTS_RUNTIME_CONFORMANCE_STAGEDCOMMUNICATOR_H
