#include "compiler/tools/ReduceModule.h"

#include "dialects/nn/Nn.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

#include <vector>

using namespace mlir;

namespace splitcast {

namespace {

/// All ops, in pre-order; a clone of the module has them in the same order.
std::vector<Operation *> opsOf(ModuleOp module) {
  std::vector<Operation *> ops;
  module->walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
  return ops;
}

// The ways to remove an op. Each returns false if it does not apply to `op`;
// otherwise `op` is gone.
/// Erases an op whose results and symbol are unused.
bool eraseUnused(Operation *op) {
  const auto symbol = dyn_cast<SymbolOpInterface>(op);
  if (!op->use_empty() || op->hasTrait<OpTrait::IsTerminator>() ||
      (symbol && !SymbolTable::symbolKnownUseEmpty(op, op->getParentOp())))
    return false;
  op->erase();
  return true;
}

/// Replaces the op's result by an operand of the same type.
bool takeOperand(Operation *op) {
  if (op->getNumResults() != 1)
    return false;
  for (Value operand : op->getOperands())
    if (operand.getType() == op->getResult(0).getType()) {
      op->getResult(0).replaceAllUsesWith(operand);
      op->erase();
      return true;
    }
  return false;
}

/// Replaces the op's result by a constant 0.
bool takeConstant(Operation *op) {
  if (op->getNumResults() != 1 || isa<nn::ConstantOp>(op))
    return false;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !type.getElementType().isIntOrFloat())
    return false;
  OpBuilder builder(op);
  Value constant = builder.create<nn::ConstantOp>(op->getLoc(), type, builder.getF64FloatAttr(0.0));
  op->getResult(0).replaceAllUsesWith(constant);
  op->erase();
  return true;
}

} // namespace

int64_t reduce(OwningOpRef<ModuleOp> &module, std::function<bool(ModuleOp)> isInteresting) {
  int64_t tried = 0;
  auto attempt = [&](size_t index, bool (*without)(Operation *)) {
    OwningOpRef<ModuleOp> smaller = module->clone();
    if (!without(opsOf(*smaller)[index]))
      return false;
    // A module that does not verify is skipped; its errors are not news.
    ScopedDiagnosticHandler silent(module->getContext(), [](Diagnostic &) { return success(); });
    ++tried;
    if (failed(verify(*smaller)) || !isInteresting(*smaller))
      return false;
    module = std::move(smaller);
    return true;
  };
  for (bool changed = true; changed;) {
    changed = false;
    // Backwards, so that users are removed before what they use. Index 0 is the
    // module itself.
    for (size_t index = opsOf(*module).size() - 1; index > 0; --index)
      for (auto *without : {eraseUnused, takeOperand, takeConstant})
        if (index < opsOf(*module).size() && attempt(index, without)) {
          changed = true;
          break;
        }
  }
  return tried;
}

} // namespace splitcast
