//===- Profile.h - Where the time of a run went ------------------------------===//
//
// --profile=FILE: a Chrome trace of all ranks, for about:tracing or Perfetto, and a table of rank 0's, by kind of op
// and by op, beside what the machine can do at most.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_PROFILE_H
#define SPLITCAST_COMPILER_LAUNCH_PROFILE_H

#include "runtime/executor/Profiler.h"
#include "runtime/host/Peaks.h"

#include <string>

namespace splitcast {

/// The table, beside the peaks of a rank.
std::string profileTable(const runtime::Profiler &profiler, const runtime::Peaks &peaks);

/// A rank's events of a Chrome trace, each with a comma behind it: ops, and what is live of the arena, by role.
/// `shift`, in nanoseconds, is added to its clock.
std::string traceEvents(const runtime::Profiler &profiler, int64_t rank, int64_t shift);

/// Every rank calls it, in the same place; rank 0 writes the trace and prints the table.
///   Errors  those of File, on rank 0 alone, for callers to agree about.
absl::Status writeProfile(const std::string &path, const runtime::Profiler &profiler, const runtime::Peaks &peaks,
                          runtime::Communicator &ranks);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_PROFILE_H
