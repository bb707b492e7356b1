//===- Measured.h - Compares what a session does with its reports ----------------===//
//
// For a rank under mpirun, in a program that is linked with tests/runtime/mpi/CountingMpi.h.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_COMPILER_PREDICTION_MEASURED_H
#define SPLITCAST_TESTS_COMPILER_PREDICTION_MEASURED_H

#include "compiler/launch/Session.h"
#include "tests/compiler/prediction/CountingDevice.h"

#include <string>

namespace splitcast::prediction {

/// Runs the function once, and compares its traffic with the communication report.
///   Errors  DataLoss: MPI was asked to send other bytes or messages than reported.
absl::Status runAndCompareTraffic(Session &session, const std::string &function);

/// Compares the memory that the device holds with the memory report. The device must have one session, which must have
/// run each of its functions.
///   Errors  DataLoss: the device holds other bytes than reported, or some that were never touched.
absl::Status compareHeld(const CountingDevice &device, const MemoryReport &report, const std::string &function);

} // namespace splitcast::prediction

#endif // SPLITCAST_TESTS_COMPILER_PREDICTION_MEASURED_H
