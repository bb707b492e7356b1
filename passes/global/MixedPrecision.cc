// What is computed in a smaller type than its variables have.
//
// A variable whose policy says so is read through a cast: it stays what the optimizer updates (its master weights), and
// the graph sees it rounded. One walk over each function then settles the types of what is computed, as users of
// autocasting know them:
//
//   a product (nn.matmul, nn.attention)           is of the small type if an operand is; the others are rounded to it
//   what loses too much in few digits             is of the type that it had; its operands are extended
//     (norms, sums, logarithms: WideOp)
//   rows of a table (nn.embedding: WideResultOp)  are extended, so that what is added to them, a transformer's residual
//                                                 stream, is added in the type that it had
//   all else                                      is of the widest of its operands, scalars and constants not counted
//
// What leaves the function, is assigned or is minimized has the type that it had. Gradients follow: that of a cast is a
// cast, so a variable's gradient is extended before ranks add it up.
//
//   before   %0 = sbp.read @w : f32                     %1 = nn.matmul %x, %0 : f32
//            %2 = nn.softmax_cross_entropy %1, %y : f32
//   after    %0 = sbp.read @w : f32                     %w = nn.cast %0 : bf16         %a = nn.cast %x : bf16
//            %1 = nn.matmul %a, %w : bf16               %b = nn.cast %1 : f32
//            %2 = nn.softmax_cross_entropy %b, %y : f32
#include "passes/global/Passes.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_MIXEDPRECISIONPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

bool isFloat(Value value) { return isa<FloatType>(getElementTypeOrSelf(value.getType())); }

class FunctionPrecision {
public:
  FunctionPrecision(func::FuncOp function, const llvm::StringMap<Type> &computeTypes)
      : block(function.getBody().front()), computeTypes(computeTypes), builder(function) {}

  void run() {
    for (auto read : block.getOps<sbp::ReadOp>())
      if (Type type = computeTypes.lookup(read.getVariable()))
        readAs[read.getResult()] = type;
    if (readAs.empty())
      return;
    for (Operation &op : llvm::make_early_inc_range(block))
      settle(&op);
  }

private:
  /// Of an op whose operands have their types.
  void settle(Operation *op) {
    builder.setInsertionPoint(op);
    if (isa<sbp::BoxingOp, sbp::FenceOp, nn::ComputeOpInterface>(op))
      settleComputed(op);
    else
      restore(op);
  }

  void restore(Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (auto was = original.find(operand.get()); was != original.end())
        operand.set(castTo(operand.get(), was->second));
  }

  void settleComputed(Operation *op) {
    const bool converts = op->hasTrait<nn::ConvertsElements>();
    if (converts && op->getNumOperands() == 1) // which takes any type, and says itself what it makes
      return;
    useReads(op);
    if (converts) // of several operands: digits that one has lost the others lack, too
      return restore(op);
    if (llvm::none_of(op->getOperands(), [&](Value v) { return original.contains(v); }))
      return;
    const Type type = typeOf(op);
    for (OpOperand &operand : op->getOpOperands())
      if (isFloat(operand.get()))
        operand.set(isCondition(operand) ? conditionAs(operand.get(), type) : castTo(operand.get(), type));
    for (Value result : op->getResults())
      if (isFloat(result) && getElementTypeOrSelf(result.getType()) != type) {
        const Type before = getElementTypeOrSelf(result.getType());
        original[result] = before;
        result.setType(cast<RankedTensorType>(result.getType()).clone(type));
        if (op->hasTrait<nn::WideResultOp>())
          extend(result, before);
      }
  }

  /// All that uses the value uses it extended.
  void extend(Value value, Type type) {
    builder.setInsertionPointAfter(value.getDefiningOp());
    Value wide = castTo(value, type);
    value.replaceAllUsesExcept(wide, wide.getDefiningOp());
  }

  /// Each variable is cast where it is used first.
  void useReads(Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (Type type = readAs.lookup(operand.get())) {
        Value read = operand.get();
        operand.set(castTo(read, type));
        original[operand.get()] = getElementTypeOrSelf(read.getType());
      }
  }

  /// Whether only that it is 0 or not counts.
  static bool isCondition(OpOperand &operand) {
    return isa<nn::SelectOp>(operand.getOwner()) && operand.getOperandNumber() == 0;
  }

  /// 1 where the condition is not 0, else 0: what is not 0 may be so in a smaller type.
  Value conditionAs(Value condition, Type type) {
    if (getElementTypeOrSelf(condition.getType()) == type)
      return condition;
    const auto tensor = cast<RankedTensorType>(condition.getType());
    auto number = [&](double value) {
      return nn::splat(builder, condition.getLoc(), RankedTensorType::get({}, tensor.getElementType()), value);
    };
    Value isChosen = builder.create<nn::SelectOp>(condition.getLoc(), condition, number(1.0), number(0.0));
    return builder.create<nn::CastOp>(condition.getLoc(), isChosen, type);
  }

  /// What the op computes in: one type for all of its floats.
  Type typeOf(Operation *op) const {
    Type before, widest, narrowest;
    for (OpOperand &use : op->getOpOperands()) {
      Value operand = use.get();
      if (!isFloat(operand) || isCondition(use))
        continue;
      const Type now = getElementTypeOrSelf(operand.getType());
      auto was = original.find(operand);
      before = was == original.end() ? now : was->second;
      if (!narrowest || now.getIntOrFloatBitWidth() < narrowest.getIntOrFloatBitWidth())
        narrowest = now;
      const bool counts = cast<RankedTensorType>(operand.getType()).getRank() > 0 &&
                          !isa_and_nonnull<nn::ConstantOp>(operand.getDefiningOp());
      if (counts && (!widest || now.getIntOrFloatBitWidth() > widest.getIntOrFloatBitWidth()))
        widest = now;
    }
    if (op->hasTrait<nn::ProductOp>())
      return narrowest;
    if (op->hasTrait<nn::WideOp>() || !widest)
      return before;
    return widest;
  }

