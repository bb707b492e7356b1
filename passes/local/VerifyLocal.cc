// The end of the local level.
#include "passes/local/Passes.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_VERIFYLOCALPASS
#include "passes/local/Passes.h.inc"
} // namespace splitcast

namespace {

struct VerifyLocal : splitcast::impl::VerifyLocalPassBase<VerifyLocal> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Operation &op : function.getBody().front())
        if (failed(verifyOp(&op)))
          return signalPassFailure();
  }

  LogicalResult verifyOp(Operation *op) {
    for (Value value :
         llvm::concat<Value>(llvm::to_vector(op->getOperands()), llvm::to_vector_of<Value>(op->getResults())))
      if (sbp::signatureOf(value))
        return op->emitOpError() << "has a tensor with a signature; run 'sbp-localize'";
    for (Value result : op->getResults())
      if (isa<ccl::PendingType>(result.getType()) && !result.hasOneUse())
        return op->emitOpError() << "starts a collective that is waited for "
                                 << std::distance(result.use_begin(), result.use_end()) << " times; once is right";
    bool isKnown = isa<nn::ComputeOpInterface, nn::FusionOp, func::ReturnOp>(op) ||
                   isa_and_nonnull<ccl::CclDialect>(op->getDialect());
    if (!isKnown)
      return op->emitOpError() << "does not say what it computes on one rank";
    return success();
  }
};

} // namespace
