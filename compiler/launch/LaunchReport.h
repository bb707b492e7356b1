//===- LaunchReport.h - Reports of a run for its user --------------------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_LAUNCHREPORT_H
#define SPLITCAST_COMPILER_LAUNCH_LAUNCHREPORT_H

#include "compiler/launch/Session.h"
#include "runtime/io/Jsonl.h"

#include <optional>

namespace splitcast {

/// One line per group: the bytes that this rank stores between steps, and ZeRO's policy for the group.
std::string groupsText(const MemoryReport &memory);

/// The predicted peak of this rank with its terms, in MB (10^6 bytes), on one line.
std::string memoryText(const MemoryReport &memory);

/// One line per collective of one run on this rank; "no communication" if there is none.
std::string communicationText(const CommunicationReport &communication);

/// Reports memory and communication of every function before anything runs: this rank's numbers, and the minimum and
/// maximum over all ranks if these differ. Every rank calls it; rank 0 prints its own report to stdout. Errors are
/// those of Communicator::exchange.
absl::Status printReport(const Session &session, runtime::Communicator &ranks);

/// Prints, for each rank, the largest amount of other ranks' memory that it has had mapped at a time since printReport,
/// and of other ranks' blocks in memory that they share. The system counts both as memory of the rank itself. Every
/// rank calls it at the end (Launch::atEnd); rank 0 prints to stdout. Errors are those of Communicator::exchange.
absl::Status printViewedMemory(runtime::Communicator &ranks);

/// Resident memory of this process, now and at its maximum so far, without other ranks' memory that it has mapped. 0 if
/// the system does not report it.
struct ProcessMemory {
  int64_t residentBytes = 0, highWaterBytes = 0;
};
ProcessMemory processMemory();

/// "12.300 MB", of 10^6 bytes.
std::string megabytes(int64_t bytes);

/// A scalar output of a function.
struct NamedScalar {
  std::string name;
  double value = 0;
};

/// Returns the scalar outputs of type f32 or f64 of the function's last run, in the order of its outputs; zeros before
/// the first. It asks no other rank.
///   Errors  NotFound: there is no such function.
absl::StatusOr<std::vector<NamedScalar>> scalarOutputs(Session &session, const std::string &function);

/// Returns a line of metrics: {"step": 1, "seconds": 0.01, "loss": 2.5}. Steps are counted from 1.
nlohmann::ordered_json metricsOf(int64_t step, double seconds, const std::vector<NamedScalar> &scalars);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_LAUNCHREPORT_H
