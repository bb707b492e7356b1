#include "passes/global/StepSums.h"

#include "dialects/nn/Nn.h"
#include "passes/global/SignatureProblem.h"

using namespace mlir;
using namespace splitcast;

Accumulators::Accumulators(ModuleOp module, SymbolTable &symbols) : symbols(symbols) {
  auto isTaken = [&](sbp::VariableOp variable) { return variable.getRole() && variable.getRole()->starts_with(role); };
  while (llvm::any_of(module.getOps<sbp::VariableOp>(), isTaken)) // a state that the user declared has this role
    role += "_";
}

static std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

sbp::VariableOp Accumulators::of(sbp::VariableOp variable, int64_t number, Type element) {
  SmallVector<sbp::VariableOp> &known = all[{variable, number}];
  for (sbp::VariableOp accumulator : known)
    if (accumulator.getTensorType().getElementType() == element)
      return accumulator;
  std::string own = number == 0 ? role : role + std::to_string(number);
  if (!known.empty())
    own += "_" + textOf(element);
  known.push_back(create(variable, (variable.getSymName() + "." + own).str(), variable.getTensorType().clone(element),
                         variable.getGroupOrPrefix()));
  known.back().setStateOf(variable.getSymName());
  known.back().setRole(own);
  return known.back();
}

sbp::VariableOp Accumulators::create(Operation *beside, const std::string &name, Type type, StringRef group) {
  OpBuilder b(beside->getContext());
  isa<sbp::VariableOp>(beside) ? b.setInsertionPointAfter(beside) : b.setInsertionPoint(beside);
  auto made = b.create<sbp::VariableOp>(beside->getLoc(), name, type, /*init=*/nullptr, group);
  made.setCarried(true);
  symbols.insert(made);
  return made;
}

sbp::VariableOp Accumulators::variableOf(sbp::FenceOp fence) const {
  return symbols.lookup<sbp::VariableOp>(*updateScopeOf(fence).getVariable());
}

StepSums::StepSums(func::FuncOp function, const MicroBatchRows &rows, const SameElements &elements, const Steps &steps,
                   Accumulators &accumulators)
    : function(function), rows(rows), elements(elements), steps(steps), accumulators(accumulators) {
  for (Operation &op : function.getBody().front())
    for (OpOperand &use : op.getOpOperands())
      if (isa<RankedTensorType>(use.get().getType()) && rows.isSum(use))
        add(use);
  loops = countLoops();
  markAsMade();
}

/// Returns the fence of the update that takes a use, or null.
static sbp::FenceOp updateOf(OpOperand &use) {
  auto fence = dyn_cast<sbp::FenceOp>(use.getOwner());
  return fence && updateScopeOf(fence) ? fence : sbp::FenceOp();
}

/// Once per step, addends are added up before any update takes them, so that
/// updates share the sum. An addend that is computed again has the sum of its
/// original.
StepSums::Key StepSums::keyOf(OpOperand &use) const {
  const bool isFenced = steps.order == sbp::AccumulateOrder::PerMicroBatch && updateOf(use);
  return {isFenced ? use.get() : elements.originalOf(use.get()), isFenced ? use.getOwner() : nullptr};
}

int64_t StepSums::countLoops() {
  int64_t count = 0;
  for (const Sum &sum : all)
    count = std::max(count, sum.level + 1);
  for (Value result : function.getBody().front().getTerminator()->getOperands())
    if (const std::optional<sbp::Sbp> entry = rows.made(result); entry && entry->isSplit())
      count = std::max(count, rows.level(result) + 1);
  return count;
}

void StepSums::add(OpOperand &use) {
  const Key key = keyOf(use);
  if (!numbers.try_emplace(key, all.size()).second)
    return;
  Sum sum{key.first, cast_or_null<sbp::FenceOp>(key.second), rows.level(key.first), {}};
  sum.accumulator = accumulatorOf(sum, updateOf(use));
  all.push_back(sum);
}

/// The accumulator of a gradient is a state of its variable. A sum of another
/// shape, one for no update, and a gradient that ranks sum once per step have
/// variables of their own.
sbp::VariableOp StepSums::accumulatorOf(const Sum &sum, sbp::FenceOp update) {
  const Type type = nn::undecided(sum.addend.getType());
  sbp::VariableOp variable = update ? accumulators.variableOf(update) : sbp::VariableOp();
  if (variable && sbp::shapeOf(variable.getType()) != sbp::shapeOf(type))
    variable = {};
  if (variable && sum.fence)
    return accumulators.of(variable, updates[variable]++, getElementTypeOrSelf(type));
  Operation *beside = variable ? variable.getOperation() : function.getOperation();
  const std::string name = variable ? (variable.getSymName() + ".accumulated").str()
                                    : (function.getSymName() + ".sum").str() + std::to_string(all.size());
  // A signature that the user gave is kept.
  sbp::VariableOp made = accumulators.create(beside, name, sum.addend.getType(),
                                             variable ? variable.getGroupOrPrefix() : function.getSymName());
  made.setFrozen(true);
  return made;
}

/// Marks the sums that one run after the last micro-batch reads: they are
/// reduced there, so they are carried as they are made. A sum that a later loop
/// reads would be reduced by each of its runs.
void StepSums::markAsMade() {
  for (Sum &sum : all)
    if (!sum.accumulator.getStateOf() && !sum.accumulator.getLogical() && sum.level + 1 == loops)
      sum.accumulator.setAsMade(true);
}
