// Verifies the buffers of plans. No byte of a space that is not kept is read
// after another buffer has taken its place, and no run of a schedule overwrites
// a value that is carried from run to run.
#include "dialects/exec/Exec.h"

#include "mlir/IR/DialectImplementation.h"

#include <map>

using namespace mlir;
using namespace splitcast;
using namespace splitcast::exec;

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

namespace {

constexpr std::pair<Role, const char *> kRoles[] = {
    {Role::Input, "input"},       {Role::Output, "output"},       {Role::Activation, "activation"},
    {Role::Gathered, "gathered"}, {Role::Gradient, "gradient"},   {Role::GradientShard, "gradient_shard"},
    {Role::Staging, "staging"},   {Role::Workspace, "workspace"}, {Role::Accumulator, "accumulator"}};

} // namespace

StringRef splitcast::exec::nameOf(Role role) {
  for (auto [known, name] : kRoles)
    if (known == role)
      return name;
  return "";
}

std::optional<Role> splitcast::exec::roleNamed(StringRef name) {
  for (auto [role, known] : kRoles)
    if (name == known)
      return role;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

Attribute BufferAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name, space;
  std::string owner;
  int64_t offset, bytes, first, last;
  if (parser.parseLess() || parser.parseKeyword(&name) || parser.parseString(&owner) || parser.parseComma() ||
      parser.parseKeyword(&space) || parser.parseComma() || parser.parseInteger(offset) || parser.parseComma() ||
      parser.parseInteger(bytes) || parser.parseComma() || parser.parseKeyword("during") ||
      parser.parseInteger(first) || parser.parseKeyword("to") || parser.parseInteger(last) || parser.parseGreater())
    return {};
  Builder &builder = parser.getBuilder();
  auto range = parser.getChecked<RangeAttr>(loc, parser.getContext(), builder.getStringAttr(space), offset, bytes);
  if (!range)
    return {};
  std::optional<Role> role = roleNamed(name);
  if (role)
    return parser.getChecked<BufferAttr>(loc, parser.getContext(), *role, builder.getStringAttr(owner), range, first,
                                         last);
  InFlightDiagnostic error = parser.emitError(loc) << "buffer of role '" << name << "'; roles are ";
  llvm::interleaveComma(kRoles, error, [&](const auto &known) { error << known.second; });
  return {};
}

void BufferAttr::print(AsmPrinter &printer) const {
  printer << "<" << nameOf(getRole()) << " " << getOwner() << ", " << getRange().getSpace().getValue() << ", "
          << getRange().getOffset() << ", " << getRange().getBytes() << ", during " << getFirst() << " to " << getLast()
          << ">";
}

LogicalResult BufferAttr::verify(function_ref<InFlightDiagnostic()> emitError, Role, StringAttr, RangeAttr,
                                 int64_t first, int64_t last) {
  if (last < first)
    return emitError() << "buffer that is live during ops " << first << " to " << last
                       << "; it must not end before it begins";
  return success();
}

namespace {

/// Verifies C4: walks through a plan with the buffers that are live at each op.
class BufferVerifier {
public:
  BufferVerifier(PlanOp plan, const Spaces &spaces)
      : plan(plan), spaces(spaces), ops(llvm::range_size(plan.getBody().front())) {}

  LogicalResult run() {
    if (failed(sort()) || failed(advance(-1)) || failed(verifyUses(plan, plan.getInputs().getAsRange<RangeAttr>())))
      return failure();
    int64_t index = 0;
    for (Operation &op : plan.getBody().front()) {
      SmallVector<RangeAttr> ranges;
      rangesOf(&op, ranges, ranges);
      if (failed(advance(index++)) || failed(verifyUses(&op, ranges)) || failed(follow(&op)))
        return failure();
    }
    return success(succeeded(advance(ops)) && succeeded(verifyUses(plan, plan.getOutputs().getAsRange<RangeAttr>())));
  }

private:
  /// Sorts the buffers by the ops at which they begin and end, after verifying
  /// each by itself.
  LogicalResult sort() {
    for (auto buffer : plan.getBuffersAttr().getAsRange<BufferAttr>()) {
      const RangeAttr range = buffer.getRange();
      if (failed(verifyWithin(spaces, plan, range)))
        return failure();
      if (spaces.keeps(range))
        return plan.emitOpError() << "has " << buffer << ", but space @" << range.getSpace().getValue()
                                  << " is kept; put buffers into spaces that are not";
      if (buffer.getFirst() < -1 || buffer.getLast() > ops)
        return plan.emitOpError() << "has " << buffer << ", but its ops are 0 to " << ops - 1
                                  << "; a buffer must live within -1 to " << ops;
      if (range.getBytes() == 0)
        continue;
      begins[buffer.getFirst()].push_back(buffer);
      ends[buffer.getLast()].push_back(buffer);
    }
    return success();
  }

