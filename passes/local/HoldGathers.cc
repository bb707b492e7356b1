// Gathers first, so that later runs can leave them out.
//
// Forward, an op is *of storages* when all its operands are (a read has none). Backward, of these, waits are needed
// and whatever they need: so a value that is merely computed from what is stored stays where it is used. The needed
// ops move to the beginning in their order; their number is the attribute `ccl.held_ops`.
//
//   before   %x = nn.relu %arg0                          {ccl.hold_gathers}
//            %0 = ccl.read @w
//            %a = ccl.all_gather "w" %0
//            %1 = ccl.wait %a
//            %y = nn.add %x, %1
//   after    %0 = ccl.read @w                            {ccl.hold_gathers, ccl.held_ops = 3}
//            %a = ccl.all_gather "w" %0
//            %1 = ccl.wait %a
//            %x = nn.relu %arg0                          a later run may begin here
//            %y = nn.add %x, %1
#include "passes/local/Passes.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_HOLDGATHERSPASS
#include "passes/local/Passes.h.inc"
} // namespace splitcast

namespace {

struct HoldGathers : splitcast::impl::HoldGathersPassBase<HoldGathers> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!function->hasAttr("ccl.hold_gathers"))
      return;
    if (failed(verifyStraightLine(function)))
      return signalPassFailure();
    Block &block = function.getBody().front();
    if (auto assigns = block.getOps<ccl::AssignOp>(); !assigns.empty()) {
      (*assigns.begin()).emitOpError()
          << "stands in a function with ccl.hold_gathers, whose later runs would not see it; "
             "remove the attribute";
      return signalPassFailure();
    }
    SmallVector<Operation *> held = collectivesOfStorages(block);
    if (held.empty())
      return;
    Operation *last = nullptr;
    for (Operation *op : held) {
      last ? op->moveAfter(last) : op->moveBefore(&block, block.begin());
      last = op;
    }
    function->setAttr("ccl.held_ops", OpBuilder(function).getI64IntegerAttr(held.size()));
  }

  /// Collectives that depend on nothing but what is stored, with all that they need, and their waits; in order.
  static SmallVector<Operation *> collectivesOfStorages(Block &block) {
    DenseSet<Operation *> ofStorages, needed;
    for (Operation &op : block.without_terminator())
      if (llvm::all_of(op.getOperands(), [&](Value v) { return ofStorages.contains(v.getDefiningOp()); }))
        ofStorages.insert(&op);
    for (Operation &op : llvm::reverse(block)) {
      bool isNeeded = llvm::any_of(op.getUsers(), [&](Operation *user) { return needed.contains(user); });
      if (ofStorages.contains(&op) && (isNeeded || isa<ccl::WaitOp>(op)))
        needed.insert(&op);
    }
    SmallVector<Operation *> result;
    for (Operation &op : block)
      if (needed.contains(&op))
        result.push_back(&op);
    return result;
  }
};

} // namespace
