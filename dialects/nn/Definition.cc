#include "dialects/nn/Definition.h"

using namespace mlir;

namespace splitcast::nn {

namespace {

bool isSmall(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isBF16() || element.isF16();
}

RankedTensorType withElements(Type type, Type element) {
  return RankedTensorType::get(cast<RankedTensorType>(type).getShape(), element);
}

/// Returns the type with elements of f32 if its elements are small; else the
/// type itself.
Type widened(OpBuilder &builder, Type type) {
  return isSmall(type) ? withElements(type, builder.getF32Type()) : undecided(type);
}

/// Casts `value` to `type`: elements are extended or rounded.
Value convert(OpBuilder &builder, Location loc, Value value, Type type) {
  if (value.getType() == type)
    return value;
  auto tensor = cast<RankedTensorType>(type);
  const AffineMap identity = builder.getMultiDimIdentityMap(tensor.getRank());
  const SmallVector<utils::IteratorType> loops(tensor.getRank(), utils::IteratorType::parallel);
  return buildGeneric(builder, loc, tensor, value, {identity, identity}, loops, std::nullopt,
                      [&](OpBuilder &b, Location l, ValueRange x) -> Value {
                        Type element = tensor.getElementType();
                        return isSmall(element) ? b.create<arith::TruncFOp>(l, element, x[0]).getResult()
                                                : b.create<arith::ExtFOp>(l, element, x[0]).getResult();
                      });
}

} // namespace

SmallVector<Value> define(ComputeOpInterface op, OpBuilder &builder, ValueRange operands) {
  if (llvm::none_of(operands, [](Value operand) { return isSmall(operand.getType()); }))
    return op.lowerToLinalg(builder, operands);
  SmallVector<Value> wide;
  for (Value operand : operands)
    wide.push_back(convert(builder, op.getLoc(), operand, widened(builder, operand.getType())));
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    types.push_back(widened(builder, type));
  OperationState state(op.getLoc(), op->getName(), wide, types, op->getAttrs());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  Operation *clone = builder.create(state);
  SmallVector<Value> results = cast<ComputeOpInterface>(clone).lowerToLinalg(builder, wide);
  clone->erase();
  for (auto [result, original] : llvm::zip(results, op->getResults()))
    result = convert(builder, op.getLoc(), result, undecided(original.getType()));
  return results;
}

} // namespace splitcast::nn
