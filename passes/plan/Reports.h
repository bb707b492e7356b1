//===- Reports.h - Predictions of a plan's memory and communication ---------------------------------===//
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

/// The bytes that one rank stores of a group of variables, including padding.
struct GroupMemory {
  std::string name;   ///< the name of the group, or of a variable without a group
  sbp::Policy policy; ///< the policy of the group; if its variables have several, there is a GroupMemory for each
  int64_t parameters = 0, optimizerState = 0, accumulators = 0;
};

/// The bytes of one rank while a session runs a function, or a schedule of several functions, by purpose: all memory
/// that grows with the model or its batch. Of storages of which ranks share one copy, only this rank's blocks count.
struct MemoryReport {
  int64_t parameters = 0, optimizerState = 0, otherState = 0; ///< persistent
  int64_t accumulatorsAtRest = 0;                             ///< persistent: accumulators that are assigned in parts
  /// The bytes that are live in the arena at the op where most are, over all functions that are run, by role (inputs,
  /// outputs and workspaces count as activations). The arena may be larger, because of gaps between buffers.
  int64_t gathered = 0, gradientBuckets = 0, gradientShards = 0, staging = 0, activations = 0;
  int64_t accumulators = 0; ///< carried from one micro-batch to the next, during the whole step
  int64_t persistentBytes = 0;
  int64_t functionArenaBytes = 0; ///< the arena of this function
  /// The most bytes that are live at one op, each buffer rounded up to the alignment: no arena for this order of ops is
  /// smaller.
  int64_t leastArenaBytes = 0;
  int64_t arenaBytes = 0; ///< the arena that the executor allocates: the largest of the module's functions
  /// In the host's memory, between a caller and the device: the pieces of the inputs and outputs of all functions, and
  /// the numbers of micro-batches.
  int64_t interfaceBytes = 0;
  int64_t snapshotBytes = 0; ///< in the host's memory: copies of variables that are written to a file during training
  bool deviceIsHost = true;  ///< host and device have the same memory
  /// The groups in the order of the module. Their sums are parameters, optimizerState and both kinds of accumulators
  /// above.
  std::vector<GroupMemory> groups;
  /// Whether the groups' policies differ.
  bool hasSeveralPolicies() const;
  /// Returns the peak of the memory in which the device computes.
  int64_t peakBytes() const {
    const int64_t ofHost = deviceIsHost ? sbp::cappedSum(interfaceBytes, snapshotBytes) : 0;
    return sbp::cappedSum(sbp::cappedSum(persistentBytes, arenaBytes), ofHost);
  }
};

/// The communication of one run of a function or schedule, on one rank.
struct CommunicationReport {
  struct Entry {
    std::string collective; ///< "all-gather" and so on
    int64_t calls = 0, bytesSent = 0, messages = 0;
  };
  std::vector<Entry> entries;
  /// The further bytes that would be sent if each micro-batch of a schedule reduced what only the last one reduces.
  int64_t savedBytes = 0;
};

/// The memory reports of a module's entry points; the memory that they share is added up once. Requires that the module
/// outlives this object and does not change.
class MemoryReports {
public:
  /// Returns whether ranks have one copy of a space that they may share.
  using IsShared = std::function<bool(llvm::StringRef space)>;
  explicit MemoryReports(mlir::ModuleOp plans, const IsShared &isShared = [](llvm::StringRef) { return true; });
  MemoryReport of(const exec::EntryPoint &point) const;

  using GroupIndices = std::map<std::pair<std::string, sbp::Policy>, size_t>;

private:
  exec::Spaces spaces;
  mlir::SymbolTable symbols;
  MemoryReport shared;       ///< the stored bytes, and other bytes that the functions share
  GroupIndices groupIndices; ///< in `shared`
};

/// Reports the communication of an entry point. `symbols` may be reused for several calls.
CommunicationReport reportCommunication(const exec::EntryPoint &point, mlir::SymbolTableCollection &symbols);
/// Reports the communication of one run of a plan.
CommunicationReport reportCommunication(exec::PlanOp plan);

/// Print lines of text, in MB of 10^6 bytes.
void print(const MemoryReport &report, llvm::raw_ostream &os);
void print(const CommunicationReport &report, llvm::raw_ostream &os);

} // namespace splitcast

#endif // SPLITCAST_PASSES_PLAN_REPORTS_H
