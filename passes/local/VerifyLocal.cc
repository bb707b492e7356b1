// Verifies the end of the local level.
#include "passes/local/Passes.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_VERIFYLOCALPASS
#include "passes/local/Passes.h.inc"
} // namespace splitcast

namespace {

LogicalResult verifyOp(Operation *op) {
  for (Value value :
       llvm::concat<Value>(llvm::to_vector(op->getOperands()), llvm::to_vector_of<Value>(op->getResults())))
    if (sbp::signatureOf(value))
      return op->emitOpError() << "has a tensor with a signature; run 'sbp-localize'";
  bool isKnown = isa<nn::ComputeOpInterface, nn::FusionOp, func::ReturnOp, sbp::ScopeOp, sbp::FenceOp>(op) ||
                 isa_and_nonnull<ccl::CclDialect>(op->getDialect());
  if (!isKnown)
    return op->emitOpError() << "does not say what it computes on one rank; replace it by ops with ComputeOpInterface";
  return success();
}

struct VerifyLocal : splitcast::impl::VerifyLocalPassBase<VerifyLocal> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(verifyLocal(function)))
        return signalPassFailure();
  }
};

LogicalResult verifyPending(Operation *op, Value pending) {
  if (!pending.hasOneUse())
    return op->emitOpError() << "starts a collective that is waited for "
                             << std::distance(pending.use_begin(), pending.use_end()) << " times; wait for it once";
  if (Operation *user = *pending.user_begin(); !isa<ccl::WaitOp>(user))
    return op->emitOpError() << "starts a collective whose pending result '" << user->getName()
                             << "' takes; give that op the result of ccl.wait";
  return success();
}

} // namespace

LogicalResult splitcast::verifyStraightLine(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError() << "must have a body of one block";
  for (Operation &op : function.getBody().front())
    for (Value result : op.getResults())
      if (isa<ccl::PendingType>(result.getType()) && failed(verifyPending(&op, result)))
        return failure();
  return success();
}

LogicalResult splitcast::verifyLocal(func::FuncOp function) {
  if (failed(verifyStraightLine(function)))
    return failure();
  for (Operation &op : function.getBody().front())
    if (failed(verifyOp(&op)))
      return failure();
  for (Type type : llvm::concat<const Type>(function.getArgumentTypes(), function.getResultTypes())) {
    if (!isa<RankedTensorType>(type))
      return function.emitOpError() << "takes or returns " << type << "; take and return tensors";
    if (auto tensor = cast<RankedTensorType>(type);
        !tensor.hasStaticShape() || !nn::isStoredElement(tensor.getElementType()))
      return function.emitOpError()
             << "takes or returns " << type
             << "; tensors must have a static shape and elements of f16, bf16, f32, f64, i1, i8, "
                "i32 or i64";
    if (sbp::signatureOf(type))
      return function.emitOpError() << "has a tensor with a signature; run 'sbp-localize'";
  }
  return success();
}
