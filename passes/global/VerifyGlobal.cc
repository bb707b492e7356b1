// The end of the global level.
#include "passes/global/JoinPlan.h"
#include "passes/global/Passes.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_VERIFYGLOBALPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

class GlobalVerifier {
public:
  explicit GlobalVerifier(ModuleOp module) : module(module) {}

  LogicalResult run() {
    if (failed(verifyModule(module)) || failed(verifyVariables(module)))
      return failure();
    SymbolTable symbols(module);
    WalkResult walk = module.walk([&](Operation *op) {
      return WalkResult(success(succeeded(verifyTensors(op)) && succeeded(verifyUses(op, symbols)) &&
                                succeeded(verifySlots(op)) && succeeded(verifyLevel(op))));
    });
    return failure(walk.wasInterrupted() || failed(verifyCarried(module)));
  }

private:
  LogicalResult verifyType(Operation *op, Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return success();
    sbp::NdAttr signature = sbp::signatureOf(type);
    if (!signature)
      return op->emitOpError() << "has a tensor of type " << type << " without a signature; run 'sbp-propagate'";
    return signature.verifyEncoding(tensor.getShape(), tensor.getElementType(), [&] { return op->emitOpError(); });
  }

  /// Types that no value has: of functions, whose arguments may be unused, and of variables.
  LogicalResult verifyDeclaredTypes(Operation *op) {
    if (auto variable = dyn_cast<sbp::VariableOp>(op))
      return verifyType(op, variable.getType());
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function)
      return success();
    for (Type type : llvm::concat<const Type>(function.getArgumentTypes(), function.getResultTypes()))
      if (failed(verifyType(op, type)))
        return failure();
    return success();
  }

  LogicalResult verifyTensors(Operation *op) {
    if (failed(verifyDeclaredTypes(op)))
      return failure();
    for (Value value :
         llvm::concat<Value>(llvm::to_vector(op->getOperands()), llvm::to_vector_of<Value>(op->getResults()))) {
      if (failed(verifyType(op, value.getType())))
        return failure();
    }
    return success();
  }

  LogicalResult verifyUses(Operation *op, SymbolTable &symbols) {
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

  /// What a rank's program can say.
  LogicalResult verifySlots(Operation *op) {
    auto sharded = dyn_cast<sbp::ShardingOpInterface>(op);
    if (isa<sbp::BucketMemberOp, sbp::AssignOp>(op) || (sharded && sharded.getLoopSpec().exactSums))
      return success();
    for (Value value :
         llvm::concat<Value>(llvm::to_vector(op->getOperands()), llvm::to_vector_of<Value>(op->getResults())))
      if (isSlot(value))
        return op->emitOpError() << "has a slot of bucket '" << sbp::signatureOf(value).getFlatSlot()->bucket
                                 << "', which only sbp.bucket_member gives, and sbp.assign and exact sums take; run "
                                    "'sbp-join-buckets'";
    return success();
  }

  LogicalResult verifyLevel(Operation *op) {
    if (isa<nn::MinimizeOp, nn::UpdateOp>(op))
      return op->emitOpError() << "is left at the end of the global level; run 'nn-differentiate' and "
                                  "'nn-expand-optimizers' first";
    if (auto function = dyn_cast<func::FuncOp>(op))
      return verifyFunction(function);
    if (isa<func::ReturnOp>(op))
      for (Value value : op->getOperands())
        if (isa<RankedTensorType>(value.getType()) && sbp::signatureOf(value).hasPartial())
          return op->emitOpError() << "lets a P out; box it to B or S";
    return success();
  }

  LogicalResult verifyFunction(func::FuncOp function) {
    if (!function.getBody().hasOneBlock())
      return function.emitOpError() << "must have a body of one block";
    for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
      if (sbp::signatureOf(type).hasPartial())
        return function.emitOpError() << "@" << function.getSymName() << " takes argument " << index
                                      << " as P, but an input is given whole and not as addends of ranks; take it as B "
                                         "or S";
    return success();
  }

  ModuleOp module;
};

struct VerifyGlobal : splitcast::impl::VerifyGlobalPassBase<VerifyGlobal> {
  void runOnOperation() override {
    if (failed(verifyGlobal(getOperation())))
      signalPassFailure();
  }
};

} // namespace

LogicalResult splitcast::verifyGlobal(ModuleOp module) { return GlobalVerifier(module).run(); }
