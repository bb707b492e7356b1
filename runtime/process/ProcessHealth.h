//===- ProcessHealth.h - Whether this process was told to end ---------------===//
//
// SIGTERM and SIGINT set a flag, so that a waiting rank can report for which rank it waits before it ends. (mpirun
// sends SIGTERM to all ranks when one has died, and SIGKILL about a second later.) A rank that does something else
// (compiles, computes, reads a file) does not look at the flag; endOnSignals() ends it all the same. A second signal
// ends the process at once.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_PROCESS_PROCESSHEALTH_H
#define SPLITCAST_RUNTIME_PROCESS_PROCESSHEALTH_H

#include "absl/status/status.h"
#include "absl/time/time.h"

#include <functional>

namespace splitcast::runtime {

/// Makes signals set the flag from now on. Call it again after code that may have installed handlers of its own.
void watchSignals();

/// Returns OK, or Unavailable with the signal's name once this process was told to end.
absl::Status processHealth();

/// Makes a signal end this process whatever it is doing. A process that still runs `grace` after the signal calls
/// `farewell` with processHealth(), in a separate thread, and exits with status 1, at most a second later; no
/// destructor runs. Call it once per process, before its work begins.
void endOnSignals(absl::Duration grace, std::function<void(const absl::Status &)> farewell);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_PROCESS_PROCESSHEALTH_H
