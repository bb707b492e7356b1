#include "passes/local/MoveSlices.h"

#include "passes/local/OpLoops.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace splitcast {
namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Returns the slices that use the op's result, by their beginning, if nothing else does and they have no element in
/// common; otherwise none.
SmallVector<nn::SliceOp> disjointSlicesOf(Operation *op) {
  SmallVector<nn::SliceOp> slices;
  for (Operation *user : op->getUsers()) {
    auto slice = dyn_cast<nn::SliceOp>(user);
    if (!slice || !slicesAlongRows(slice) || (!slices.empty() && slice.getDim() != slices.front().getDim()))
      return {};
    slices.push_back(slice);
  }
  llvm::sort(slices, [](nn::SliceOp a, nn::SliceOp b) { return a.getStart() < b.getStart(); });
  for (auto [one, next] : llvm::zip(slices, llvm::drop_begin(slices)))
    if (one.getStart() + typeOf(one).getDimSize(one.getDim()) > next.getStart())
      return {};
  return slices;
}

bool mayCut(Operation *op, const DeviceTraits &traits) {
  return op->getNumResults() == 1 && op->getNumOperands() > 0 && op->getNumRegions() == 0 && isFusible(op, traits) &&
         !isa<nn::PlacedOpInterface>(op) && !namesDimensions(op) && OpLoops(op).pattern == LoopPattern::Elementwise;
}

/// Moves slices before the ops whose results they cut.
class Cutter {
public:
  /// Computes what the slice has of the result of an elementwise op, at the place of that op, so that it reads no
  /// storage behind an assignment.
  void cut(Operation *op, nn::SliceOp slice) {
    const sbp::LoopSpec spec = cast<sbp::ShardingOpInterface>(op).getLoopSpec();
    const std::vector<int> &along = spec.results.front()[slice.getDim()];
    SmallVector<Value> operands;
    for (auto [operand, factors] : llvm::zip(op->getOperands(), spec.operands)) {
      const auto dim = llvm::find(factors, along);
      operands.push_back(dim == factors.end() ? operand : sliceOf(operand, dim - factors.begin(), slice, op));
    }
    OperationState state(op->getLoc(), op->getName(), operands, slice.getType(), op->getAttrs());
    slice.replaceAllUsesWith(OpBuilder(op).create(state)->getResult(0));
    const auto shared = made.find(keyOf(slice.getInput(), typeOf(slice), slice.getDim(), slice.getStart()));
    if (shared != made.end() && shared->second == slice)
      made.erase(shared);
    slice.erase();
  }

private:
  using Key = std::pair<std::pair<Value, Type>, std::pair<int64_t, int64_t>>;

  static Key keyOf(Value input, Type type, uint64_t dim, uint64_t start) {
    return {{input, type}, {static_cast<int64_t>(dim), static_cast<int64_t>(start)}};
  }

  /// Returns the elements of an operand along its dimension `dim` that `like` takes along its own. Of a smaller
  /// operand, such as a bias, which is a kernel of its own, there is one slice for all users, before the first of them.
  Value sliceOf(Value operand, int64_t dim, nn::SliceOp like, Operation *user) {
    SmallVector<int64_t> shape(typeOf(operand).getShape());
    shape[dim] = typeOf(like).getDimSize(like.getDim());
    const RankedTensorType type = typeOf(operand).clone(shape);
    const auto create = [&] {
      return OpBuilder(user).create<nn::SliceOp>(like.getLoc(), type, operand, OpBuilder(user).getI64IntegerAttr(dim),
                                                 like.getStartAttr());
    };
    if (typeOf(operand).getRank() == typeOf(like).getRank())
      return create();
    nn::SliceOp &shared = made[keyOf(operand, type, dim, like.getStart())];
    if (!shared)
      shared = create();
    else if (user->isBeforeInBlock(shared))
      shared->moveBefore(user);
    return shared;
  }

  DenseMap<Key, nn::SliceOp> made; ///< the shared slices that are in the block
};

} // namespace

void moveSlices(Block &block, const DeviceTraits &traits) {
  // From the last op to the first: a move makes slices of the results of earlier ops.
  Cutter cutter;
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    const SmallVector<nn::SliceOp> slices = mayCut(&op, traits) ? disjointSlicesOf(&op) : SmallVector<nn::SliceOp>();
    for (nn::SliceOp slice : slices)
      cutter.cut(&op, slice);
    if (!slices.empty())
      op.erase();
  }
}

} // namespace splitcast
