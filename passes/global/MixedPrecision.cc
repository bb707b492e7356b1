// Computes in a smaller type than that of the variables.
//
// A variable whose policy says so is read through a cast. The variable remains
// what the optimizer updates (the master weights), and the graph sees it
// rounded. One walk over each function then settles the types of computed
// values, in the way that users of autocasting know:
//
//   a product (nn.matmul, nn.attention)           has the small type if an operand
//                                                 has it; the other operands are
//                                                 rounded to it
//   an op that loses too much in few digits       keeps the type that it had; its
//     (norms, sums, logarithms: WideOp)           operands are extended
//   rows of a table (nn.embedding: WideResultOp)  are extended, so that what is added
//                                                 to them, as the residual stream of
//                                                 a transformer, is added in the type
//                                                 that it had
//   any other op                                  has the widest type of its operands,
//                                                 scalars and constants not counted
//
// Values that a function returns, assigns or minimizes keep the type that they
// had. Gradients follow: the gradient of a cast is a cast, so the gradient of a
// variable is extended before ranks add it up.
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

/// Settles the types in one function.
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
  /// Settles the types of an op whose operands are settled.
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
    if (converts && op->getNumOperands() == 1) // a cast takes any type, and its result type is written
      return;
    useReads(op);
    if (converts) // if one operand lost digits, the others do not help
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

  /// Extends the value for all its users.
  void extend(Value value, Type type) {
    builder.setInsertionPointAfter(value.getDefiningOp());
    Value wide = castTo(value, type);
    value.replaceAllUsesExcept(wide, wide.getDefiningOp());
  }

  /// Casts variables that the op is the first to use.
  void useReads(Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (Type type = readAs.lookup(operand.get())) {
        Value read = operand.get();
        operand.set(castTo(read, type));
        original[operand.get()] = getElementTypeOrSelf(read.getType());
      }
  }

  /// Whether the op asks only if the operand is 0 or not.
  static bool isCondition(OpOperand &operand) {
    return isa<nn::SelectOp>(operand.getOwner()) && operand.getOperandNumber() == 0;
  }

  /// Returns 1 where the condition is not 0, else 0: a condition that is not 0
  /// could become 0 in a smaller type.
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

  /// Returns the type in which the op computes: one for all its floats.
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

  /// Casts a value. There is one cast for each value and type, right before its
  /// first use.
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
  const llvm::StringMap<Type> &computeTypes; ///< by variable: the type in which it is read
  OpBuilder builder;
  DenseMap<Value, Type> readAs;   ///< by read: the type in which it is used
  DenseMap<Value, Type> original; ///< by value of a smaller type: the type that it had
  DenseMap<std::pair<Value, Type>, Value> casts;
};

/// Returns the variables that ops other than nn.minimize assign. They are not
/// cast, since what is assigned would lose digits.
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

  /// Verifies that losses that depend on an f16 read are scaled: most gradients
  /// are too small for f16 otherwise.
  LogicalResult verifyScaled(const llvm::StringMap<Type> &types) {
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (auto minimize : function.getOps<nn::MinimizeOp>())
        if (sbp::ReadOp asF16 = minimize.getLossScaleAttr() ? sbp::ReadOp() : readAsF16(minimize, types))
          return minimize.emitOpError() << "has no loss_scale, but depends on @" << asF16.getVariable()
                                        << ", which is read as f16, in which small gradients are 0; give it "
                                        << "{loss_scale = " << nn::LossScaleAttr::get(&getContext(), LossScale())
                                        << "} (a LossScale among the options of minimize in C++ and Python), or "
                                        << "compute in bf16";
    return success();
  }

  /// Returns a read that the loss depends on and that is cast to f16, or null.
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

  /// Decides in which type each variable is read, and writes into its policy
  /// whether it is cast.
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
