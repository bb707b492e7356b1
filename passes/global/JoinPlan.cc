// Decides which ops on members of buckets become one, in two walks over the
// block and one over the result.
//
//   1. place: finds the depth of each op, the greatest of the ops that it depends
//      on: those that make its operands and, for reads and assignments, earlier
//      ones of the same variable. An op that can be bundled joins the bundle of its
//      kind (bucket, step, ...) at its depth, and its results are one deeper.
//   2. connect: a bundle waits for everything that its ops wait for.
//   3. inOrder: of the nodes that wait for nothing any more, always takes the one
//      whose last op came first in the program.
//
//   %0 = sbp.boxing %ga : #P -> S(@l, 0 of 64)      depth 0, bundle A
//   %1 = nn.neg %gb                                 depth 0, alone
//   %2 = sbp.boxing %1 : #P -> S(@l, 48 of 64)      depth 0, bundle A: both are one, and stand here
//   %3 = nn.neg %0                                  depth 1
//   %4 = sbp.boxing %gc, where %gc is made from %0  depth 1, bundle B: it could not join A, for which it waits
//
// Each op and each use is visited a fixed number of times, and the queue adds a
// logarithmic factor.
#include "passes/global/JoinPlan.h"

#include <queue>

using namespace mlir;

namespace splitcast {

//===----------------------------------------------------------------------===//
// Where variables lie
//===----------------------------------------------------------------------===//

FailureOr<BucketTable> BucketTable::create(ModuleOp module) {
  BucketTable table;
  DenseSet<Attribute> members;
  for (auto bucket : module.getOps<sbp::BucketOp>()) {
    table.buckets[bucket.getSymNameAttr()] = bucket;
    for (auto member : bucket.getMembers().getAsRange<FlatSymbolRefAttr>())
      members.insert(member.getAttr());
  }
  for (auto variable : module.getOps<sbp::VariableOp>()) {
    table.variables[variable.getSymNameAttr()] = variable;
    if (variable.getSlotAttr() && failed(table.add(variable, members)))
      return failure();
  }
  return table;
}

LogicalResult BucketTable::add(sbp::VariableOp variable, const DenseSet<Attribute> &members) {
  sbp::SlotAttr slot = variable.getSlotAttr();
  sbp::BucketOp bucket = buckets.lookup(slot.getBucket());
  bool isState = variable.getStateOf().has_value();
  StringAttr owner = isState ? variable.getStateOfAttr().getAttr() : variable.getSymNameAttr();
  if (!bucket || !members.contains(owner))
    return variable.emitOpError() << "lies in bucket '" << slot.getBucket().getValue()
                                  << "', but no sbp.bucket of that name holds @" << owner.getValue()
                                  << "; run 'sbp-zero-storage', or declare it";
  StringAttr role = isState ? variable.getRoleAttr() : StringAttr::get(variable.getContext(), sbp::kParameterRole);
  auto [storage, isNew] = known.try_emplace({bucket.getSymNameAttr(), role}, storages.size());
  if (isNew)
    storages.push_back({bucket, role, 0});
  ++storages[storage->second].variables;
  places[variable.getSymNameAttr()] = storage->second;
  return success();
}

RangeStorage *BucketTable::storageOf(FlatSymbolRefAttr variable) const {
  auto place = places.find(variable.getAttr());
  return place == places.end() ? nullptr : &storages[place->second];
}

std::optional<sbp::Slot> BucketTable::targetSlot(sbp::BoxingOp op) const {
  SingleStep step = singleStepOf(op);
  if (step.to.isFlat())
    return step.to.slot;
  if (!op.getBucketAttr() || !step.from.isPartial() || !step.to.isBroadcast())
    return std::nullopt;
  sbp::BucketOp into = bucket(op.getBucketAttr().getBucket());
  if (!into || into.getAxisIndex() != step.axis)
    return std::nullopt;
  return op.getBucketAttr().toAlgebra();
}

//===----------------------------------------------------------------------===//
// Boxings
//===----------------------------------------------------------------------===//

SingleStep singleStepOf(sbp::BoxingOp op) {
  sbp::NdSbp from = sbp::signatureOf(op.getInput()).toAlgebra(), to = sbp::signatureOf(op.getOutput()).toAlgebra();
  for (size_t axis = 0; axis < from.size(); ++axis)
    if (from[axis] != to[axis])
      return {static_cast<int64_t>(axis), from[axis], to[axis]};
  return {};
}

std::string fenceText(sbp::BoxingOp op) {
  auto fence = op.getInput().getDefiningOp<sbp::FenceOp>();
  auto scope = fence ? fence.getScope().getDefiningOp<sbp::ScopeOp>() : sbp::ScopeOp();
  if (!scope)
    return "";
  return ("|" + nameOf(scope.getPhase().getValue()) + "|" + scope.getGroup().value_or("")).str();
}

bool isSlot(Value value) {
  sbp::NdAttr signature = sbp::signatureOf(value);
  return signature && signature.getFlatSlot();
}

//===----------------------------------------------------------------------===//
// Bundles
//===----------------------------------------------------------------------===//

JoinPlan::JoinPlan(Block &block, const BucketTable &table) : table(table), classes(block) {
  Accesses accesses;
  for (Operation &op : block)
    place(&op, accesses);
  Assignments last;
  for (Operation &op : block)
    connect(&op, last);
}

void JoinPlan::place(Operation *op, Accesses &accesses) {
  int64_t depth = depthOf(op, accesses);
  rememberHome(op);
  if (std::optional<Kind> kind = kindOf(op)) {
    joinBundle(op, *kind, depth++);
  } else {
    nodeOf[op] = nodes.size();
    nodes.push_back({{op}, numOps++, {}, 0});
  }
  for (Value result : op->getResults())
    depths[result] = depth;
}

int64_t JoinPlan::depthOf(Operation *op, Accesses &accesses) const {
  int64_t depth = 0;
  for (Value operand : op->getOperands())
    depth = std::max(depth, depths.lookup(operand));
  if (auto read = dyn_cast<sbp::ReadOp>(op)) {
    Access &access = accesses[read.getVariableAttr()];
    depth = std::max(depth, access.depth);
    access.readDepth = std::max(access.readDepth, depth);
  } else if (auto assign = dyn_cast<sbp::AssignOp>(op)) {
    Access &access = accesses[assign.getVariableAttr()];
    depth = std::max({depth, access.depth, access.readDepth});
    access.depth = depth + 1;
  }
  return depth;
}

/// Returns what ops must have in common to become one, or nothing for an op
/// that stays alone. For boxings that is the bucket, the step, the axes on
/// which addends remain, the element type, and phase and group of the fence
/// before them.
std::optional<JoinPlan::Kind> JoinPlan::kindOf(Operation *op) const {
  if (auto assign = dyn_cast<sbp::AssignOp>(op)) {
    const RangeStorage *storage = table.storageOf(assign.getVariableAttr());
    return storage ? std::optional<Kind>({storage, ""}) : std::nullopt;
  }
  auto boxing = dyn_cast<sbp::BoxingOp>(op);
  if (std::optional<std::string> gather = boxing ? classes.joinedGather(boxing) : std::nullopt)
    return Kind{nullptr, *gather};
  std::optional<sbp::Slot> slot = boxing ? table.targetSlot(boxing) : std::nullopt;
  if (!slot)
    return std::nullopt;
  SingleStep step = singleStepOf(boxing);
  if (step.from.isBroadcast() && liesAt(boxing.getInput(), *slot))
    return std::nullopt; // a slice of a range that exists
  std::string text;
  llvm::raw_string_ostream os(text);
  os << slot->bucket << "|" << slot->total << "|" << step.axis << "|" << static_cast<int>(step.from.kind) << "|"
     << static_cast<int>(step.to.kind) << "|" << boxing.getType().getElementType();
  for (const sbp::Sbp &entry : sbp::signatureOf(boxing.getInput()).toAlgebra())
    os << (entry.isPartial() ? "|P" : "|");
  return Kind{nullptr, text + fenceText(boxing)};
}

int64_t JoinPlan::slotOffset(Operation *op) const {
  if (auto assign = dyn_cast<sbp::AssignOp>(op))
    return table.variable(assign.getVariableAttr()).getSlotAttr().getOffset();
  if (isSlot(op->getOperand(0)))
    return sbp::signatureOf(op->getOperand(0)).getFlatSlot()->offset;
  return table.targetSlot(cast<sbp::BoxingOp>(op))->offset;
}

/// Adds the op to the bundle of its kind and depth. If a slot occurs several
/// times there, its n-th boxing joins the n-th boxings of the other slots.
void JoinPlan::joinBundle(Operation *op, const Kind &kind, int64_t depth) {
  int64_t repeat = repeats[{kind, depth, slotOffset(op)}]++;
  auto [bundle, isNew] = bundles.try_emplace({kind, depth, repeat}, nodes.size());
  if (isNew)
    nodes.emplace_back();
  nodes[bundle->second].ops.push_back(op);
  nodes[bundle->second].index = numOps++;
  nodeOf[op] = bundle->second;
}

void JoinPlan::rememberHome(Operation *op) {
  if (auto read = dyn_cast<sbp::ReadOp>(op)) {
    if (table.storageOf(read.getVariableAttr()) && !isSlot(read.getResult()))
      homes[read.getResult()] = table.variable(read.getVariableAttr()).getSlotAttr().toAlgebra();
  } else if (auto fence = dyn_cast<sbp::FenceOp>(op)) {
    if (auto home = homes.find(fence.getInput()); home != homes.end())
      homes[fence.getOutput()] = sbp::Slot(home->second);
  } else if (auto boxing = dyn_cast<sbp::BoxingOp>(op)) {
    SingleStep step = singleStepOf(boxing);
    if (step.from.isFlat() && step.to.isBroadcast())
      homes[boxing.getOutput()] = step.from.slot;
    else if (std::optional<sbp::Slot> slot = table.targetSlot(boxing); slot && step.to.isBroadcast())
      homes[boxing.getOutput()] = *slot;
  }
}

bool JoinPlan::liesAt(Value value, const sbp::Slot &slot) const {
  auto home = homes.find(value);
  return home != homes.end() && home->second == slot;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// Adds the edges of an op. It comes after the ops that it uses, and a read or
/// assignment of a variable after the assignment before it. No edge is needed
/// to keep a read before the next assignment: it has the smaller number, and
/// waits for nothing else.
void JoinPlan::connect(Operation *op, Assignments &last) {
  for (Value operand : op->getOperands())
    addEdge(operand.getDefiningOp(), op);
  if (auto read = dyn_cast<sbp::ReadOp>(op))
    addEdge(last.lookup(read.getVariableAttr()), op);
  if (auto assign = dyn_cast<sbp::AssignOp>(op)) {
    Operation *&before = last[assign.getVariableAttr()];
    addEdge(before, op);
    before = op;
  }
}

void JoinPlan::addEdge(Operation *from, Operation *to) {
  if (!from)
    return;
  nodes[nodeOf.lookup(from)].users.push_back(nodeOf.lookup(to));
  ++nodes[nodeOf.lookup(to)].waitsFor;
}

LogicalResult JoinPlan::inOrder(function_ref<LogicalResult(ArrayRef<Operation *>)> write) {
  using Entry = std::pair<int64_t, int64_t>; // number of the last op, node
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> ready;
  for (size_t node = 0; node < nodes.size(); ++node)
    if (nodes[node].waitsFor == 0)
      ready.push({nodes[node].index, node});
  size_t written = 0;
  for (; !ready.empty(); ++written) {
    const Node &node = nodes[ready.top().second];
    ready.pop();
    if (failed(write(node.ops)))
      return failure();
    for (int64_t user : node.users)
      if (--nodes[user].waitsFor == 0)
        ready.push({nodes[user].index, user});
  }
  if (written == nodes.size())
    return success();
  // Depths rule out a cycle. If they are ever wrong, this is an error rather
  // than a lost op.
  auto waits = llvm::find_if(nodes, [](const Node &node) { return node.waitsFor > 0; });
  return waits->ops.front()->emitOpError() << "waits for itself by way of its bucket; report this as a bug";
}

} // namespace splitcast
