#include "passes/global/Prologue.h"

#include "dialects/nn/Nn.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <numeric>

using namespace mlir;

namespace splitcast {

bool gathers(sbp::BoxingOp op) {
  const sbp::NdAttr from = sbp::signatureOf(op.getInput()), to = sbp::signatureOf(op.getOutput());
  if (!from || !to)
    return false;
  bool moves = false, adds = false;
  for (const sbp::BoxingStep &step : sbp::planBoxing(sbp::shapeOf(op.getInput().getType()), from.toAlgebra(),
                                                     to.toAlgebra(), from.getPlacement().toAlgebra())) {
    moves |= step.collective == sbp::Collective::AllGather || step.collective == sbp::Collective::AllToAll ||
             step.collective == sbp::Collective::Exchange;
    adds |= step.collective == sbp::Collective::AllReduce || step.collective == sbp::Collective::ReduceScatter;
  }
  return moves && !adds;
}

bool canBeCarried(Value value) {
  return llvm::none_of(sbp::signatureOf(value).toAlgebra(),
                       [](const sbp::Sbp &entry) { return entry.isPartial() || entry.isFlat(); });
}

bool isSplitByUser(sbp::VariableOp variable) {
  return variable.getLogical() && llvm::any_of(variable.getLogical().toAlgebra(),
                                               [](const sbp::Sbp &entry) { return entry.isSplit() || entry.isFlat(); });
}

bool mayWrite(Operation *op) {
  const auto effects = getEffectsRecursively(op);
  return !effects || llvm::any_of(*effects, [](const MemoryEffects::EffectInstance &effect) {
    return isa<MemoryEffects::Write>(effect.getEffect());
  });
}

Operation *readOfGathered(sbp::BoxingOp boxing) {
  Value value = boxing.getInput();
  while (isa_and_nonnull<sbp::FenceOp, nn::CastOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  Operation *op = value.getDefiningOp();
  return isa_and_nonnull<sbp::ReadOp, sbp::BucketReadOp>(op) ? op : nullptr;
}

sbp::BoxingOp cloneGather(sbp::BoxingOp boxing, OpBuilder &builder) {
  SmallVector<Operation *> chain = {boxing}; // from the boxing to the read
  while (Operation *maker = chain.back()->getNumOperands() ? chain.back()->getOperand(0).getDefiningOp() : nullptr)
    chain.push_back(maker);
  Operation *made = nullptr;
  for (Operation *op : llvm::reverse(chain)) {
    if (isa<sbp::FenceOp>(op))
      continue;
    Operation *copy = builder.clone(*op);
    if (made)
      copy->setOperand(0, made->getResult(0));
    made = copy;
  }
  return cast<sbp::BoxingOp>(made);
}

static StringRef nameOf(sbp::BoxingOp boxing, StringRef otherwise) {
  Operation *read = readOfGathered(boxing);
  if (auto ofVariable = dyn_cast_or_null<sbp::ReadOp>(read))
    return ofVariable.getVariable();
  return read ? cast<sbp::BucketReadOp>(read).getBucket() : otherwise;
}

sbp::VariableOp carryGathered(sbp::BoxingOp boxing, StringRef owner, Operation *at, SymbolTable &symbols) {
  OpBuilder b(at);
  auto variable = b.create<sbp::VariableOp>(boxing.getLoc(), (nameOf(boxing, owner) + ".gathered").str(),
                                            boxing.getOutput().getType(), /*init=*/nullptr, owner);
  variable.setCarried(true);
  variable.setFrozen(true);
  symbols.insert(variable);
  return variable;
}

void readCarried(sbp::BoxingOp boxing, sbp::VariableOp variable) {
  OpBuilder b(boxing);
  boxing.getOutput().replaceAllUsesWith(
      b.create<sbp::ReadOp>(boxing.getLoc(), boxing.getOutput().getType(), variable.getSymName()));
}

func::FuncOp createPrologue(func::FuncOp beside, StringRef name, SymbolTable &symbols) {
  OpBuilder b(beside);
  auto prologue = b.create<func::FuncOp>(beside.getLoc(), name, b.getFunctionType({}, {}));
  prologue.setVisibility(beside.getVisibility());
  symbols.insert(prologue);
  prologue.addEntryBlock();
  return prologue;
}

sbp::RunOp createRun(OpBuilder &builder, func::FuncOp function, bool isKept) {
  SmallVector<int64_t> takes(function.getNumArguments()), gives(function.getNumResults());
  std::iota(takes.begin(), takes.end(), 0);
  std::iota(gives.begin(), gives.end(), 0);
  const SmallVector<int64_t> cuts(takes.size(), -1), joins(gives.size(), -1);
  return builder.create<sbp::RunOp>(function.getLoc(), function.getSymName(), 0, 1, takes, cuts, /*numbered=*/false,
                                    gives, joins, isKept);
}

} // namespace splitcast
