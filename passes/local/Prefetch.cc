// Overlap: gathers start one group ahead, reductions are waited for one group later.
#include "passes/local/Passes.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_PREFETCHPASS
#include "passes/local/Passes.h.inc"
} // namespace splitcast

namespace {

struct Prefetch : splitcast::impl::PrefetchPassBase<Prefetch> {
  using PrefetchPassBase::PrefetchPassBase;

  void runOnOperation() override {
    if (depth < 0 || depth > 1) {
      getOperation().emitError() << "'ccl-prefetch' got depth=" << depth.getValue() << "; it is 0 or 1";
      return signalPassFailure();
    }
    if (failed(verifyStraightLine(getOperation())))
      return signalPassFailure();
    if (depth == 0)
      return;
    startGathersEarly();
    waitForReductionsLate();
  }

  /// A gather of what is stored and not assigned before it can start anywhere after the read.
  static bool isGatherOfStored(ccl::AllGatherOp op) { return op.getInput().getDefiningOp<ccl::ReadOp>() != nullptr; }

  static Operation *waitOf(Operation *collective) { return *collective->getResult(0).getUsers().begin(); }

  /// Starts right behind the wait for the gather before it, unless another collective stands between: these keep their
  /// order.
  void startGathersEarly() {
    Operation *lastWait = nullptr;
    for (Operation &op : llvm::make_early_inc_range(getOperation().getBody().front())) {
      if (isa<ccl::WaitOp>(op) && op.getOperand(0).getDefiningOp<ccl::AllGatherOp>()) {
        lastWait = &op;
        continue;
      }
      if (op.getNumResults() == 1 && isa<ccl::PendingType>(op.getResult(0).getType())) {
        auto gather = dyn_cast<ccl::AllGatherOp>(op);
        Operation *read = gather ? gather.getInput().getDefiningOp() : nullptr;
        if (gather && lastWait && isGatherOfStored(gather)) {
          if (lastWait->isBeforeInBlock(read))
            read->moveAfter(lastWait);
          gather->moveAfter(lastWait->isBeforeInBlock(read) ? read : lastWait);
          lastWait = waitOf(gather);
        } else {
          lastWait = nullptr;
        }
      }
      if (isa<ccl::AssignOp>(op))
        lastWait = nullptr;
    }
  }

  /// Waits where the result is first used, or before the next reduction starts.
  void waitForReductionsLate() {
    Operation *open = nullptr; // the wait of the reduction under way
    for (Operation &op : llvm::make_early_inc_range(getOperation().getBody().front())) {
      bool isReduction = isa<ccl::ReduceScatterOp, ccl::AllReduceOp>(op);
      bool usesOpen = open && llvm::is_contained(op.getOperands(), open->getResult(0));
      if (open && (isReduction || usesOpen || op.hasTrait<OpTrait::IsTerminator>())) {
        open->moveBefore(&op);
        open = nullptr;
      }
      if (isReduction)
        open = waitOf(&op);
    }
  }
};

} // namespace
