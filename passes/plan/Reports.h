//===- Reports.h - What a plan will cost, read off it ---------------------------------===//
#ifndef SPLITCAST_PASSES_PLAN_REPORTS_H
#define SPLITCAST_PASSES_PLAN_REPORTS_H

#include "dialects/exec/Exec.h"

#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <string>
#include <vector>

namespace splitcast {

/// Bytes of one rank, by what they are for; the executor never holds more.
struct MemoryReport {
  int64_t parameters = 0, optimizerState = 0, otherState = 0; ///< persistent
  /// What is live in the arena at the op where most is; the arena may be larger, by what does not fit together.
  int64_t gathered = 0, gradientBuckets = 0, gradientShards = 0, staging = 0, activations = 0;
  int64_t persistentBytes = 0, arenaBytes = 0;
  int64_t peakBytes() const { return persistentBytes + arenaBytes; }
};

/// Of one run of a function, on one rank.
struct CommunicationReport {
  struct Entry {
    std::string collective; ///< "all-gather" and so on
    int64_t calls = 0, bytesSent = 0, messages = 0;
  };
  std::vector<Entry> entries;
};

MemoryReport reportMemory(mlir::ModuleOp plans, exec::PlanOp plan);
CommunicationReport reportCommunication(exec::PlanOp plan);

/// As lines of text, in MB of 10^6 bytes.
void print(const MemoryReport &report, llvm::raw_ostream &os);
void print(const CommunicationReport &report, llvm::raw_ostream &os);

} // namespace splitcast

#endif // SPLITCAST_PASSES_PLAN_REPORTS_H
