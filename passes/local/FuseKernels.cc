// What one kernel computes.
#include "passes/local/DeviceTraits.h"
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
  Rows,        ///< of each row, elements or one value; the rows are independent
  Columns,     ///< sums over the rows
  Reduction,   ///< anything else
};

/// The first operand of the highest rank.
const sbp::TensorFactors *widestOperand(const sbp::LoopSpec &spec) {
  const sbp::TensorFactors *widest = nullptr;
  for (const sbp::TensorFactors &operand : spec.operands)
    if (!widest || operand.size() > widest->size())
      widest = &operand;
  return widest;
}

/// All dimensions of `rows`, in order, or all but the last.
bool isOfRows(const sbp::TensorFactors &tensor, const sbp::TensorFactors &rows) {
  return (tensor.size() == rows.size() || tensor.size() + 1 == rows.size()) &&
         std::equal(tensor.begin(), tensor.end(), rows.begin());
}

bool isDirect(const sbp::TensorFactors &tensor) {
  return llvm::all_of(tensor, [](const std::vector<int> &dim) { return dim.size() == 1; });
}

/// Of an op that is not elementwise.
Pattern patternOfSum(const sbp::LoopSpec &spec, const sbp::TensorFactors &rows) {
  sbp::TensorFactors row = {rows.back()};
  auto kindOf = [&](const std::vector<int> &dim) { return spec.factors[dim.front()].kind; };
  auto isParallel = [&](const std::vector<int> &dim) { return kindOf(dim) == sbp::FactorKind::Parallel; };
  auto leading = llvm::drop_end(rows);
  bool isRows =
      !isParallel(row.front()) && llvm::all_of(leading, isParallel) &&
      llvm::all_of(spec.operands, [&](const auto &t) { return t.empty() || t == row || isOfRows(t, rows); }) &&
      llvm::all_of(spec.results, [&](const auto &t) { return isOfRows(t, rows); });
  if (isRows)
    return Pattern::Rows;
  bool isColumns = rows.size() > 1 && isParallel(row.front()) &&
                   llvm::all_of(leading, [&](const auto &dim) { return kindOf(dim) == sbp::FactorKind::Sum; }) &&
                   spec.operands.size() == 1 && spec.results == std::vector<sbp::TensorFactors>{row};
  return isColumns ? Pattern::Columns : Pattern::Reduction;
}

Pattern patternOf(Operation *op) {
  sbp::LoopSpec spec = cast<sbp::ShardingOpInterface>(op).getLoopSpec();
  bool isParallel =
      llvm::all_of(spec.factors, [](const sbp::Factor &f) { return f.kind == sbp::FactorKind::Parallel; });
  if (isParallel && isDirect(spec.results.front()))
    return Pattern::Elementwise;
  const sbp::TensorFactors *rows = widestOperand(spec);
  return rows && !rows->empty() && isDirect(*rows) ? patternOfSum(spec, *rows) : Pattern::Reduction;
}

bool isFusible(Operation *op, const DeviceTraits &traits) {
  auto compute = dyn_cast<nn::ComputeOpInterface>(op);
  if (!compute || !isa<sbp::ShardingOpInterface>(op) || isa<nn::ReshapeOp>(op))
    return false;
  return !traits.libraryCallOf(op);
}

struct Group {
  SmallVector<Operation *> members;
  sbp::Shape shape;                       ///< of the elementwise loops
  Pattern pattern = Pattern::Elementwise; ///< of all members together
  bool isClosed = false;

  bool contains(Operation *op) const { return llvm::is_contained(members, op); }
};

class Fuser {
public:
  Fuser(Block &block, DeviceTraits traits) : block(block), traits(std::move(traits)) {}

  void run() {
    for (Operation &op : block)
      visit(&op);
    for (Group &group : groups)
      emit(group);
  }

private:
  static constexpr size_t kMaxMembers = 256;

