#include "dialects/nn/Parts.h"

using namespace mlir;

namespace splitcast::nn {

LogicalResult verifyPart(Operation *op, StringRef what, int64_t extent, std::optional<int64_t> first,
                         std::optional<int64_t> places) {
  if (!first && !places)
    return success();
  if (first && places && *first >= 0 && *places >= extent && *first <= *places - extent)
    return success();
  auto text = [](std::optional<int64_t> number) { return number ? std::to_string(*number) : "none"; };
  return op->emitOpError() << "has " << extent << " " << what << ", first = " << text(first)
                           << " and places = " << text(places)
                           << "; give both, so that these lie within the places, or neither";
}

Value elementOfPart(OpBuilder &builder, Location loc, Value tensor, SmallVector<Value> at, int64_t dim, int64_t first) {
  auto type = cast<RankedTensorType>(tensor.getType());
  Value zero = scalarConstant(builder, loc, type.getElementType(), 0.0);
  if (type.getDimSize(dim) == 0)
    return zero;
  auto number = [&](int64_t value) -> Value { return builder.create<arith::ConstantIndexOp>(loc, value); };
  Value here = builder.create<arith::SubIOp>(loc, at[dim], number(first));
  Value isHere = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, here, number(type.getDimSize(dim)));
  at[dim] = builder.create<arith::SelectOp>(loc, isHere, here, number(0));
  return builder.create<arith::SelectOp>(loc, isHere, builder.create<tensor::ExtractOp>(loc, tensor, at), zero);
}

} // namespace splitcast::nn
