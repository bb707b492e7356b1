// Adds up the costs of a plan from its own attributes; nothing is estimated.
//
// A storage holds parameters, optimizer state or accumulators; carried ones lie
// in the arena. The terms of the arena are taken at the one op at which most
// bytes are live, by the roles of the buffers that are live there, so their sum
// is a peak that occurs. Communication is added up over the collectives, with
// the bytes and messages that sbp/algebra derives from their blocks.
#include "passes/plan/Reports.h"

#include "dialects/exec/SharedStorages.h"
#include "dialects/sbp/algebra/Sizes.h"
#include "passes/local/DeviceTraits.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"

using namespace mlir;

namespace splitcast {

namespace {

SmallVector<exec::BufferAttr> buffersOf(exec::PlanOp plan) {
  SmallVector<exec::BufferAttr> buffers;
  if (ArrayAttr all = plan.getBuffersAttr())
    llvm::append_range(buffers, all.getAsRange<exec::BufferAttr>());
  return buffers;
}

/// Adds storages to a report, by group and purpose.
class StorageBytes {
public:
  StorageBytes(const SymbolTable &symbols, const MemoryReports::GroupIndices &indices, MemoryReport &report)
      : indices(indices), symbols(symbols), report(report) {}

  /// Adds the bytes that lie within `counted`. Storages that are not at rest
  /// lie in the arena; they count in the terms of the groups only, since the
  /// terms of the arena contain them.
  void add(exec::StorageOp storage, exec::RangeAttr counted, bool isAtRest) {
    const exec::RangeAttr range = storage.getRange();
    const int64_t elementBytes = sbp::elementBytes(storage.getType());
    auto countedIn = [&](int64_t begin, int64_t end) {
      return std::max<int64_t>(0, std::min(range.getOffset() + end, counted.getEnd()) -
                                      std::max(range.getOffset() + begin, counted.getOffset()));
    };
    std::vector<std::pair<int64_t, StringRef>> members; ///< by their first byte
    for (auto [offset, member] : llvm::zip(storage.getOffsets(), storage.getMembers()))
      members.push_back({offset * elementBytes, cast<FlatSymbolRefAttr>(member).getValue()});
    llvm::stable_sort(members, llvm::less_first());
    // A member has the bytes up to the next member; the first also has those
    // before it.
    for (size_t i = 0; i < members.size(); ++i)
      add(symbols.lookup<sbp::VariableOp>(members[i].second),
          countedIn(i == 0 ? 0 : members[i].first, i + 1 == members.size() ? range.getBytes() : members[i + 1].first),
          isAtRest);
    if (members.empty())
      report.otherState += countedIn(0, range.getBytes());
  }

  MemoryReports::GroupIndices indices; ///< of the report's groups

private:
  void add(sbp::VariableOp variable, int64_t bytes, bool isAtRest) {
    if (!variable || (!variable.getStateOf() && !variable.getCarried() && variable.getTensorType().getRank() == 0)) {
      report.otherState += bytes;
      return;
    }
    GroupMemory &group = groupOf(variable);
    if (variable.getCarried()) {
      group.accumulators += bytes;
      report.accumulatorsAtRest += isAtRest ? bytes : 0;
      return;
    }
    (variable.getStateOf() ? group.optimizerState : group.parameters) += bytes;
    (variable.getStateOf() ? report.optimizerState : report.parameters) += bytes;
  }

  /// Returns the entry of the group of a variable; state belongs to the group
  /// of its parameter.
  GroupMemory &groupOf(sbp::VariableOp variable) {
    if (std::optional<StringRef> owner = variable.getStateOf())
      if (auto parameter = symbols.lookup<sbp::VariableOp>(*owner))
        variable = parameter;
    StringRef name = variable.getGroupOrPrefix().empty() ? variable.getSymName() : variable.getGroupOrPrefix();
    const sbp::Policy policy = variable.getPolicyOrDefault();
    auto [known, isNew] = indices.try_emplace({name.str(), policy}, report.groups.size());
    if (isNew)
      report.groups.push_back({name.str(), policy});
    return report.groups[known->second];
  }

