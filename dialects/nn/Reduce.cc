// Sums over dimensions.
#include "dialects/nn/Nn.h"

using namespace mlir;
using namespace splitcast;
using namespace splitcast::nn;

static SmallVector<int64_t> shapeWithout(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> kept;
  for (auto [dim, extent] : llvm::enumerate(shape))
    if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
      kept.push_back(extent);
  return kept;
}

void ReduceSumOp::build(OpBuilder &builder, OperationState &state, Value input, ArrayRef<int64_t> dims) {
  auto type = cast<RankedTensorType>(input.getType());
  build(builder, state, RankedTensorType::get(shapeWithout(type.getShape(), dims), type.getElementType()), input, dims);
}

sbp::LoopSpec ReduceSumOp::getLoopSpec() {
  sbp::LoopSpec spec;
  sbp::TensorFactors operand, result;
  for (auto [dim, extent] : llvm::enumerate(getInput().getType().getShape())) {
    bool isSummed = llvm::is_contained(getDims(), static_cast<int64_t>(dim));
    int factor = spec.addFactor(extent, isSummed ? sbp::FactorKind::Sum : sbp::FactorKind::Parallel);
    operand.push_back({factor});
    if (!isSummed)
      result.push_back({factor});
  }
  spec.operands = {operand};
  spec.results = {result};
  spec.linear = {{{0}, {}}};
  return spec;
}

LogicalResult ReduceSumOp::inferResultTypes(SmallVectorImpl<RankedTensorType> &types) {
  auto type = cast<RankedTensorType>(getInput().getType());
  int64_t last = -1;
  for (int64_t dim : getDims()) {
    if (dim <= last || dim >= type.getRank())
      return emitOpError() << "sums over dimensions [" << getDims() << "] of " << undecided(type)
                           << "; they must be its own, ascending";
    last = dim;
  }
  types.push_back(RankedTensorType::get(shapeWithout(type.getShape(), getDims()), type.getElementType()));
  return success();
}

SmallVector<Value> ReduceSumOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  int64_t rank = cast<RankedTensorType>(operands[0].getType()).getRank();
  SmallVector<AffineExpr> kept;
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (llvm::is_contained(getDims(), dim))
      iterators[dim] = utils::IteratorType::reduction;
    else
      kept.push_back(builder.getAffineDimExpr(dim));
  }
  AffineMap result = AffineMap::get(rank, 0, kept, builder.getContext());
  return {buildGeneric(builder, getLoc(), undecided(getResult().getType()), operands,
                       {builder.getMultiDimIdentityMap(rank), result}, iterators, 0.0,
                       [](OpBuilder &b, Location loc, ValueRange args) -> Value {
                         return b.create<arith::AddFOp>(loc, args[1], args[0]);
                       })};
}

int64_t ReduceSumOp::getFlops() { return sbp::numElements(sbp::shapeOf(getInput().getType())); }

SmallVector<Value> ReduceSumOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool>) {
  return {b.create<BroadcastOp>(getLoc(), undecided(getInput().getType()), g[0], getDims())};
}
