// One walk finds the class of each slot by how the slot is made: for a read, by
// how often its variable was assigned before; for a boxing, by its step; for
// any other op, by its name, its attributes and the classes of its operands.
#include "passes/global/SlotClasses.h"

#include "dialects/nn/Nn.h"
#include "passes/global/JoinPlan.h"

using namespace mlir;

namespace splitcast {

namespace {

/// Whether the value is that of a variable, with nothing but its type changed.
bool isStored(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<sbp::ReadOp>(op))
      return true;
    if (!isa<nn::CastOp, sbp::FenceOp>(op))
      return false;
    value = op->getOperand(0);
  }
  return false;
}

/// Returns the text of a step: bucket, axis, element type, and phase and group
/// of the fence before it.
std::string stepText(sbp::BoxingOp op, const sbp::Slot &slot) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << slot.bucket << '|' << slot.total << '|' << singleStepOf(op).axis << '|' << op.getType().getElementType();
  return text + fenceText(op);
}

/// Returns the slot that a boxing gathers, if it gathers one.
std::optional<sbp::Slot> gatheredSlot(sbp::BoxingOp op) {
  return isSlot(op.getInput()) && !isSlot(op.getOutput()) ? sbp::signatureOf(op.getInput()).getFlatSlot()
                                                          : std::nullopt;
}

} // namespace

SlotClasses::SlotClasses(Block &block) {
  for (Operation &op : block)
    visit(&op);
}

std::optional<std::string> SlotClasses::joinedGather(sbp::BoxingOp op) const {
  const std::optional<sbp::Slot> slot = gatheredSlot(op);
  if (!slot || isStored(op.getInput()))
    return std::nullopt;
  std::string text = stepText(op, *slot);
  const auto found = classesGathered.find(text);
  const bool isOfSeveral = found != classesGathered.end() && found->second.size() > 1;
  return isOfSeveral ? std::optional("gather|" + text) : std::nullopt;
}

void SlotClasses::visit(Operation *op) {
  if (auto assign = dyn_cast<sbp::AssignOp>(op))
    ++timesAssigned[assign.getVariableAttr()];
  if (auto boxing = dyn_cast<sbp::BoxingOp>(op))
    if (std::optional<sbp::Slot> slot = gatheredSlot(boxing); slot && !isStored(boxing.getInput()))
      classesGathered[stepText(boxing, *slot)].insert(classes.lookup(boxing.getInput()));
  for (Value result : op->getResults())
    if (isSlot(result))
      classes[result] = numbers.try_emplace(keyOf(op), numbers.size() + 1).first->second;
}

std::string SlotClasses::keyOf(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const sbp::Slot slot = *sbp::signatureOf(op->getResult(0)).getFlatSlot();
  os << slot.bucket << '|' << getElementTypeOrSelf(op->getResult(0).getType()) << '|';
  if (auto read = dyn_cast<sbp::ReadOp>(op)) {
    os << "read " << timesAssigned.lookup(read.getVariableAttr());
    return text;
  }
  if (auto boxing = dyn_cast<sbp::BoxingOp>(op); boxing && !isSlot(boxing.getInput())) {
    const std::string step = stepText(boxing, slot);
    os << "box " << step << ' ' << timesBoxed[step + '|' + std::to_string(slot.offset)]++;
    return text;
  }
  os << op->getName() << ' ' << op->getAttrDictionary() << ' ';
  for (Value operand : op->getOperands()) {
    auto scope = operand.getDefiningOp<sbp::ScopeOp>();
    if (isSlot(operand))
      os << 's' << classes.lookup(operand);
    else if (scope && scope.getVariable()) // the scopes of a bucket's members count as one
      os << nameOf(scope.getPhase().getValue());
    else
      os << operand.getAsOpaquePointer();
    os << ' ';
  }
  return text;
}

} // namespace splitcast
