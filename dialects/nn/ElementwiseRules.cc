// The rules that all elementwise ops share: broadcasting, factors, linalg.
#include "dialects/nn/Nn.h"

using namespace mlir;
using namespace splitcast;
using namespace splitcast::nn;

namespace {

/// Returns the broadcast shape, or nothing if the operands do not fit.
std::optional<sbp::Shape> broadcastShape(ValueRange operands) {
  sbp::Shape result;
  for (Value operand : operands) {
    sbp::Shape shape = sbp::shapeOf(operand.getType());
    if (shape.size() > result.size())
      result.insert(result.begin(), shape.size() - result.size(), 1);
    for (size_t i = 0; i < shape.size(); ++i) {
      int64_t &extent = result[result.size() - shape.size() + i];
      if (extent != shape[i] && extent != 1 && shape[i] != 1)
        return std::nullopt;
      extent = extent == 1 ? shape[i] : extent;
    }
  }
  return result;
}

} // namespace

RankedTensorType splitcast::nn::elementwiseResultType(ValueRange operands) {
  auto first = cast<RankedTensorType>(operands.front().getType());
  return RankedTensorType::get(broadcastShape(operands).value_or(first.getShape().vec()), first.getElementType());
}

LogicalResult splitcast::nn::inferElementwiseTypes(Operation *op, SmallVectorImpl<RankedTensorType> &types) {
  std::optional<sbp::Shape> shape = broadcastShape(op->getOperands());
  if (!shape)
    return op->emitOpError() << "operands " << op->getOperandTypes()
                             << " do not broadcast; aligned at the right, extents must be equal, or one of them 1";
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  Type element = result.getElementType();
  if (!op->hasTrait<ConvertsElements>()) {
    element = cast<RankedTensorType>(op->getOperand(0).getType()).getElementType();
    for (Value operand : op->getOperands())
      if (cast<RankedTensorType>(operand.getType()).getElementType() != element)
        return op->emitOpError() << "operands have element types " << element << " and "
                                 << cast<RankedTensorType>(operand.getType()).getElementType()
                                 << "; use nn.cast to make them equal";
  }
  types.push_back(RankedTensorType::get(*shape, element));
  return success();
}

sbp::LoopSpec splitcast::nn::elementwiseLoopSpec(Operation *op, std::vector<sbp::LinearSet> linear) {
  sbp::LoopSpec spec;
  sbp::Shape result = sbp::shapeOf(op->getResult(0).getType());
  sbp::TensorFactors loops;
  for (int64_t extent : result)
    loops.push_back({spec.addFactor(extent)});
  for (Value operand : op->getOperands()) {
    sbp::Shape shape = sbp::shapeOf(operand.getType());
    sbp::TensorFactors dims;
    for (size_t i = 0; i < shape.size(); ++i) {
      size_t loop = result.size() - shape.size() + i;
      dims.push_back(shape[i] == result[loop] ? loops[loop] : std::vector<int>{});
    }
    spec.operands.push_back(dims);
  }
  spec.results = {loops};
  spec.anyShape = true;
  spec.linear = std::move(linear);
  return spec;
}

Value splitcast::nn::lowerElementwise(Operation *op, OpBuilder &builder, ValueRange operands, ScalarBuilder scalar) {
  RankedTensorType type = undecided(op->getResult(0).getType());
  int64_t rank = type.getRank();
  SmallVector<AffineMap> maps;
  for (Value operand : operands) {
    sbp::Shape shape = sbp::shapeOf(operand.getType());
    SmallVector<AffineExpr> dims;
    for (size_t i = 0; i < shape.size(); ++i) {
      int64_t loop = rank - shape.size() + i;
      bool isRepeated = shape[i] == 1 && type.getDimSize(loop) != 1;
      dims.push_back(isRepeated ? builder.getAffineConstantExpr(0) : builder.getAffineDimExpr(loop));
    }
    maps.push_back(AffineMap::get(rank, 0, dims, builder.getContext()));
  }
  maps.push_back(builder.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> parallel(rank, utils::IteratorType::parallel);
  return buildGeneric(builder, op->getLoc(), type, operands, maps, parallel, std::nullopt,
                      [&](OpBuilder &b, Location loc, ValueRange args) { return scalar(b, loc, args.drop_back()); });
}