  void visit(Operation *op) {
    if (auto assign = dyn_cast<ccl::AssignOp>(op))
      return closeReadersOf(assign.getStorage());
    if (!isFusible(op, traits))
      return;
    Group joined{{op}, loopShape(op), patternOf(op)};
    for (Group &group : groups)
      if (mayJoin(group, op) && suitsDevice(group, joined) && !needsSum(group, joined.members) &&
          !needsSum(joined, group.members) && isOrderly(group, joined) &&
          joined.members.size() + group.members.size() < kMaxMembers) {
        llvm::append_range(joined.members, group.members);
        joined.pattern = std::max(joined.pattern, group.pattern);
        group.members.clear();
      }
    llvm::sort(joined.members, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    llvm::erase_if(groups, [](const Group &group) { return group.members.empty(); });
    groups.push_back(std::move(joined));
  }

  /// What reads a storage must not move behind its assignment.
  void closeReadersOf(StringRef storage) {
    for (Group &group : groups)
      for (Operation *member : group.members)
        for (Value operand : member->getOperands())
          if (auto read = sourceOf(operand).getDefiningOp<ccl::ReadOp>(); read && read.getStorage() == storage)
            group.isClosed = true;
  }

  /// What a view looks at.
  static Value sourceOf(Value value) {
    while (Operation *op = value.getDefiningOp()) {
      if (!isa<ccl::ViewOp, nn::ReshapeOp>(op))
        break;
      value = op->getOperand(0);
    }
    return value;
  }

  /// The same loops, a value in common, and nothing outside that uses a member's result before. What a sum over rows
  /// gives is there only when all rows are done.
  static bool mayJoin(const Group &group, Operation *op) {
    Pattern pattern = patternOf(op);
    bool isRowNest = group.pattern != Pattern::Elementwise;
    if (group.isClosed || group.pattern == Pattern::Reduction || loopShape(op) != group.shape ||
        (isRowNest && pattern == Pattern::Reduction))
      return false;
    bool feeds = llvm::any_of(op->getOperands(),
                              [&](Value v) { return v.getDefiningOp() && group.contains(v.getDefiningOp()); });
    bool shares = (pattern == Pattern::Elementwise || isRowNest) && llvm::any_of(op->getOperands(), [&](Value v) {
                    bool isWide = sbp::shapeOf(v.getType()) == group.shape;
                    bool isScalar = typeOf(v).getRank() == 0;
                    return (isRowNest ? isWide : !isScalar) && llvm::any_of(group.members, [&](Operation *m) {
                             return llvm::is_contained(m->getOperands(), v);
                           });
                  });
    return (feeds || shares) && !usedBetween(group, op);
  }

  /// Whether members of a row nest read each other's results where they make them: in the order of the loops, from the
  /// first on. In a square tensor a transposed or a column's element has the same extents, but is another row's; and
  /// sums that another place needs would be made in another order.
  static bool isOrderly(const Group &a, const Group &b) {
    if (a.pattern == Pattern::Elementwise && b.pattern == Pattern::Elementwise)
      return true;
    return llvm::all_of(llvm::concat<Operation *const>(a.members, b.members), [&](Operation *op) {
      sbp::LoopSpec spec = cast<sbp::ShardingOpInterface>(op).getLoopSpec();
      const sbp::TensorFactors &loops =
          patternOf(op) == Pattern::Elementwise ? spec.results.front() : *widestOperand(spec);
      return llvm::all_of(llvm::enumerate(op->getOperands()), [&](auto operand) {
        Operation *maker = operand.value().getDefiningOp();
        if (!maker || (!a.contains(maker) && !b.contains(maker)))
          return true;
        const sbp::TensorFactors &place = spec.operands[operand.index()];
        return place.size() <= loops.size() && std::equal(place.begin(), place.end(), loops.begin());
      });
    });
  }

  /// Whether the device can sum over rows in the walk that makes them.
  bool suitsDevice(const Group &a, const Group &b) const {
    auto has = [](const Group &group, Pattern pattern) {
      return llvm::any_of(group.members, [&](Operation *op) { return patternOf(op) == pattern; });
    };
    bool mixes =
        (has(a, Pattern::Columns) || has(b, Pattern::Columns)) && (has(a, Pattern::Rows) || has(b, Pattern::Rows));
    return traits.sumsBesideRows || !mixes;
  }

  /// Whether one of these ops needs what a member sums over the rows.
  static bool needsSum(const Group &group, ArrayRef<Operation *> ops) {
    return llvm::any_of(ops, [&](Operation *op) {
      return llvm::any_of(op->getOperands(), [&](Value operand) {
        Operation *maker = operand.getDefiningOp();
        return maker && group.contains(maker) && patternOf(maker) == Pattern::Columns;
      });
    });
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
  const DeviceTraits traits;
  std::vector<Group> groups;
};

struct FuseKernels : splitcast::impl::FuseKernelsPassBase<FuseKernels> {
  void runOnOperation() override {
    if (failed(verifyStraightLine(getOperation())))
      return signalPassFailure();
    Block &block = getOperation().getBody().front();
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op)) // no kernel would compute it
        op.erase();
    Fuser(block, deviceTraitsOf(getOperation()->getParentOfType<ModuleOp>())).run();
  }
};

} // namespace