  /// Made once for each value and type, right before its first use.
  Value castTo(Value value, Type type) {
    if (getElementTypeOrSelf(value.getType()) == type)
      return value;
    Value &made = casts[{value, type}];
    if (!made) {
      auto tensor = cast<RankedTensorType>(value.getType()).clone(type);
      made = builder.create<nn::CastOp>(value.getLoc(), tensor, value);
    }
    return made;
  }

  Block &block;
  const llvm::StringMap<Type> &computeTypes; ///< of variables that are read in another type
  OpBuilder builder;
  DenseMap<Value, Type> readAs;   ///< of reads
  DenseMap<Value, Type> original; ///< what a value of a smaller type had, at whose place it is
  DenseMap<std::pair<Value, Type>, Value> casts;
};

/// Variables that are assigned by other than an optimizer, which would lose digits of what they hold.
llvm::StringSet<> assignedByHand(ModuleOp module) {
  llvm::StringSet<> assigned;
  for (auto function : module.getOps<func::FuncOp>())
    for (auto assign : function.getOps<sbp::AssignOp>())
      assigned.insert(assign.getVariable());
  return assigned;
}

struct MixedPrecision : splitcast::impl::MixedPrecisionPassBase<MixedPrecision> {
  using MixedPrecisionPassBase::MixedPrecisionPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    sbp::Policy standard;
    if (std::optional<std::string> error = sbp::parsePolicy("compute-type=" + computeType, &standard)) {
      module.emitError() << "'nn-mixed-precision': " << *error;
      return signalPassFailure();
    }
    llvm::StringMap<Type> types;
    if (failed(decide(standard, types)))
      return signalPassFailure();
    if (types.empty())
      return;
    if (failed(verifyScaled(types)))
      return signalPassFailure();
    for (auto function : module.getOps<func::FuncOp>())
      if (function.getBody().hasOneBlock())
        FunctionPrecision(function, types).run();
  }

private:
  Type smallType(sbp::ComputeType type) {
    return type == sbp::ComputeType::F16 ? Type(Float16Type::get(&getContext())) : BFloat16Type::get(&getContext());
  }

  /// Gradients of most losses are less than f16 holds, unless they are scaled.
  LogicalResult verifyScaled(const llvm::StringMap<Type> &types) {
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (auto minimize : function.getOps<nn::MinimizeOp>())
        if (sbp::ReadOp asF16 = minimize.getLossScaleAttr() ? sbp::ReadOp() : readAsF16(minimize, types))
          return minimize.emitOpError() << "has no loss_scale, but depends on @" << asF16.getVariable()
                                        << ", which is read as f16, in which small gradients are 0; give it "
                                        << "{loss_scale = " << nn::LossScaleAttr::get(&getContext(), LossScale())
                                        << "}, or compute in bf16";
    return success();
  }

  /// A read that the loss depends on and that f16 stands for; null: there is none.
  static sbp::ReadOp readAsF16(nn::MinimizeOp minimize, const llvm::StringMap<Type> &types) {
    llvm::SetVector<Operation *> makers;
    const auto add = [&](Value value) {
      if (Operation *op = value.getDefiningOp())
        makers.insert(op);
    };
    add(minimize.getLoss());
    for (size_t i = 0; i < makers.size(); ++i) {
      auto read = dyn_cast<sbp::ReadOp>(makers[i]);
      if (Type type = read ? types.lookup(read.getVariable()) : Type(); type && type.isF16())
        return read;
      llvm::for_each(makers[i]->getOperands(), add);
    }
    return {};
  }

  /// What variables are read as, which each then says itself: it has another type, or its own whatever it is told.
  LogicalResult decide(const sbp::Policy &standard, llvm::StringMap<Type> &types) {
    sbp::GroupPolicies groups;
    for (auto group : getOperation().getOps<sbp::GroupOp>())
      if (failed(groups.add(group)))
        return failure();
    const llvm::StringSet<> assigned = assignedByHand(getOperation());
    for (auto variable : getOperation().getOps<sbp::VariableOp>()) {
      if (variable.getStateOf())
        continue;
      const sbp::ComputeType wanted = groups.policyOf(variable).over(standard).computeType();
      if (wanted == sbp::ComputeType::Own)
        continue;
      const Type type = smallType(wanted), stored = variable.getTensorType().getElementType();
      const bool isLowered = isa<FloatType>(stored) && stored.getIntOrFloatBitWidth() > type.getIntOrFloatBitWidth() &&
                             variable.getTensorType().getRank() > 0 && !variable.getCarried() &&
                             !assigned.contains(variable.getSymName());
      if (isLowered)
        types[variable.getSymName()] = type;
      sbp::Policy policy = variable.getPolicyAttr() ? variable.getPolicyAttr().getPolicy() : sbp::Policy();
      policy.setComputeType(isLowered ? wanted : sbp::ComputeType::Own);
      variable.setPolicyAttr(sbp::PolicyAttr::get(&getContext(), policy));
    }
    return success();
  }
};

} // namespace
