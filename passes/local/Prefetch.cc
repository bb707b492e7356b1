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
  /// These are the ops that make its operand: the read, and views of it. None when it gathers anything else.
  static SmallVector<Operation *> makersOfStored(ccl::AllGatherOp op) {
    SmallVector<Operation *> makers;
    for (Operation *maker = op.getInput().getDefiningOp(); maker; maker = maker->getOperand(0).getDefiningOp()) {
      makers.insert(makers.begin(), maker);
      if (isa<ccl::ReadOp>(maker))
        return makers;
      if (!isa<ccl::ViewOp>(maker))
        break;
    }
    return {};
  }

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
        SmallVector<Operation *> makers = gather && lastWait ? makersOfStored(gather) : SmallVector<Operation *>();
        if (!makers.empty()) {
          Operation *after = lastWait;
          for (Operation *maker : makers)
            if (lastWait->isBeforeInBlock(maker)) {
              maker->moveAfter(after);
              after = maker;
            }
          gather->moveAfter(after);
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
