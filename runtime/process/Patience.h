//===- Patience.h - How long a process has waited for others ------------------===//
//
// All waits for other processes measure their time with this class. A process that was stopped (SIGSTOP, a suspended
// job, a paused virtual machine) or had other work has not watched the others meanwhile, and they may have been stopped
// with it. So a long gap between two looks at the clock counts as a short one:
//
//   a rank that waits while another one is stopped      looks all the time: the limit passes as on a clock
//   a job that is stopped as a whole for an hour        counts a quarter of a second, and goes on
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_PROCESS_PATIENCE_H
#define SPLITCAST_RUNTIME_PROCESS_PATIENCE_H

#include "absl/time/time.h"

#include <cstdint>

namespace splitcast::runtime {

/// Begins with the constructor. Ask isOver() at least ten times a second while you wait.
class Patience {
public:
  /// Returns nanoseconds since some fixed moment; it never goes back.
  using Clock = int64_t (*)();
  static int64_t steadyClock();

  explicit Patience(absl::Duration limit, Clock clock = steadyClock);

  /// Begins again, since there was progress.
  void restart();
  /// Returns whether the limit has passed. If the process was stopped since the last call, the answer is no once more,
  /// so that the caller looks for progress before it gives up.
  bool isOver();
  /// Returns how much of the limit is left, as of the last call of isOver(). It is never negative.
  absl::Duration left() const;
  /// Returns how much has counted, as of the last call of isOver().
  absl::Duration waitedFor() const { return absl::Nanoseconds(waited); }

private:
  Clock clock;
  int64_t limit, mostGap; ///< in nanoseconds
  int64_t last, waited = 0;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_PROCESS_PATIENCE_H
