#include "passes/local/MoveReshapes.h"

#include "passes/local/Aliases.h"
#include "passes/local/OpLoops.h"

using namespace mlir;

namespace splitcast {
namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// The tensor `shape` of the value's elements.
RankedTensorType inShape(Value value, ArrayRef<int64_t> shape) { return typeOf(value).clone(shape); }

Value reshaped(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> shape) {
  return builder.create<nn::ReshapeOp>(loc, inShape(value, shape), value);
}

bool isMadeByKernel(Value value, const DeviceTraits &traits) {
  Operation *made = behindFences(value).getDefiningOp();
  return made && isFusible(made, traits);
}

bool isUsedByKernel(Value value, const DeviceTraits &traits) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return isa<sbp::FenceOp>(user) ? isUsedByKernel(user->getResult(0), traits) : isFusible(user, traits);
  });
}

/// The op, if it casts to a smaller float.
nn::CastOp narrowingCast(Operation *op) {
  auto cast = dyn_cast<nn::CastOp>(op);
  const bool isNarrowing = cast && isa<FloatType>(typeOf(cast).getElementType()) &&
                           sbp::elementBytes(typeOf(cast)) < sbp::elementBytes(typeOf(cast.getInput()));
  return isNarrowing ? cast : nn::CastOp();
}

/// Casts to smaller floats, up to the kernels that make what they read.
void raiseNarrowingCasts(Block &block, const DeviceTraits &traits) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    nn::CastOp cast = narrowingCast(&op);
    auto reshape = cast ? cast.getInput().getDefiningOp<nn::ReshapeOp>() : nn::ReshapeOp();
    if (!reshape || !isMadeByKernel(reshape.getInput(), traits))
      continue;
    OpBuilder builder(reshape);
    auto type = typeOf(reshape.getInput()).clone(typeOf(cast).getElementType());
    Value small = builder.create<nn::CastOp>(cast.getLoc(), type, reshape.getInput());
    cast.replaceAllUsesWith(reshaped(builder, reshape.getLoc(), small, typeOf(cast).getShape()));
    cast.erase();
    if (reshape.use_empty())
      reshape.erase();
  }
}

class Lowerer {
public:
  Lowerer(Block &block, const DeviceTraits &traits) : traits(traits) {
    for (auto reshape : block.getOps<nn::ReshapeOp>())
      open.push_back(reshape);
  }

  /// From the last one on: what a reshape leaves behind stands before it.
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
    if (!(maker->hasOneUse() || onlyExtends(maker)) || !isUsedByKernel(reshape, traits))
      return false;
    return !namesDimensions(maker) && isElementwise(maker) && llvm::all_of(maker->getOperands(), [&](Value operand) {
      return isWhole(operand, maker) || isOfBoth(typeOf(operand).getShape(), reshape);
    });
  }

  /// Whether an attribute may be of dimensions, as a permutation is: all but floats, types and flags.
  static bool namesDimensions(Operation *op) {
    return !llvm::all_of(op->getAttrs(), [](NamedAttribute attribute) {
      return isa<FloatAttr, TypeAttr, UnitAttr>(attribute.getValue());
    });
  }

  /// Whether operands are read at the place of the result's element, or at its last coordinates.
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

  /// Whether the dimensions are the last of both shapes.
  static bool isOfBoth(ArrayRef<int64_t> shape, nn::ReshapeOp reshape) {
    auto isLastOf = [&](ArrayRef<int64_t> whole) {
      return shape.size() < whole.size() && whole.take_back(shape.size()) == shape;
    };
    return isLastOf(typeOf(reshape.getInput()).getShape()) && isLastOf(typeOf(reshape).getShape());
  }

  void lower(Operation *maker, nn::ReshapeOp reshape) {
    OpBuilder builder(maker);
    const ArrayRef<int64_t> shape = typeOf(reshape).getShape();
    SmallVector<Value> operands;
    for (Value operand : maker->getOperands()) {
      if (isWhole(operand, maker)) {
        operand = reshaped(builder, reshape.getLoc(), operand, shape);
        open.push_back(operand.getDefiningOp<nn::ReshapeOp>());
      }
      operands.push_back(operand);
    }
    OperationState state(maker->getLoc(), maker->getName(), operands, typeOf(reshape), maker->getAttrs());
    reshape.replaceAllUsesWith(builder.create(state)->getResult(0));
    reshape.erase();
    if (maker->use_empty())
      maker->erase();
  }

  const DeviceTraits &traits;
  SmallVector<nn::ReshapeOp> open;
};

} // namespace

void moveReshapes(Block &block, const DeviceTraits &traits) {
  raiseNarrowingCasts(block, traits);
  Lowerer(block, traits).run();
}

} // namespace splitcast
