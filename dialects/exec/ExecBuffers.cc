// What lies in spaces that are not kept, that nothing is read there after it has gone, and that nothing overwrites what
// a schedule's runs pass on.
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
                       << "; it ends no earlier than it begins";
  return success();
}

namespace {

/// Goes through a plan with the buffers that are live at each op.
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
  /// Buffers by the ops at which they begin and end.
  LogicalResult sort() {
    for (auto buffer : plan.getBuffersAttr().getAsRange<BufferAttr>()) {
      const RangeAttr range = buffer.getRange();
      if (failed(verifyWithin(spaces, plan, range)))
        return failure();
      if (spaces.keeps(range))
        return plan.emitOpError() << "has " << buffer << ", but what lies in @" << range.getSpace().getValue()
                                  << " is kept; buffers lie in spaces of a run";
      if (buffer.getFirst() < -1 || buffer.getLast() > ops)
        return plan.emitOpError() << "has " << buffer << ", but its ops are 0 to " << ops - 1
                                  << "; buffers live from -1 to " << ops;
      if (range.getBytes() == 0)
        continue;
      begins[buffer.getFirst()].push_back(buffer);
      ends[buffer.getLast()].push_back(buffer);
    }
    return success();
  }

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

  /// The live buffer that has all of a range.
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
        return op->emitOpError() << "uses " << range
                                 << ", which lies in no buffer of the plan that is live then; let a buffer live for it";
    return success();
  }

  /// A collective works until its wait on the same buffers.
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
// What is carried
//===----------------------------------------------------------------------===//

namespace {

/// The buffers of plans that are storages.
class CarriedBuffers {
public:
  CarriedBuffers(ModuleOp module, const Spaces &spaces) : module(module), symbols(module) {
    for (auto storage : module.getOps<StorageOp>()) {
      ranges[storage.getSymNameAttr()] = storage.getRange();
      auto carries = [&](FlatSymbolRefAttr member) {
        auto variable = symbols.lookup<sbp::VariableOp>(member.getValue());
        return variable && variable.getCarried();
      };
      if (llvm::all_of(storage.getMembers().getAsRange<FlatSymbolRefAttr>(), carries))
        ofCarried.push_back(storage.getRange());
      hasStoragesOfRuns |= !spaces.keeps(storage.getRange());
    }
  }

  LogicalResult verify(PlanOp plan) const {
    const int64_t ops = llvm::range_size(plan.getBody().front());
    SmallVector<PlanOp> others = scheduledWith(plan);
    if (!plan.getBuffersAttr() && !others.empty() && hasStoragesOfRuns)
      return plan.emitOpError() << "says nothing of its buffers, but runs with @" << others.front().getSymName()
                                << " in a schedule, and storages lie in a space that is not kept; give it buffers";
    const SmallVector<BufferAttr> mine = of(plan);
    for (BufferAttr buffer : mine)
      if (buffer.getFirst() != -1 || buffer.getLast() != ops)
        return plan.emitOpError() << "has " << buffer << ", a storage, during some of its ops; it lives from -1 to "
                                  << ops;
    DenseSet<StringAttr> known;
    for (BufferAttr buffer : mine)
      known.insert(buffer.getOwner());
    for (PlanOp other : others)
      for (BufferAttr buffer : of(other))
        if (!known.contains(buffer.getOwner()))
          return plan.emitOpError() << "has no buffer of " << buffer.getOwner() << " in " << buffer.getRange()
                                    << ", which @" << other.getSymName()
                                    << " has, of the same schedule; give it one, so that nothing else lies there";
    return success();
  }

  LogicalResult verifyKept(PlanOp plan, const Spaces &spaces) const {
    for (auto schedule : module.getOps<sbp::ScheduleOp>())
      for (auto run : schedule.getBody().front().getOps<sbp::RunOp>())
        if (run.getKept() && run.getFunction() == plan.getSymName())
          for (Operation &op : plan.getBody().front()) {
            SmallVector<RangeAttr> reads, writes;
            rangesOf(&op, reads, writes);
            for (RangeAttr range : writes)
              if (spaces.keeps(range) && llvm::none_of(ofCarried, [&](RangeAttr of) { return of.overlaps(range); }))
                return op.emitOpError() << "writes " << range << " in a kept run of @" << schedule.getSymName()
                                        << ", which may be left out; write where it is carried";
          }
    return success();
  }

  static bool isCarried(Role role) { return role == Role::Gathered || role == Role::Accumulator; }

private:
  SmallVector<BufferAttr> of(PlanOp plan) const {
    SmallVector<BufferAttr> buffers;
    if (ArrayAttr all = plan.getBuffersAttr())
      for (auto buffer : all.getAsRange<BufferAttr>())
        if (RangeAttr range = ranges.lookup(buffer.getOwner());
            isCarried(buffer.getRole()) && range == buffer.getRange())
          buffers.push_back(buffer);
    return buffers;
  }

  SmallVector<PlanOp> scheduledWith(PlanOp plan) const {
    SmallVector<PlanOp> plans;
    for (auto schedule : module.getOps<sbp::ScheduleOp>()) {
      auto runs = schedule.getBody().front().getOps<sbp::RunOp>();
      if (llvm::none_of(runs, [&](sbp::RunOp run) { return run.getFunction() == plan.getSymName(); }))
        continue;
      for (auto run : runs)
        if (auto other = symbols.lookup<PlanOp>(run.getFunction()); other && other != plan)
          plans.push_back(other);
    }
    return plans;
  }

  mutable ModuleOp module;
  SymbolTable symbols;
  DenseMap<StringAttr, RangeAttr> ranges; ///< of storages
  SmallVector<RangeAttr> ofCarried;       ///< of storages that have nothing else
  bool hasStoragesOfRuns = false;         ///< in spaces that are not kept
};

} // namespace

LogicalResult splitcast::exec::verifyBuffers(PlanOp plan, const Spaces &spaces) {
  if (plan.getBuffersAttr() && failed(BufferVerifier(plan, spaces).run()))
    return failure();
  auto module = plan->getParentOfType<ModuleOp>();
  auto isOfCarried = [](BufferAttr buffer) { return CarriedBuffers::isCarried(buffer.getRole()); };
  const ArrayAttr buffers = plan.getBuffersAttr();
  if (!module || (module.getOps<sbp::ScheduleOp>().empty() &&
                  (!buffers || llvm::none_of(buffers.getAsRange<BufferAttr>(), isOfCarried))))
    return success(); // a module has as many plans as it has functions, and the table below all its storages
  const CarriedBuffers carried(module, spaces);
  return success(succeeded(carried.verify(plan)) && succeeded(carried.verifyKept(plan, spaces)));
}
