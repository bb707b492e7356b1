//===- LaunchReport.h - What a run tells its user ------------------------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_LAUNCHREPORT_H
#define SPLITCAST_COMPILER_LAUNCH_LAUNCHREPORT_H

#include "compiler/launch/Session.h"
#include "runtime/io/Jsonl.h"

#include <optional>

namespace splitcast {

/// What lies at rest of each group on this rank, and what ZeRO does with it, a line per group.
std::string groupsText(const MemoryReport &memory);

/// The predicted peak of this rank with its terms, in MB (10^6 bytes), on one line.
std::string memoryText(const MemoryReport &memory);

/// One line per collective, of one run on this rank; "no communication" where there is none.
std::string communicationText(const CommunicationReport &communication);

/// Memory and communication of every function, before anything runs: this rank's, and where ranks differ the least and
/// the most of all. Every rank calls it, and rank 0 prints its own.
absl::Status printReport(const Session &session, runtime::Communicator &ranks);

/// What ranks have had mapped of each other at most since printReport, and of others' blocks in memory that they share:
/// the system counts it as memory of each. Every rank calls it, at the end (Launch::atEnd); rank 0 prints.
absl::Status printViewedMemory(runtime::Communicator &ranks);

/// Memory of this process that is resident, now and at most so far, without what it has mapped of other ranks. 0 where
/// the system does not say.
struct ProcessMemory {
  int64_t residentBytes = 0, highWaterBytes = 0;
};
ProcessMemory processMemory();

/// "12.3 MB"
std::string megabytes(int64_t bytes);

/// An output that is one number.
struct NamedScalar {
  std::string name;
  double value = 0;
};

/// Those of the function's last run, in the order of its outputs; f32 and f64 ones.
absl::StatusOr<std::vector<NamedScalar>> scalarOutputs(Session &session, const std::string &function);

/// A line of metrics: {"step": 1, "seconds": 0.01, "loss": 2.5}. Steps count from 1.
nlohmann::ordered_json metricsOf(int64_t step, double seconds, const std::vector<NamedScalar> &scalars);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_LAUNCHREPORT_H
