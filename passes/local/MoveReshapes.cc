#include "passes/local/MoveReshapes.h"

#include "passes/local/Aliases.h"
#include "passes/local/OpLoops.h"

using namespace mlir;

namespace splitcast {
namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

bool isMadeByKernel(Value value, const DeviceTraits &traits) {
  Operation *made = behindFences(value).getDefiningOp();
  return made && isFusible(made, traits);
}

/// Whether the value has users, and all of them are ops of kernels.
bool isUsedByKernelsAlone(Value value, const DeviceTraits &traits) {
  return !value.use_empty() && llvm::all_of(value.getUsers(), [&](Operation *user) {
    return isa<sbp::FenceOp>(user) ? isUsedByKernelsAlone(user->getResult(0), traits) : isFusible(user, traits);
  });
}

/// Returns the op if it casts to a smaller float, else null.
nn::CastOp narrowingCast(Operation *op) {
  auto cast = dyn_cast<nn::CastOp>(op);
  const bool isNarrowing = cast && isa<FloatType>(typeOf(cast).getElementType()) &&
                           sbp::elementBytes(typeOf(cast)) < sbp::elementBytes(typeOf(cast.getInput()));
  return isNarrowing ? cast : nn::CastOp();
}

/// Lets a reshape of a reshape take the operand of the first one, and erases
/// reshapes to the shape of their operand.
void shortenReshapes(Block &block) {
  for (auto reshape : llvm::make_early_inc_range(block.getOps<nn::ReshapeOp>())) {
    Operation *before = reshape.getInput().getDefiningOp();
    if (auto other = dyn_cast_or_null<nn::ReshapeOp>(before)) { // it has been shortened already
      reshape.getInputMutable().assign(other.getInput());
      if (other.use_empty())
        other.erase();
    }
    if (typeOf(reshape.getInput()) == typeOf(reshape)) {
      reshape.replaceAllUsesWith(reshape.getInput());
      reshape.erase();
    }
  }
}

/// Moves casts to smaller floats before the reshape of their operand, to the
/// kernel that makes it, if nothing else reads the reshaped value. Otherwise
/// both tensors would lie in memory until the cast.
void raiseNarrowingCasts(Block &block, const DeviceTraits &traits) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    nn::CastOp cast = narrowingCast(&op);
    auto reshape = cast ? cast.getInput().getDefiningOp<nn::ReshapeOp>() : nn::ReshapeOp();
    if (!reshape || !reshape->hasOneUse() || !isMadeByKernel(reshape.getInput(), traits))
      continue;
    OpBuilder builder(reshape);
    auto type = typeOf(reshape.getInput()).clone(typeOf(cast).getElementType());
    Value small = builder.create<nn::CastOp>(cast.getLoc(), type, reshape.getInput());
    cast.replaceAllUsesWith(builder.create<nn::ReshapeOp>(reshape.getLoc(), typeOf(cast), small).getResult());
    cast.erase();
    reshape.erase();
  }
}

/// Moves elementwise ops behind the reshapes of their results.
class Lowerer {
public:
  Lowerer(Block &block, const DeviceTraits &traits) : traits(traits) {
    for (auto reshape : block.getOps<nn::ReshapeOp>())
      open.push_back(reshape);
  }

  /// Goes from the last reshape to the first: reshapes that a move creates come
  /// before the moved op.
  void run() {
    while (!open.empty()) {
      nn::ReshapeOp reshape = open.pop_back_val();
      if (Operation *maker = reshape.getInput().getDefiningOp(); maker && mayLower(maker, reshape))
        lower(maker, reshape);
    }
  }

private:
  bool mayLower(Operation *maker, nn::ReshapeOp reshape) const {
    if (maker->getNumResults() != 1 || maker->getNumRegions() != 0 || !isFusible(maker, traits) ||
        isa<nn::PlacedOpInterface>(maker) || narrowingCast(maker) || maker->getNumOperands() == 0)
      return false;
    if (!(maker->hasOneUse() || onlyExtends(maker)) || !isUsedByKernelsAlone(reshape, traits))
      return false;
    return !namesDimensions(maker) && isElementwise(maker) && llvm::all_of(maker->getOperands(), [&](Value operand) {
      return isWhole(operand, maker) || isOfBoth(typeOf(operand).getShape(), reshape);
    });
  }

  /// Whether the op is elementwise, and reads each operand at the coordinates
  /// of the result's element, or at the last of these.
  static bool isElementwise(Operation *op) {
    if (OpLoops(op).pattern != LoopPattern::Elementwise)
      return false;
    const sbp::LoopSpec spec = cast<sbp::ShardingOpInterface>(op).getLoopSpec();
    const sbp::TensorFactors &result = spec.results.front();
    return llvm::all_of(spec.operands, [&](const sbp::TensorFactors &operand) {
      return operand.size() <= result.size() && std::equal(operand.rbegin(), operand.rend(), result.rbegin());
    });
  }

  static bool isWhole(Value operand, Operation *maker) {
    return typeOf(operand).getShape() == typeOf(maker->getResult(0)).getShape();
  }

  /// Whether both shapes of the reshape end in `shape`.
  static bool isOfBoth(ArrayRef<int64_t> shape, nn::ReshapeOp reshape) {
    auto isLastOf = [&](ArrayRef<int64_t> whole) {
      return shape.size() < whole.size() && whole.take_back(shape.size()) == shape;
    };
    return isLastOf(typeOf(reshape.getInput()).getShape()) && isLastOf(typeOf(reshape).getShape());
  }

  /// Replaces the op and the reshape by the op on reshaped operands. It stays
  /// at its place, so that it reads no storage behind an assignment.
  void lower(Operation *maker, nn::ReshapeOp reshape) {
    OpBuilder builder(maker);
    SmallVector<Value> operands;
    for (Value operand : maker->getOperands())
      operands.push_back(isWhole(operand, maker) ? inShape(operand, typeOf(reshape).getShape(), maker) : operand);
    OperationState state(maker->getLoc(), maker->getName(), operands, typeOf(reshape), maker->getAttrs());
    reshape.replaceAllUsesWith(builder.create(state)->getResult(0));
    erase(reshape);
    if (maker->use_empty())
      maker->erase();
  }

  /// Returns the value in this shape. There is one reshape for each value and
  /// shape, before the first op that needs it, so that a value that is used
  /// twice is one operand of a kernel.
  Value inShape(Value value, ArrayRef<int64_t> shape, Operation *user) {
    while (auto reshape = value.getDefiningOp<nn::ReshapeOp>())
      value = reshape.getInput();
    RankedTensorType type = typeOf(value).clone(shape);
    if (type == typeOf(value))
      return value;
    nn::ReshapeOp &reshape = made[{value, type}];
    if (!reshape) {
      reshape = OpBuilder(user).create<nn::ReshapeOp>(user->getLoc(), type, value);
      open.push_back(reshape);
    } else if (user->isBeforeInBlock(reshape)) {
      reshape->moveBefore(user);
    }
    return reshape;
  }

  void erase(nn::ReshapeOp reshape) {
    auto known = made.find({reshape.getInput(), typeOf(reshape)});
    if (known != made.end() && known->second == reshape)
      made.erase(known);
    reshape.erase();
  }

  const DeviceTraits &traits;
  SmallVector<nn::ReshapeOp> open;
  DenseMap<std::pair<Value, Type>, nn::ReshapeOp> made;
};

} // namespace

void moveReshapes(Block &block, const DeviceTraits &traits) {
  shortenReshapes(block);
  raiseNarrowingCasts(block, traits);
  Lowerer(block, traits).run();
}

} // namespace splitcast
