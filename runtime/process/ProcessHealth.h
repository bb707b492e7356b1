//===- ProcessHealth.h - Whether this process was told to end ---------------===//
//
// SIGTERM and SIGINT set a flag, so that a rank which waits can say for whom before it ends: mpirun sends SIGTERM to
// all ranks when one has died, and SIGKILL about a second later. A rank that does something else (compiles, computes,
// reads a file) does not look at the flag; endOnSignals() ends it all the same. A second signal ends the process at
// once.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_PROCESS_PROCESSHEALTH_H
#define SPLITCAST_RUNTIME_PROCESS_PROCESSHEALTH_H

#include "absl/status/status.h"
#include "absl/time/time.h"

#include <functional>

namespace splitcast::runtime {

/// Sets the flag on signals from now on. To be called again after whatever may have set handlers of its own.
void watchSignals();

/// Unavailable, with the signal's name, once this process was told to end.
absl::Status processHealth();

/// From now on a signal ends this process wherever it is: one that is still there after `grace` calls `farewell` with
/// processHealth(), in a thread of its own, and exits with status 1, at most a second later; no destructor runs. Called
/// once per process, before its work begins.
void endOnSignals(absl::Duration grace, std::function<void(const absl::Status &)> farewell);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_PROCESS_PROCESSHEALTH_H
