#include "passes/plan/Reports.h"

#include "passes/local/DeviceTraits.h"

#include "llvm/Support/Format.h"

#include <map>

using namespace mlir;

namespace splitcast {

namespace {

/// Persistent bytes by the role of the first member: a parameter has none.
void addStorages(ModuleOp plans, MemoryReport &report) {
  SymbolTable symbols(plans);
  for (auto storage : plans.getOps<exec::StorageOp>()) {
    auto first =
        storage.getMembers().empty() ? FlatSymbolRefAttr() : dyn_cast<FlatSymbolRefAttr>(storage.getMembers()[0]);
    auto variable = first ? symbols.lookup<sbp::VariableOp>(first.getValue()) : sbp::VariableOp();
    bool isParameter = variable && variable.getTensorType().getRank() > 0;
    int64_t &bytes = variable && variable.getStateOf() ? report.optimizerState
                     : isParameter                     ? report.parameters
                                                       : report.otherState;
    bytes += storage.getRange().getBytes();
  }
}

/// Buffers of the arena as (bytes, first op, last op), with their purposes.
struct LiveBuffers {
  ArrayRef<int64_t> numbers; // offset, bytes, begin, end
  ArrayAttr purposes;

  explicit LiveBuffers(exec::PlanOp plan) {
    if (auto attr = plan->getAttrOfType<DenseI64ArrayAttr>("buffers"))
      numbers = attr.asArrayRef();
    purposes = plan->getAttrOfType<ArrayAttr>("purposes");
  }
  size_t size() const { return numbers.size() / 4; }
  int64_t bytes(size_t i) const { return numbers[4 * i + 1]; }
  int64_t begin(size_t i) const { return numbers[4 * i + 2]; }
  int64_t end(size_t i) const { return numbers[4 * i + 3]; }
  StringRef purpose(size_t i) const { return cast<StringAttr>(purposes[i]).getValue(); }

  /// The op at which most bytes are live.
  int64_t busiest() const {
    std::map<int64_t, int64_t> changes;
    for (size_t i = 0; i < size(); ++i) {
      changes[begin(i)] += bytes(i);
      changes[end(i) + 1] -= bytes(i);
    }
    int64_t live = 0, most = 0, at = 0;
    for (auto [op, change] : changes) {
      live += change;
      if (live > most) {
        most = live;
        at = op;
      }
    }
    return at;
  }
};

/// What the functions of a module share: the executor's one arena, and the session's pieces of inputs and outputs.
void addSharedMemory(ModuleOp plans, MemoryReport &report) {
  for (auto plan : plans.getOps<exec::PlanOp>()) {
    report.arenaBytes = std::max<int64_t>(report.arenaBytes, plan.getArenaBytes());
    for (ArrayAttr ranges : {plan.getInputs(), plan.getOutputs()})
      for (auto range : ranges.getAsRange<exec::RangeAttr>())
        report.interfaceBytes += range.getBytes();
  }
  report.deviceIsHost = !deviceTraitsOf(plans).hasOwnMemory;
}

double megabytes(int64_t bytes) { return bytes / 1e6; }

} // namespace

MemoryReport reportMemory(ModuleOp plans, exec::PlanOp plan) {
  MemoryReport report;
  addStorages(plans, report);
  addSharedMemory(plans, report);
  LiveBuffers buffers(plan);
  int64_t at = buffers.busiest();
  std::map<StringRef, int64_t *> terms = {{"gathered", &report.gathered},
                                          {"gradient buckets", &report.gradientBuckets},
                                          {"gradient shards", &report.gradientShards},
                                          {"staging", &report.staging},
                                          {"activations", &report.activations}};
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers.begin(i) <= at && at <= buffers.end(i))
      *(terms.count(buffers.purpose(i)) ? terms[buffers.purpose(i)] : &report.activations) += buffers.bytes(i);
  report.persistentBytes = plan.getPersistentBytes();
  report.functionArenaBytes = plan.getArenaBytes();
  return report;
}

CommunicationReport reportCommunication(exec::PlanOp plan) {
  std::map<std::string, CommunicationReport::Entry> byKind;
  for (auto op : plan.getBody().front().getOps<exec::CollectiveOp>()) {
    std::string kind = op.getKind().str();
    std::replace(kind.begin(), kind.end(), '_', '-');
    CommunicationReport::Entry &entry = byKind[kind];
    sbp::Traffic traffic = exec::trafficOf(op);
    entry.collective = kind;
    ++entry.calls;
    entry.bytesSent += traffic.bytes;
    entry.messages += traffic.messages;
  }
  CommunicationReport report;
  for (const auto &[kind, entry] : byKind)
    report.entries.push_back(entry);
  return report;
}

void print(const MemoryReport &report, llvm::raw_ostream &os) {
  auto line = [&](const char *name, int64_t bytes) {
    os << llvm::format("  %-18s %12.3f MB\n", name, megabytes(bytes));
  };
  os << "memory per rank, persistent:\n";
  line("parameters", report.parameters);
  line("optimizer state", report.optimizerState);
  line("other state", report.otherState);
  os << "memory per rank, arena, at its fullest:\n";
  line("gathered", report.gathered);
  line("gradient buckets", report.gradientBuckets);
  line("gradient shards", report.gradientShards);
  line("staging", report.staging);
  line("activations", report.activations);
  line("arena in all", report.functionArenaBytes);
  os << "memory per rank, shared by all functions:\n";
  line("largest arena", report.arenaBytes);
  line("inputs, outputs", report.interfaceBytes);
  os << "memory per rank, in all" << (report.deviceIsHost ? ":\n" : ", without the host's inputs and outputs:\n");
  line("peak", report.peakBytes());
}

void print(const CommunicationReport &report, llvm::raw_ostream &os) {
  os << "communication per run and rank:\n";
  for (const CommunicationReport::Entry &entry : report.entries)
    os << llvm::format("  %-15s %6lld calls %14lld bytes sent %8lld messages\n", entry.collective.c_str(),
                       static_cast<long long>(entry.calls), static_cast<long long>(entry.bytesSent),
                       static_cast<long long>(entry.messages));
  if (report.entries.empty())
    os << "  none\n";
}

} // namespace splitcast
