//===- ProcessHealth.h - Whether this process was told to end ---------------===//
//
// SIGTERM and SIGINT set a flag, so that a rank which waits can say for whom before it ends: mpirun sends SIGTERM to
// all ranks when one has died, and SIGKILL about a second later. A second signal ends the process.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_PROCESSHEALTH_H
#define SPLITCAST_RUNTIME_HOST_PROCESSHEALTH_H

#include "absl/status/status.h"

namespace splitcast::runtime {

void watchSignals();

/// Unavailable, with the signal's name, once this process was told to end.
absl::Status processHealth();

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_PROCESSHEALTH_H
