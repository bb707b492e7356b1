#include "passes/global/SameElements.h"

#include "dialects/nn/Nn.h"
#include "passes/global/MicroBatchRows.h"
#include "passes/global/SignatureProblem.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace splitcast;

SameElements::SameElements(Block &block, Types types) : types(types) {
  for (Operation &op : block)
    note(&op);
}

Value SameElements::originalOf(Value value) const {
  Value original = originals.lookup(value);
  return original ? original : value;
}

const void *SameElements::keyOf(Type type) const {
  return (types == Types::Elements ? nn::undecided(type) : type).getAsOpaquePointer();
}

/// Returns the attributes of an op, but for those that say how micro-batches
/// cut its results.
static DictionaryAttr attributesOf(Operation *op) {
  if (!op->hasAttr(kBatchRowsName))
    return op->getAttrDictionary();
  NamedAttrList attributes(op->getAttrDictionary());
  attributes.erase(kBatchRowsName);
  return attributes.getDictionary(op->getContext());
}

void SameElements::note(Operation *op) {
  if (auto assign = dyn_cast<sbp::AssignOp>(op))
    reads.erase(assign.getVariableAttr().getAttr());
  if (auto read = dyn_cast<sbp::ReadOp>(op)) {
    auto [first, isNew] = reads.try_emplace(read.getVariableAttr().getAttr(), read.getResult());
    if (!isNew)
      originals[read.getResult()] = first->second;
    return;
  }
  auto fence = dyn_cast<sbp::FenceOp>(op);
  if ((fence && !updateScopeOf(fence)) || (types == Types::Elements && isa<sbp::BoxingOp>(op))) {
    originals[op->getResult(0)] = originalOf(op->getOperand(0));
    return;
  }
  if (fence || !isa<sbp::ShardingOpInterface>(op))
    return;
  Key key = {op->getName().getAsOpaquePointer(), attributesOf(op).getAsOpaquePointer()};
  for (Value operand : op->getOperands())
    key.push_back(originalOf(operand).getAsOpaquePointer());
  for (Type type : op->getResultTypes())
    key.push_back(keyOf(type));
  auto [first, isNew] = made.try_emplace(std::move(key), op);
  if (!isNew)
    for (auto [value, original] : llvm::zip_equal(op->getResults(), first->second->getResults()))
      originals[value] = original;
}

void splitcast::eraseUnneeded(Block &block) {
  const SameElements elements(block);
  DenseSet<Value> needed;
  SmallVector<Operation *> unneeded; // from the last to the first
  for (Operation &op : llvm::reverse(block)) {
    if (wouldOpBeTriviallyDead(&op) &&
        llvm::none_of(op.getResults(), [&](Value value) { return needed.contains(value); })) {
      unneeded.push_back(&op);
      continue;
    }
    needed.insert(op.operand_begin(), op.operand_end());
    for (Value value : op.getResults())
      needed.insert(elements.originalOf(value));
  }
  for (Operation *op : unneeded)
    op->erase();
}
