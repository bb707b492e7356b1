#include "dialects/nn/Rows.h"

#include <limits>

using namespace mlir;

namespace splitcast::nn {

RowBuilder::RowBuilder(OpBuilder &builder, Location loc, Value like)
    : builder(builder), loc(loc), type(undecided(like.getType())),
      identity(builder.getMultiDimIdentityMap(type.getRank())), row(identity.dropResult(type.getRank() - 1)),
      column(AffineMap::get(type.getRank(), 0, builder.getAffineDimExpr(type.getRank() - 1))) {}

RankedTensorType RowBuilder::rowType() const {
  return RankedTensorType::get(type.getShape().drop_back(), type.getElementType());
}

SmallVector<Value> RowBuilder::valuesOf(const Inputs &inputs) {
  SmallVector<Value> values(inputs.elements);
  llvm::append_range(values, inputs.perRow);
  llvm::append_range(values, inputs.perColumn);
  return values;
}

SmallVector<AffineMap> RowBuilder::mapsFor(const Inputs &inputs, AffineMap result) {
  SmallVector<AffineMap> maps(inputs.elements.size(), identity);
  maps.append(inputs.perRow.size(), row);
  maps.append(inputs.perColumn.size(), column);
  maps.push_back(result);
  return maps;
}

Value RowBuilder::reduce(const Inputs &inputs, double init, Body body) {
  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
  iterators.back() = utils::IteratorType::reduction;
  return buildGeneric(builder, loc, rowType(), valuesOf(inputs), mapsFor(inputs, row), iterators, init, body);
}

Value RowBuilder::map(const Inputs &inputs, Body body) {
  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
  return buildGeneric(builder, loc, type, valuesOf(inputs), mapsFor(inputs, identity), iterators, std::nullopt, body);
}

Value RowBuilder::mapRows(ValueRange perRow, Body body) {
  AffineMap rows = builder.getMultiDimIdentityMap(type.getRank() - 1);
  SmallVector<AffineMap> maps(perRow.size() + 1, rows);
  SmallVector<utils::IteratorType> iterators(type.getRank() - 1, utils::IteratorType::parallel);
  return buildGeneric(builder, loc, rowType(), perRow, maps, iterators, std::nullopt, body);
}

Value RowBuilder::rowMax(Value elements) {
  return reduce(
      {{elements}, {}, {}}, -std::numeric_limits<double>::infinity(),
      [](OpBuilder &b, Location l, ValueRange x) -> Value { return b.create<arith::MaximumFOp>(l, x[1], x[0]); });
}

Value RowBuilder::rowSum(Value elements) {
  return reduce({{elements}, {}, {}}, 0.0,
                [](OpBuilder &b, Location l, ValueRange x) -> Value { return b.create<arith::AddFOp>(l, x[1], x[0]); });
}

Value RowBuilder::rowSumExp(Value elements, Value max) {
  return reduce({{elements}, {max}, {}}, 0.0, [](OpBuilder &b, Location l, ValueRange x) -> Value {
    Value shifted = b.create<arith::SubFOp>(l, x[0], x[1]);
    return b.create<arith::AddFOp>(l, x[2], b.create<math::ExpOp>(l, shifted));
  });
}

sbp::TensorFactors rowFactors(sbp::LoopSpec &spec, ArrayRef<int64_t> shape) {
  sbp::TensorFactors dims;
  for (int64_t extent : shape.drop_back())
    dims.push_back({spec.addFactor(extent)});
  dims.push_back({spec.addFactor(shape.back(), sbp::FactorKind::Whole)});
  return dims;
}

} // namespace splitcast::nn
