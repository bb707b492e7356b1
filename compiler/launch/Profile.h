//===- Profile.h - How long each op of a run took ----------------------------===//
//
// With --profile=FILE a program writes a Chrome trace of all ranks, for about:tracing or Perfetto, and prints a table
// of rank 0's times, by kind of op and by op, together with the peak rates of the machine or the GPU. A trace has a row
// for each stream.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_PROFILE_H
#define SPLITCAST_COMPILER_LAUNCH_PROFILE_H

#include "runtime/executor/Profiler.h"
#include "runtime/host/Peaks.h"

#include <string>

namespace splitcast {

/// Measures what a rank can do at most. Of a device that is not the host, this is only the rate of copies within its
/// memory, or nothing if it has no room for them; flopsPerSecond is 0.
absl::StatusOr<runtime::Peaks> peaksOf(runtime::Device &device, int threads);

/// Returns the table, with the peak rates of a rank.
std::string profileTable(const runtime::Profiler &profiler, const runtime::Peaks &peaks);

/// Returns a rank's events of a Chrome trace, each followed by a comma: its ops, and the live bytes of the arena by
/// role. `shift`, in nanoseconds, is added to the rank's clock.
std::string traceEvents(const runtime::Profiler &profiler, int64_t rank, int64_t shift);

/// Every rank calls it at the same point. Rank 0 prints the table to stdout, and writes the trace, to its `path`.
///   Errors  those of Communicator::exchange; those of File, on rank 0 only: callers must agree on the status
///           themselves.
absl::Status writeProfile(const std::string &path, const runtime::Profiler &profiler, const runtime::Peaks &peaks,
                          runtime::Communicator &ranks);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_PROFILE_H