  const SymbolTable &symbols;
  MemoryReport &report;
};

/// The op of a plan at which most bytes of the arena are live. Each buffer is
/// rounded up to the alignment.
struct Fullest {
  exec::PlanOp plan;
  int64_t op = 0, bytes = 0;
};

int64_t alignedBytes(exec::BufferAttr buffer) {
  return sbp::alignUp(buffer.getRange().getBytes(), sbp::kAlignmentBytes);
}

Fullest fullestOf(exec::PlanOp plan) {
  std::map<int64_t, int64_t> changes;
  for (exec::BufferAttr buffer : buffersOf(plan)) {
    changes[buffer.getFirst()] += alignedBytes(buffer);
    changes[buffer.getLast() + 1] -= alignedBytes(buffer);
  }
  Fullest fullest{plan};
  int64_t live = 0;
  for (auto [op, change] : changes) {
    live += change;
    if (live > fullest.bytes) {
      fullest.bytes = live;
      fullest.op = op;
    }
  }
  return fullest;
}

/// Returns the term of the report that counts buffers of this role.
int64_t &termOf(exec::Role role, MemoryReport &report) {
  switch (role) {
  case exec::Role::Gathered:
    return report.gathered;
  case exec::Role::Gradient:
    return report.gradientBuckets;
  case exec::Role::GradientShard:
    return report.gradientShards;
  case exec::Role::Staging:
    return report.staging;
  case exec::Role::Accumulator:
    return report.accumulators;
  case exec::Role::Input:
  case exec::Role::Output:
  case exec::Role::Activation:
  case exec::Role::Workspace:
    break;
  }
  return report.activations;
}

/// Adds the buffers that are live at the fullest op of all runs of an entry
/// point.
void addArena(const exec::EntryPoint &point, MemoryReport &report) {
  Fullest fullest;
  for (const exec::EntryRun &run : point.runs)
    if (Fullest of = fullestOf(run.plan); !fullest.plan || of.bytes > fullest.bytes)
      fullest = of;
  for (exec::BufferAttr buffer : buffersOf(fullest.plan))
    if (buffer.getFirst() <= fullest.op && fullest.op <= buffer.getLast())
      termOf(buffer.getRole(), report) += buffer.getRange().getBytes();
  report.leastArenaBytes = fullest.bytes;
}

/// Returns, for storages in spaces of which ranks share one copy, the block of
/// this rank, which is the part that counts here.
DenseMap<Operation *, exec::RangeAttr> ownBlocksOf(ModuleOp plans, const llvm::StringSet<> &shared) {
  DenseMap<Operation *, exec::RangeAttr> blocks;
  if (!shared.empty())
    for (const exec::SharedStorage &storage : exec::sharedStoragesOf(plans))
      if (const exec::RangeAttr own = storage.own; shared.contains(own.getSpace()))
        blocks[storage.storage] = own;
  return blocks;
}

/// Adds the memory that the functions of a module share: the spaces of the
/// executor, and the pieces of inputs and outputs of the session.
void addSharedMemory(ModuleOp plans, const llvm::StringSet<> &sharedSpaces,
                     const DenseMap<Operation *, exec::RangeAttr> &ownBlocks, MemoryReport &report) {
  for (auto space : plans.getOps<exec::SpaceOp>()) {
    int64_t &bytes = space.getKept() ? report.persistentBytes : report.arenaBytes;
    bytes = sbp::cappedSum(bytes, sharedSpaces.contains(space.getSymName()) ? 0 : space.getBytes());
  }
  for (const auto &[storage, block] : ownBlocks)
    report.persistentBytes = sbp::cappedSum(report.persistentBytes, block.getBytes());
  for (const exec::EntryPoint &point : exec::entryPointsOf(plans)) {
    report.interfaceBytes = sbp::cappedSum(report.interfaceBytes, point.numbersBytes());
    for (const exec::EntryTensor &tensor : llvm::concat<const exec::EntryTensor>(point.inputs, point.outputs))
      report.interfaceBytes = sbp::cappedSum(report.interfaceBytes, tensor.bytes());
  }
  report.deviceIsHost = !deviceTraitsOf(plans).hasOwnMemory;
}

double megabytes(int64_t bytes) { return bytes / 1e6; }

} // namespace

bool MemoryReport::hasSeveralPolicies() const {
  return llvm::any_of(groups, [&](const GroupMemory &group) { return group.policy != groups.front().policy; });
}

MemoryReports::MemoryReports(ModuleOp plans, const IsShared &isShared) : spaces(plans), symbols(plans) {
  StorageBytes storages(symbols, {}, shared);
  llvm::StringSet<> sharedSpaces;
  for (auto space : plans.getOps<exec::SpaceOp>())
    if (space.getGroup() && isShared(space.getSymName()))
      sharedSpaces.insert(space.getSymName());
  const DenseMap<Operation *, exec::RangeAttr> ownBlocks = ownBlocksOf(plans, sharedSpaces);
  for (auto storage : plans.getOps<exec::StorageOp>())
    if (spaces.keeps(storage.getRange())) {
      auto shared = ownBlocks.find(storage);
      storages.add(storage, shared == ownBlocks.end() ? storage.getRange() : shared->second, /*isAtRest=*/true);
    }
  groupIndices = std::move(storages.indices);
  addSharedMemory(plans, sharedSpaces, ownBlocks, shared);
}

MemoryReport MemoryReports::of(const exec::EntryPoint &point) const {
  MemoryReport report = shared;
  StorageBytes storages(symbols, groupIndices, report);
  DenseSet<StringAttr> added; // runs share their accumulators
  for (const exec::EntryRun &run : point.runs)
    for (exec::BufferAttr buffer : buffersOf(run.plan))
      if (buffer.getRole() == exec::Role::Accumulator && added.insert(buffer.getOwner()).second)
        if (auto storage = symbols.lookup<exec::StorageOp>(buffer.getOwner()); !spaces.keeps(storage.getRange()))
          storages.add(storage, storage.getRange(), /*isAtRest=*/false);
  addArena(point, report);
  for (const exec::EntryRun &run : point.runs)
    report.functionArenaBytes =
        std::max(report.functionArenaBytes,
                 sbp::checkedAlignUp(exec::bytesOfRun(run.plan, spaces), sbp::kAlignmentBytes).value_or(INT64_MAX));
  return report;
}

/// Adds the communication of `times` runs of a plan, by the name of the
/// collective.
static void addCommunication(exec::PlanOp plan, int64_t times, SymbolTableCollection &symbols,
                             std::map<std::string, CommunicationReport::Entry> &byKind) {
  const DeviceTraits traits = deviceTraitsOf(plan->getParentOfType<ModuleOp>());
  for (auto op : plan.getBody().front().getOps<exec::CollectiveOp>()) {
    std::string kind = op.getRule().name;
    std::replace(kind.begin(), kind.end(), '_', '-');
    CommunicationReport::Entry &entry = byKind[kind];
    ccl::CollectiveCall call = exec::callOf(op, exec::groupOf(op, symbols));
    call.chunkBytes = traits.chunkBytes(call.ranks);
    const ccl::Traffic traffic = call.traffic();
    entry.collective = kind;
    entry.calls = sbp::cappedSum(entry.calls, times);
    entry.bytesSent = sbp::cappedSum(entry.bytesSent, sbp::cappedProduct(times, traffic.bytes));
    entry.messages = sbp::cappedSum(entry.messages, sbp::cappedProduct(times, traffic.messages));
  }
}

static CommunicationReport reportOf(const std::map<std::string, CommunicationReport::Entry> &byKind) {
  CommunicationReport report;
  for (const auto &[kind, entry] : byKind)
    report.entries.push_back(entry);
  return report;
}

CommunicationReport reportCommunication(exec::PlanOp plan) {
  std::map<std::string, CommunicationReport::Entry> byKind;
  SymbolTableCollection symbols;
  addCommunication(plan, 1, symbols, byKind);
  return reportOf(byKind);
}

/// Returns the bytes that the summing collectives of a plan send.
static int64_t bytesForSums(exec::PlanOp plan, SymbolTableCollection &symbols) {
  int64_t bytes = 0;
  for (auto op : plan.getBody().front().getOps<exec::CollectiveOp>())
    if (op.getRule().adds)
      bytes += exec::callOf(op, exec::groupOf(op, symbols)).traffic().bytes;
  return bytes;
}

/// Returns the bytes that are saved because only the last run sums certain
/// values: the difference to the run before it, for each micro-batch before the
/// last.
static int64_t bytesSummedOnce(ArrayRef<exec::EntryRun> runs, SymbolTableCollection &symbols) {
  if (runs.size() < 2 || runs.drop_back().back().end != runs.back().begin)
    return 0;
  const int64_t more = bytesForSums(runs.back().plan, symbols) - bytesForSums(runs.drop_back().back().plan, symbols);
  return sbp::cappedProduct(runs.back().begin, std::max<int64_t>(more, 0));
}

CommunicationReport reportCommunication(const exec::EntryPoint &point, SymbolTableCollection &symbols) {
  std::map<std::string, CommunicationReport::Entry> byKind;
  for (const exec::EntryRun &run : point.runs)
    addCommunication(run.plan, run.end - run.begin, symbols, byKind);
  CommunicationReport report = reportOf(byKind);
  report.savedBytes = bytesSummedOnce(point.runs, symbols);
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
  if (report.accumulatorsAtRest > 0)
    line("accumulators", report.accumulatorsAtRest);
  if (report.hasSeveralPolicies())
    for (const GroupMemory &group : report.groups) {
      os << llvm::format("  group %-12s %12.3f MB parameters, %12.3f MB optimizer state", group.name.c_str(),
                         megabytes(group.parameters), megabytes(group.optimizerState));
      if (group.accumulators > 0)
        os << llvm::format(", %12.3f MB accumulators", megabytes(group.accumulators));
      os << ": " << sbp::toString(group.policy) << "\n";
    }
  os << "memory per rank, arena, at its fullest:\n";
  line("gathered", report.gathered);
  line("gradient buckets", report.gradientBuckets);
  line("gradient shards", report.gradientShards);
  line("staging", report.staging);
  line("activations", report.activations);
  if (report.accumulators > 0)
    line("accumulators", report.accumulators);
  line("arena in all", report.functionArenaBytes);
  line("live at once", report.leastArenaBytes);
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
  if (report.savedBytes > 0)
    os << "  saved, since the last micro-batch sums for all: " << report.savedBytes << " bytes\n";
}

} // namespace splitcast
