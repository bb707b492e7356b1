//===- Measured.h - What a session does, beside what its report says -------------===//
//
// Of a rank under mpirun, linked with tests/runtime/mpi/CountingMpi.h.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_COMPILER_PREDICTION_MEASURED_H
#define SPLITCAST_TESTS_COMPILER_PREDICTION_MEASURED_H

#include "compiler/launch/Session.h"
#include "tests/compiler/prediction/CountingDevice.h"

#include <string>

namespace splitcast::prediction {

/// Runs the function once.
///   Errors  DataLoss: MPI was given other bytes or messages than the report says.
absl::Status runAndCompareTraffic(Session &session, const std::string &function);

/// The one session of this device, after it has run each of its functions.
///   Errors  DataLoss: it holds other bytes than the report says, or some that nothing has touched.
absl::Status compareHeld(const CountingDevice &device, const MemoryReport &report, const std::string &function);

} // namespace splitcast::prediction

#endif // SPLITCAST_TESTS_COMPILER_PREDICTION_MEASURED_H
