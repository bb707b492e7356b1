//===- Reports.h - What a plan will cost, read off it ---------------------------------===//
#ifndef SPLITCAST_PASSES_PLAN_REPORTS_H
#define SPLITCAST_PASSES_PLAN_REPORTS_H

#include "dialects/exec/EntryPoints.h"
#include "dialects/sbp/algebra/Sizes.h"

#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace splitcast {

/// What lies at rest of a group of variables, on one rank, padding included.
struct GroupMemory {
  std::string name;   ///< of the group; of the variable where it has none
  sbp::Policy policy; ///< that holds for it; where its variables have several, each is a GroupMemory
  int64_t parameters = 0, optimizerState = 0, accumulators = 0;
};

/// Bytes of one rank while a session runs a function, or a schedule of several, by what they are for: all that grows
/// with the model or its batch. Of storages that ranks share, of which they have one copy, its blocks.
struct MemoryReport {
  int64_t parameters = 0, optimizerState = 0, otherState = 0; ///< persistent
  int64_t accumulatorsAtRest = 0;                             ///< persistent: accumulators that are assigned by parts
  /// What is live in the arena at the op where most is, of all that is run, by its role (inputs, outputs and workspaces
  /// are activations); the arena may be larger, by what does not fit together.
  int64_t gathered = 0, gradientBuckets = 0, gradientShards = 0, staging = 0, activations = 0;
  int64_t accumulators = 0; ///< carried from one micro-batch to the next, all through the step
  int64_t persistentBytes = 0;
  int64_t functionArenaBytes = 0; ///< what this function needs
  /// What is live at the op where most is, each buffer in whole units of alignment: no arena of this order of ops is
  /// smaller.
  int64_t leastArenaBytes = 0;
  int64_t arenaBytes = 0; ///< what the executor holds: the arena of the module's function that needs most
  /// In the host's memory, between a caller and the device: the pieces of all functions' inputs and outputs, and
  /// the numbers of micro-batches.
  int64_t interfaceBytes = 0;
  int64_t snapshotBytes = 0; ///< in the host's memory: copies of variables that are written to a file beside training
  bool deviceIsHost = true;  ///< one memory has all of it
  /// In the order of the module; together parameters, optimizerState and both kinds of accumulators above.
  std::vector<GroupMemory> groups;
  /// Whether ZeRO does with some variables what it does not with others.
  bool hasSeveralPolicies() const;
  /// Of the memory that the device computes in.
  int64_t peakBytes() const {
    const int64_t ofHost = deviceIsHost ? sbp::cappedSum(interfaceBytes, snapshotBytes) : 0;
    return sbp::cappedSum(sbp::cappedSum(persistentBytes, arenaBytes), ofHost);
  }
};

/// Of one run of a function or schedule, on one rank.
struct CommunicationReport {
  struct Entry {
    std::string collective; ///< "all-gather" and so on
    int64_t calls = 0, bytesSent = 0, messages = 0;
  };
  std::vector<Entry> entries;
  /// What would be sent besides if each micro-batch of a schedule added up what its last one does.
  int64_t savedBytes = 0;
};

/// Of the entry points of a module; what they share is added up once. Requires that the module lives as long, and is
/// not changed.
class MemoryReports {
public:
  /// Of a space that ranks may share: whether they have one copy of it.
  using IsShared = std::function<bool(llvm::StringRef space)>;
  explicit MemoryReports(mlir::ModuleOp plans, const IsShared &isShared = [](llvm::StringRef) { return true; });
  MemoryReport of(const exec::EntryPoint &point) const;

  using GroupIndices = std::map<std::pair<std::string, sbp::Policy>, size_t>;

private:
  exec::Spaces spaces;
  mlir::SymbolTable symbols;
  MemoryReport shared;       ///< what lies at rest, and what the functions share
  GroupIndices groupIndices; ///< in `shared`
};

/// `symbols`: any, which may serve several calls.
CommunicationReport reportCommunication(const exec::EntryPoint &point, mlir::SymbolTableCollection &symbols);
/// Of one run of a plan.
CommunicationReport reportCommunication(exec::PlanOp plan);

/// As lines of text, in MB of 10^6 bytes.
void print(const MemoryReport &report, llvm::raw_ostream &os);
void print(const CommunicationReport &report, llvm::raw_ostream &os);

} // namespace splitcast

#endif // SPLITCAST_PASSES_PLAN_REPORTS_H
