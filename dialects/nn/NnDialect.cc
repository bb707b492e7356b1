#include "dialects/nn/Nn.h"
#include "dialects/sbp/ValueNames.h"
#include "dialects/sbp/algebra/Sizes.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"

using namespace mlir;
using namespace splitcast;
using namespace splitcast::nn;

#include "dialects/nn/NnDialect.cpp.inc"
#include "dialects/nn/NnOpInterfaces.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/nn/NnOps.cpp.inc"

namespace {

struct InlineAnywhere : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const override { return true; }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const override { return true; }
};

} // namespace

void *NnDialect::getRegisteredInterfaceForOp(TypeID interface, OperationName) {
  return sbp::namesFromLocations(interface);
}

void NnDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialects/nn/NnOps.cpp.inc"
      >();
  addInterfaces<InlineAnywhere>();
}

/// Verifies that the bytes of each tensor can be counted. This comes before the
/// rules of the op itself, which count elements.
static LogicalResult verifySizes(Operation *op) {
  auto isTooLarge = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && !sbp::checkedBytes(sbp::shapeOf(tensor), sbp::elementBytes(tensor));
  };
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  auto tooLarge = llvm::find_if(types, isTooLarge);
  if (tooLarge == types.end())
    return success();
  return op->emitOpError() << "has a tensor of type " << undecided(*tooLarge) << ", which is more than "
                           << sbp::kMostBytesText << "; make it smaller";
}

LogicalResult splitcast::nn::verifyCompute(Operation *op) {
  if (failed(verifySizes(op)))
    return failure();
  SmallVector<RankedTensorType> types;
  if (failed(cast<ComputeOpInterface>(op).inferResultTypes(types)))
    return failure();
  for (auto [index, type] : llvm::enumerate(types)) {
    RankedTensorType found = undecided(op->getResult(index).getType());
    // This holds for flat pieces, too: their operands and results have one
    // dimension each.
    if (found != type)
      return op->emitOpError() << "result " << index << " has type " << found << ", but its operands give " << type
                               << "; change the type";
  }
  return success();
}

RankedTensorType splitcast::nn::undecided(Type type) { return sbp::withSignature(type, {}); }

Value splitcast::nn::splat(OpBuilder &builder, Location loc, Type type, double value) {
  return builder.create<ConstantOp>(loc, undecided(type), builder.getF64FloatAttr(value));
}

Value splitcast::nn::partBegin(OpBuilder &builder, Location loc, Value number, int64_t each, Value before) {
  Value begin = builder.create<MulOp>(loc, number, splat(builder, loc, number.getType(), static_cast<double>(each)));
  return before ? builder.create<AddOp>(loc, before, begin).getResult() : begin;
}

Value splitcast::nn::sumToShape(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t missing = type.getRank() - shape.size();
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (dim < missing || (shape[dim - missing] == 1 && type.getDimSize(dim) != 1))
      dims.push_back(dim);
  if (!dims.empty())
    value = builder.create<ReduceSumOp>(loc, value, dims);
  if (sbp::shapeOf(value.getType()) != shape.vec())
    value = builder.create<ReshapeOp>(loc, RankedTensorType::get(shape, type.getElementType()), value);
  return value;
}

Value splitcast::nn::scalarConstant(OpBuilder &builder, Location loc, Type type, double value) {
  if (isa<FloatType>(type))
    return builder.create<arith::ConstantOp>(loc, builder.getFloatAttr(type, value));
  return builder.create<arith::ConstantOp>(loc, builder.getIntegerAttr(type, static_cast<int64_t>(value)));
}

Value splitcast::nn::buildGeneric(OpBuilder &builder, Location loc, RankedTensorType type, ValueRange inputs,
                                  ArrayRef<AffineMap> maps, ArrayRef<utils::IteratorType> iterators,
                                  std::optional<double> init,
                                  function_ref<Value(OpBuilder &, Location, ValueRange)> body) {
  Value output = builder.create<tensor::EmptyOp>(loc, type.getShape(), type.getElementType());
  if (init)
    output = builder.create<linalg::FillOp>(loc, scalarConstant(builder, loc, type.getElementType(), *init), output)
                 .getResult(0);
  auto generic = builder.create<linalg::GenericOp>(
      loc, type, inputs, output, maps, iterators,
      [&](OpBuilder &b, Location l, ValueRange args) { b.create<linalg::YieldOp>(l, body(b, l, args)); });
  return generic.getResult(0);
}

Value splitcast::nn::compareWithNumber(OpBuilder &builder, Location loc, arith::CmpIPredicate predicate, Value integer,
                                       int64_t number) {
  if (!integer.getType().isInteger(64))
    integer = builder.create<arith::ExtSIOp>(loc, builder.getI64Type(), integer);
  Value other = builder.create<arith::ConstantOp>(loc, builder.getI64IntegerAttr(number));
  return builder.create<arith::CmpIOp>(loc, predicate, integer, other);
}