  /// Moves on to op `index`: removes the buffers that have ended, and adds
  /// those that begin.
  LogicalResult advance(int64_t index) {
    for (BufferAttr buffer : ends[index - 1])
      live[buffer.getRange().getSpace()].erase(buffer.getRange().getOffset());
    for (BufferAttr buffer : begins[index]) {
      const RangeAttr range = buffer.getRange();
      Live &inSpace = live[range.getSpace()];
      auto next = inSpace.lower_bound(range.getOffset());
      if (next != inSpace.begin() && std::prev(next)->second.getRange().getEnd() > range.getOffset())
        --next;
      if (next != inSpace.end() && next->first < range.getEnd())
        return plan.emitOpError() << "has " << buffer << " and " << next->second
                                  << ", which share bytes at the same op; give each its own";
      inSpace.emplace(range.getOffset(), buffer);
    }
    return success();
  }

  /// Returns the live buffer that contains the range, or null.
  BufferAttr find(RangeAttr range) const {
    auto known = live.find(range.getSpace());
    if (known == live.end())
      return {};
    auto next = known->second.upper_bound(range.getOffset());
    if (next == known->second.begin() || std::prev(next)->second.getRange().getEnd() < range.getEnd())
      return {};
    return std::prev(next)->second;
  }

  bool isOfBuffers(RangeAttr range) const { return range.getBytes() > 0 && !spaces.keeps(range); }

  template <typename Ranges> LogicalResult verifyUses(Operation *op, Ranges &&ranges) const {
    for (RangeAttr range : ranges)
      if (isOfBuffers(range) && !find(range))
        return op->emitOpError()
               << "uses " << range
               << ", which lies in no buffer that is live at this op; let one live until then, or add one";
    return success();
  }

  /// Verifies that the buffers of a collective are live until its wait.
  LogicalResult follow(Operation *op) {
    if (auto collective = dyn_cast<CollectiveOp>(op)) {
      SmallVector<RangeAttr> ranges;
      rangesOf(collective, ranges, ranges);
      for (RangeAttr range : ranges)
        if (isOfBuffers(range))
          underWay[collective.getTicket()].push_back({range, find(range)});
      return success();
    }
    auto wait = dyn_cast<WaitOp>(op);
    if (!wait)
      return success();
    for (auto [range, buffer] : underWay[wait.getTicket()])
      if (find(range) != buffer)
        return wait.emitOpError() << "ends a collective on " << range << ", but " << buffer
                                  << " is gone by then; let it live until the wait";
    underWay.erase(wait.getTicket());
    return success();
  }

  using Live = std::map<int64_t, BufferAttr>; ///< by offset; they share no byte

  PlanOp plan;
  const Spaces &spaces;
  const int64_t ops;
  std::map<int64_t, SmallVector<BufferAttr>> begins, ends;                   ///< by op
  DenseMap<StringAttr, Live> live;                                           ///< by space
  std::map<int64_t, SmallVector<std::pair<RangeAttr, BufferAttr>>> underWay; ///< by ticket
};

} // namespace

//===----------------------------------------------------------------------===//
// Storages in buffers, and kept runs
//===----------------------------------------------------------------------===//

namespace {

bool isCarried(Role role) { return role == Role::Gathered || role == Role::Accumulator; }

/// Returns the storage that the buffer is, or null.
StorageOp storageOf(PlanOp plan, BufferAttr buffer, SymbolTableCollection &symbols) {
  if (!isCarried(buffer.getRole()))
    return {};
  auto storage = symbols.lookupNearestSymbolFrom<StorageOp>(plan, buffer.getOwner());
  return storage && storage.getRange() == buffer.getRange() ? storage : StorageOp();
}

/// Verifies C3 for one buffer. A buffer that has the name of a storage and
/// shares bytes with it must be that storage. Inputs and outputs are left out,
/// since users choose their names.
LogicalResult verifyStorage(PlanOp plan, BufferAttr buffer, int64_t ops, SymbolTableCollection &symbols) {
  if (buffer.getRole() == Role::Input || buffer.getRole() == Role::Output)
    return success();
  if (storageOf(plan, buffer, symbols)) {
    if (buffer.getFirst() != -1 || buffer.getLast() != ops)
      return plan.emitOpError() << "has " << buffer
                                << ", a storage, during some of its ops; a storage must be live from -1 to " << ops;
    return success();
  }
  auto storage = symbols.lookupNearestSymbolFrom<StorageOp>(plan, buffer.getOwner());
  if (storage && storage.getRange().overlaps(buffer.getRange()))
    return plan.emitOpError() << "has " << buffer << ", but " << buffer.getOwner() << " is a storage, in "
                              << storage.getRange()
                              << "; its buffer must have the role gathered or accumulator, and that "
                              << "range: change these, or the owner";
  return success();
}

LogicalResult verifyStorages(PlanOp plan, SymbolTableCollection &symbols) {
  if (!plan.getBuffersAttr())
    return success();
  const int64_t ops = llvm::range_size(plan.getBody().front());
  for (auto buffer : plan.getBuffersAttr().getAsRange<BufferAttr>())
    if (failed(verifyStorage(plan, buffer, ops, symbols)))
      return failure();
  return success();
}

/// Verifies C3 and C5 where they concern several plans: what the plans of a
/// schedule require of each other.
class ScheduleVerifier {
public:
  ScheduleVerifier(ModuleOp module, SymbolTableCollection &symbols) : module(module), symbols(symbols), spaces(module) {
    for (auto storage : module.getOps<StorageOp>()) {
      hasStoragesOfRuns |= !spaces.keeps(storage.getRange());
      if (llvm::all_of(storage.getMembers().getAsRange<FlatSymbolRefAttr>(), [&](auto member) {
            auto variable = symbols.lookupNearestSymbolFrom<sbp::VariableOp>(storage, member);
            return variable && variable.getCarried();
          }))
        ofCarried.push_back(storage.getRange());
    }
  }

