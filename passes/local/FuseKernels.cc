// What one kernel computes.
#include "passes/local/Passes.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_FUSEKERNELSPASS
#include "passes/local/Passes.h.inc"
} // namespace splitcast

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// How an op runs over its data, as its loop factors tell: which decides what it can share a kernel with.
enum class Pattern {
  Elementwise, ///< one element of each result from one of each operand
  Reduction,   ///< sums, or needs a dimension whole
};

Pattern patternOf(Operation *op) {
  sbp::LoopSpec spec = cast<sbp::ShardingOpInterface>(op).getLoopSpec();
  bool isParallel =
      llvm::all_of(spec.factors, [](const sbp::Factor &f) { return f.kind == sbp::FactorKind::Parallel; });
  bool isDirect = llvm::all_of(spec.results.front(), [](const std::vector<int> &dim) { return dim.size() == 1; });
  return isParallel && isDirect ? Pattern::Elementwise : Pattern::Reduction;
}

bool isFusible(Operation *op) {
  auto compute = dyn_cast<nn::ComputeOpInterface>(op);
  return compute && isa<sbp::ShardingOpInterface>(op) && op->getNumResults() == 1 && !compute.getLibraryCall() &&
         !isa<nn::ReshapeOp>(op);
}

struct Group {
  SmallVector<Operation *> members;
  sbp::Shape shape; ///< of the elementwise loops
  bool hasReduction = false;

  bool contains(Operation *op) const { return llvm::is_contained(members, op); }
};

class Fuser {
public:
  explicit Fuser(Block &block) : block(block) {}

  void run() {
    for (Operation &op : block)
      visit(&op);
    for (Group &group : groups)
      emit(group);
  }

private:
  void visit(Operation *op) {
    if (isFusible(op)) {
      if (Group *group = groupFor(op)) {
        group->members.push_back(op);
        group->hasReduction |= patternOf(op) == Pattern::Reduction;
        return;
      }
      groups.push_back({{op}, loopShape(op), patternOf(op) == Pattern::Reduction});
      if (typeOf(op->getResult(0)).getNumElements() >= 0)
        open = groups.size() - 1;
      return;
    }
    // Library calls and views let a fusion go on; what orders memory or communication ends it.
    if (!isMemoryEffectFree(op))
      open = -1;
  }

  /// The open group, if the op may join it: the same loops, nothing outside that uses a member's result before.
  Group *groupFor(Operation *op) {
    if (open < 0)
      return nullptr;
    Group &group = groups[open];
    if (loopShape(op) != group.shape || group.hasReduction || (group.members.size() > 64))
      return nullptr;
    bool isReduction = patternOf(op) == Pattern::Reduction;
    bool feeds = llvm::any_of(op->getOperands(), [&](Value v) { return v.getDefiningOp() && group.contains(v.getDefiningOp()); });
    bool shares = llvm::any_of(op->getOperands(), [&](Value v) {
      return llvm::any_of(group.members, [&](Operation *m) { return llvm::is_contained(m->getOperands(), v); });
    });
    if (!feeds && (isReduction || !shares))
      return nullptr;
    if (usedBetween(group, op))
      return nullptr;
    return &group;
  }

  /// Whether something outside of the group, before `op`, uses a member's result: the fusion, which stands at its last
  /// member, would come too late for it.
  static bool usedBetween(const Group &group, Operation *op) {
    for (Operation *member : group.members)
      for (Operation *user : member->getUsers())
        if (!group.contains(user) && user->isBeforeInBlock(op))
          return true;
    return false;
  }

  /// The loops that an op runs over: its result's, or for reductions its widest operand's.
  static sbp::Shape loopShape(Operation *op) {
    sbp::Shape shape = sbp::shapeOf(op->getResult(0).getType());
    if (patternOf(op) == Pattern::Elementwise)
      return shape;
    for (Value operand : op->getOperands())
      if (sbp::shapeOf(operand.getType()).size() > shape.size())
        shape = sbp::shapeOf(operand.getType());
    return shape;
  }

  void emit(Group &group) {
    SetVector<Value> inputs;
    SmallVector<Value> outputs;
    for (Operation *member : group.members) {
      for (Value operand : member->getOperands())
        if (!operand.getDefiningOp() || !group.contains(operand.getDefiningOp()))
          inputs.insert(operand);
      for (Value result : member->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !group.contains(user); }))
          outputs.push_back(result);
    }
    if (outputs.empty())
      return;
    Operation *last = group.members.back();
    OpBuilder builder(last);
    SmallVector<Location> locations;
    for (Operation *member : group.members)
      locations.push_back(member->getLoc());
    auto fusion = builder.create<nn::FusionOp>(FusedLoc::get(builder.getContext(), locations),
                                               ValueRange(outputs).getTypes(), inputs.getArrayRef());
    Block *body = builder.createBlock(&fusion.getBody());
    IRMapping map;
    for (Value input : inputs)
      map.map(input, body->addArgument(input.getType(), input.getLoc()));
    for (Operation *member : group.members)
      builder.clone(*member, map);
    SmallVector<Value> yielded;
    for (Value output : outputs)
      yielded.push_back(map.lookup(output));
    builder.create<nn::YieldOp>(fusion.getLoc(), yielded);
    for (auto [output, result] : llvm::zip(outputs, fusion.getOutputs()))
      output.replaceUsesWithIf(result, [&](OpOperand &use) { return !group.contains(use.getOwner()); });
    for (Operation *member : llvm::reverse(group.members))
      member->erase();
  }

  Block &block;
  std::vector<Group> groups;
  int64_t open = -1;
};

struct FuseKernels : splitcast::impl::FuseKernelsPassBase<FuseKernels> {
  void runOnOperation() override { Fuser(getOperation().getBody().front()).run(); }
};

} // namespace
