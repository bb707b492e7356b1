// What lies in the arena, and that nothing is read there after it has gone.
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
    {Role::Input, "input"},       {Role::Output, "output"},      {Role::Activation, "activation"},
    {Role::Gathered, "gathered"}, {Role::Gradient, "gradient"},  {Role::GradientShard, "gradient_shard"},
    {Role::Staging, "staging"},   {Role::Workspace, "workspace"}};

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
  StringRef name;
  int64_t offset, bytes, first, last;
  if (parser.parseLess() || parser.parseKeyword(&name) || parser.parseComma() || parser.parseInteger(offset) ||
      parser.parseComma() || parser.parseInteger(bytes) || parser.parseComma() || parser.parseKeyword("during") ||
      parser.parseInteger(first) || parser.parseKeyword("to") || parser.parseInteger(last) || parser.parseGreater())
    return {};
  std::optional<Role> role = roleNamed(name);
  if (role)
    return parser.getChecked<BufferAttr>(loc, parser.getContext(), *role, offset, bytes, first, last);
  InFlightDiagnostic error = parser.emitError(loc) << "buffer of role '" << name << "'; roles are ";
  llvm::interleaveComma(kRoles, error, [&](const auto &known) { error << known.second; });
  return {};
}

void BufferAttr::print(AsmPrinter &printer) const {
  printer << "<" << nameOf(getRole()) << ", " << getOffset() << ", " << getBytes() << ", during " << getFirst()
          << " to " << getLast() << ">";
}

LogicalResult BufferAttr::verify(function_ref<InFlightDiagnostic()> emitError, Role, int64_t offset, int64_t bytes,
                                 int64_t first, int64_t last) {
  if (offset < 0 || bytes < 0)
    return emitError() << "buffer of " << bytes << " bytes at " << offset << "; neither may be negative";
  if (last < first)
    return emitError() << "buffer that is live during ops " << first << " to " << last
                       << "; it ends no earlier than it begins";
  return success();
}

namespace {

/// Goes through a plan with the buffers that are live at each op.
class BufferVerifier {
public:
  explicit BufferVerifier(PlanOp plan) : plan(plan), ops(llvm::range_size(plan.getBody().front())) {}

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
      if (buffer.getEnd() > static_cast<int64_t>(plan.getArenaBytes()) || buffer.getFirst() < -1 ||
          buffer.getLast() > ops)
        return plan.emitOpError() << "has " << buffer << ", but its arena has " << plan.getArenaBytes()
                                  << " bytes and its ops are 0 to " << ops - 1 << "; buffers lie within, from -1 to "
                                  << ops;
      if (buffer.getBytes() == 0)
        continue;
      begins[buffer.getFirst()].push_back(buffer);
      ends[buffer.getLast()].push_back(buffer);
    }
    return success();
  }

  LogicalResult advance(int64_t index) {
    for (BufferAttr buffer : ends[index - 1])
      live.erase(buffer.getOffset());
    for (BufferAttr buffer : begins[index]) {
      auto next = live.lower_bound(buffer.getOffset());
      if (next != live.begin() && std::prev(next)->second.getEnd() > buffer.getOffset())
        --next;
      if (next != live.end() && next->first < buffer.getEnd())
        return plan.emitOpError() << "has " << buffer << " and " << next->second
                                  << ", which share bytes at the same op; give each its own";
      live.emplace(buffer.getOffset(), buffer);
    }
    return success();
  }

  /// The live buffer that has all of a range.
  BufferAttr find(RangeAttr range) const {
    auto next = live.upper_bound(range.getOffset());
    if (next == live.begin() || std::prev(next)->second.getEnd() < range.getEnd())
      return {};
    return std::prev(next)->second;
  }

  template <typename Ranges> LogicalResult verifyUses(Operation *op, Ranges &&ranges) const {
    for (RangeAttr range : ranges)
      if (!range.isPersistent() && range.getBytes() > 0 && !find(range))
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
        if (!range.isPersistent() && range.getBytes() > 0)
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

  PlanOp plan;
  const int64_t ops;
  std::map<int64_t, SmallVector<BufferAttr>> begins, ends;                   ///< by op
  std::map<int64_t, BufferAttr> live;                                        ///< by offset; they share no byte
  std::map<int64_t, SmallVector<std::pair<RangeAttr, BufferAttr>>> underWay; ///< by ticket
};

} // namespace

LogicalResult splitcast::exec::verifyBuffers(PlanOp plan) {
  return plan.getBuffersAttr() ? BufferVerifier(plan).run() : success();
}