  LogicalResult run() {
    for (auto schedule : module.getOps<sbp::ScheduleOp>())
      if (failed(verifyCarried(plansOf(schedule))) || failed(verifyKept(schedule)))
        return failure();
    return success();
  }

private:
  using Plans = llvm::SmallSetVector<Operation *, 4>;

  PlanOp planOf(sbp::RunOp run) {
    return symbols.lookupNearestSymbolFrom<PlanOp>(run->getParentOp(), run.getFunctionAttr());
  }

  Plans plansOf(sbp::ScheduleOp schedule) {
    Plans plans;
    for (auto run : schedule.getBody().front().getOps<sbp::RunOp>())
      if (PlanOp plan = planOf(run))
        plans.insert(plan);
    return plans;
  }

  /// Verifies C3: if one plan of a schedule has the buffer of a storage, all
  /// its plans have it.
  LogicalResult verifyCarried(const Plans &plans) {
    llvm::MapVector<StringAttr, std::pair<PlanOp, BufferAttr>> known; // by owner
    DenseSet<std::pair<Operation *, Attribute>> has;
    for (Operation *op : plans) {
      auto plan = cast<PlanOp>(op);
      if (!plan.getBuffersAttr() && plans.size() > 1 && hasStoragesOfRuns) {
        auto other = cast<PlanOp>(plans[plans[0] == op ? 1 : 0]);
        return plan.emitOpError() << "lists no buffers, but runs with @" << other.getSymName()
                                  << " in a schedule, and storages lie in a space that is not kept; list its buffers";
      }
      if (!plan.getBuffersAttr())
        continue;
      for (auto buffer : plan.getBuffersAttr().getAsRange<BufferAttr>())
        if (storageOf(plan, buffer, symbols)) {
          known.insert({buffer.getOwner(), {plan, buffer}});
          has.insert({op, buffer.getOwner()});
        }
    }
    for (Operation *op : plans)
      for (auto &[owner, first] : known)
        if (!has.contains({op, owner}))
          return op->emitOpError() << "has no buffer of " << owner << " in " << first.second.getRange() << ", but @"
                                   << first.first.getSymName()
                                   << " of the same schedule has one; add it, so that nothing else lies there";
    return success();
  }

  /// Verifies C5: a kept run writes into no kept space, except within storages
  /// of carried variables.
  LogicalResult verifyKept(sbp::ScheduleOp schedule) {
    for (auto run : schedule.getBody().front().getOps<sbp::RunOp>()) {
      PlanOp plan = run.getKept() ? planOf(run) : PlanOp();
      if (!plan)
        continue;
      for (Operation &op : plan.getBody().front()) {
        SmallVector<RangeAttr> reads, writes;
        rangesOf(&op, reads, writes);
        for (RangeAttr range : writes)
          if (spaces.keeps(range) && !isOfCarried(range))
            return op.emitOpError()
                   << "writes " << range << " in a kept run of @" << schedule.getSymName()
                   << ", which may be left out; a kept run may write only carried variables in kept spaces";
      }
    }
    return success();
  }

  /// Whether the range lies within a storage of carried variables.
  bool isOfCarried(RangeAttr range) const {
    return range.getBytes() == 0 || llvm::any_of(ofCarried, [&](RangeAttr of) { return of.contains(range); });
  }

  ModuleOp module;
  SymbolTableCollection &symbols;
  const Spaces spaces;
  SmallVector<RangeAttr> ofCarried; ///< of storages that hold carried variables only
  bool hasStoragesOfRuns = false;   ///< whether storages lie in spaces that are not kept
};

bool isFirst(PlanOp plan) {
  for (Operation *op = plan->getPrevNode(); op; op = op->getPrevNode())
    if (isa<PlanOp>(op))
      return false;
  return true;
}

} // namespace

LogicalResult splitcast::exec::verifyBuffers(PlanOp plan, const Spaces &spaces) {
  if (plan.getBuffersAttr() && failed(BufferVerifier(plan, spaces).run()))
    return failure();
  return success();
}

LogicalResult splitcast::exec::verifyCarried(PlanOp plan, SymbolTableCollection &symbols) {
  if (failed(verifyStorages(plan, symbols)))
    return failure();
  auto module = dyn_cast_or_null<ModuleOp>(plan->getParentOp());
  if (!module || !isFirst(plan) || module.getOps<sbp::ScheduleOp>().empty())
    return success(); // verify the schedules once, with the first plan of the module
  return ScheduleVerifier(module, symbols).run();
}
