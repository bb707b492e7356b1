// The end of the global level.
#include "passes/global/Passes.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_VERIFYGLOBALPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

struct VerifyGlobal : splitcast::impl::VerifyGlobalPassBase<VerifyGlobal> {
  void runOnOperation() override {
    placement = sbp::placementOf(getOperation());
    SymbolTable symbols(getOperation());
    WalkResult walk = getOperation().walk([&](Operation *op) {
      return WalkResult(success(succeeded(verifyTensors(op)) && succeeded(verifyVariables(op, symbols)) &&
                                succeeded(verifyLevel(op))));
    });
    if (walk.wasInterrupted())
      signalPassFailure();
  }

  LogicalResult verifyTensors(Operation *op) {
    for (Value value :
         llvm::concat<Value>(llvm::to_vector(op->getOperands()), llvm::to_vector_of<Value>(op->getResults()))) {
      if (!isa<RankedTensorType>(value.getType()))
        continue;
      sbp::NdAttr signature = sbp::signatureOf(value);
      if (!signature)
        return op->emitOpError() << "has a tensor of type " << value.getType()
                                 << " without a signature; run 'sbp-propagate'";
      if (signature.getPlacement() != placement)
        return op->emitOpError() << "has a tensor on another placement than the module's";
    }
    return success();
  }

  LogicalResult verifyVariables(Operation *op, SymbolTable &symbols) {
    auto check = [&](StringRef name, Value value) -> LogicalResult {
      auto variable = symbols.lookup<sbp::VariableOp>(name);
      if (variable && sbp::signatureOf(value) == variable.getStorageOrLogical())
        return success();
      return op->emitOpError() << "has signature " << sbp::toString(sbp::signatureOf(value).toAlgebra())
                               << ", which is not the storage of @" << name << "; run 'sbp-insert-boxing'";
    };
    if (auto read = dyn_cast<sbp::ReadOp>(op))
      return check(read.getVariable(), read.getResult());
    if (auto assign = dyn_cast<sbp::AssignOp>(op))
      return check(assign.getVariable(), assign.getValue());
    return success();
  }

  LogicalResult verifyLevel(Operation *op) {
    if (isa<nn::MinimizeOp, nn::UpdateOp>(op))
      return op->emitOpError() << "is left at the end of the global level; run 'nn-differentiate' and "
                                  "'nn-expand-optimizers' first";
    if (auto function = dyn_cast<func::FuncOp>(op))
      if (!function.getBody().hasOneBlock())
        return op->emitOpError() << "must have a body of one block";
    if (isa<func::ReturnOp, sbp::AssignOp>(op))
      for (Value value : op->getOperands())
        if (isa<RankedTensorType>(value.getType()) && sbp::signatureOf(value).hasPartial())
          return op->emitOpError() << "lets a P out; box it to B or S";
    return success();
  }

  sbp::PlacementAttr placement;
};

} // namespace
