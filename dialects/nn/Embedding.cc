// Embedding: rows of a table that indices choose, and the gradient of the
// table.
#include "dialects/exec/EmbeddingWorkspace.h"
#include "dialects/nn/Parts.h"

using namespace mlir;
using namespace splitcast;
using namespace splitcast::nn;

static SmallVector<int64_t> rowsShape(Value ids, int64_t width) {
  SmallVector<int64_t> shape(cast<RankedTensorType>(ids.getType()).getShape());
  shape.push_back(width);
  return shape;
}

void EmbeddingOp::build(OpBuilder &builder, OperationState &state, Value table, Value ids) {
  auto type = cast<RankedTensorType>(table.getType());
  build(builder, state, RankedTensorType::get(rowsShape(ids, type.getDimSize(1)), type.getElementType()), table, ids,
        IntegerAttr(), IntegerAttr());
}

/// Returns the spec of an embedding or of its gradient, and the factors of
/// indices, table and rows. An embedding sums over the rows of the table, its
/// gradient over the indices.
static sbp::LoopSpec embeddingSpec(ArrayRef<int64_t> idsShape, ArrayRef<int64_t> tableShape, sbp::FactorKind indexKind,
                                   sbp::FactorKind rowKind, sbp::TensorFactors &ids, sbp::TensorFactors &table,
                                   sbp::TensorFactors &rows) {
  sbp::LoopSpec spec;
  for (int64_t extent : idsShape)
    ids.push_back({spec.addFactor(extent, indexKind)});
  rows = ids;
  int row = spec.addFactor(tableShape[0], rowKind), column = spec.addFactor(tableShape[1]);
  table = {{row}, {column}};
  rows.push_back({column});
  return spec;
}

sbp::LoopSpec EmbeddingOp::getLoopSpec() {
  sbp::TensorFactors ids, table, rows;
  sbp::LoopSpec spec = embeddingSpec(getIds().getType().getShape(), getTable().getType().getShape(),
                                     sbp::FactorKind::Parallel, sbp::FactorKind::Sum, ids, table, rows);
  spec.operands = {table, ids};
  spec.results = {rows};
  spec.linear = {{{0}, {}}};
  return spec;
}

Value EmbeddingOp::getPlaced() { return getTable(); }
bool EmbeddingOp::isPlacedAlong(int64_t dim) { return dim == 0; }
bool EmbeddingOp::canBePart() { return false; }

void EmbeddingOp::setPlace(ArrayRef<int64_t> offsets, ArrayRef<int64_t> shape) {
  setPiece(*this, 0, getTable().getType().getDimSize(0), offsets, shape);
}

void EmbeddingOp::setPart(OpBuilder &, Value, int64_t) { llvm_unreachable("canBePart"); }

LogicalResult EmbeddingOp::inferResultTypes(SmallVectorImpl<RankedTensorType> &types) {
  auto table = cast<RankedTensorType>(getTable().getType());
  if (table.getRank() != 2)
    return emitOpError() << "looks up rows of " << undecided(table) << "; a table must have two dimensions";
  if (failed(verifyPart(*this, "rows of a table", table.getDimSize(0), getFirst(), getPlaces())))
    return failure();
  types.push_back(RankedTensorType::get(rowsShape(getIds(), table.getDimSize(1)), table.getElementType()));
  return success();
}

SmallVector<Value> EmbeddingOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  RankedTensorType type = undecided(getResult().getType());
  int64_t rank = type.getRank();
  Value table = operands[0];
  AffineMap identity = builder.getMultiDimIdentityMap(rank);
  SmallVector<utils::IteratorType> parallel(rank, utils::IteratorType::parallel);
  return {buildGeneric(builder, getLoc(), type, operands[1], {identity.dropResult(rank - 1), identity}, parallel,
                       std::nullopt, [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
                         Value row = b.create<arith::IndexCastOp>(loc, b.getIndexType(), args[0]);
                         Value column = b.create<linalg::IndexOp>(loc, rank - 1);
                         if (getFirst())
                           return elementOfPart(b, loc, table, {row, column}, 0, *getFirst());
                         return b.create<tensor::ExtractOp>(loc, table, ValueRange{row, column});
                       })};
}

SmallVector<IndexOperand> EmbeddingOp::getIndexOperands() {
  return {{1, static_cast<int64_t>(getPlaces().value_or(getTable().getType().getDimSize(0))), std::nullopt}};
}

int64_t EmbeddingOp::getFlops() { return 0; }

SmallVector<Value> EmbeddingOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool>) {
  return {b.create<EmbeddingGradOp>(getLoc(), undecided(getTable().getType()), g[0], getIds()), Value()};
}

sbp::LoopSpec EmbeddingGradOp::getLoopSpec() {
  sbp::TensorFactors ids, table, rows;
  sbp::LoopSpec spec = embeddingSpec(getIds().getType().getShape(), getResult().getType().getShape(),
                                     sbp::FactorKind::Sum, sbp::FactorKind::Parallel, ids, table, rows);
  spec.operands = {rows, ids};
  spec.results = {table};
  spec.linear = {{{0}, {}}};
  return spec;
}

LogicalResult EmbeddingGradOp::inferResultTypes(SmallVectorImpl<RankedTensorType> &types) {
  RankedTensorType type = undecided(getResult().getType());
  auto gradient = cast<RankedTensorType>(getGradient().getType());
  if (type.getRank() != 2 || gradient.getShape() != ArrayRef<int64_t>(rowsShape(getIds(), type.getDimSize(1))))
    return emitOpError() << "adds " << undecided(gradient) << " at " << undecided(getIds().getType()) << " into "
                         << type << "; the gradient must have the indices' dimensions and then the table's second";
  if (failed(verifyPart(*this, "rows of a table", type.getDimSize(0), getFirst(), getPlaces())))
    return failure();
  types.push_back(RankedTensorType::get(type.getShape(), gradient.getElementType()));
  return success();
}

SmallVector<Value> EmbeddingGradOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  // The loops are (row, column, indices...). Gradients of other rows count as
  // 0.
  RankedTensorType type = undecided(getResult().getType());
  int64_t indices = getIds().getType().getRank(), loops = indices + 2;
  SmallVector<AffineExpr> ids, rows;
  SmallVector<utils::IteratorType> iterators(2, utils::IteratorType::parallel);
  for (int64_t i = 0; i < indices; ++i) {
    ids.push_back(builder.getAffineDimExpr(2 + i));
    iterators.push_back(utils::IteratorType::reduction);
  }
  rows = ids;
  rows.push_back(builder.getAffineDimExpr(1));
  SmallVector<AffineExpr> table = {builder.getAffineDimExpr(0), builder.getAffineDimExpr(1)};
  auto map = [&](ArrayRef<AffineExpr> dims) { return AffineMap::get(loops, 0, dims, builder.getContext()); };
  return {buildGeneric(builder, getLoc(), type, operands, {map(rows), map(ids), map(table)}, iterators, 0.0,
                       [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
                         Value place = b.create<linalg::IndexOp>(loc, 0);
                         if (getFirst())
                           place =
                               b.create<arith::AddIOp>(loc, place, b.create<arith::ConstantIndexOp>(loc, *getFirst()));
                         Value row = b.create<arith::IndexCastOp>(loc, args[1].getType(), place);
                         Value isRow = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, row, args[1]);
                         Value zero = scalarConstant(b, loc, args[0].getType(), 0.0);
                         Value addend = b.create<arith::SelectOp>(loc, isRow, args[0], zero);
                         return b.create<arith::AddFOp>(loc, args[2], addend);
                       })};
}

bool EmbeddingGradOp::isPlacedAlong(int64_t dim) { return dim == 0; }
bool EmbeddingGradOp::canBePart() { return false; }

void EmbeddingGradOp::setPlace(ArrayRef<int64_t> offsets, ArrayRef<int64_t> shape) {
  setPiece(*this, 0, getResult().getType().getDimSize(0), offsets, shape);
}

void EmbeddingGradOp::setPart(OpBuilder &, Value, int64_t) { llvm_unreachable("canBePart"); }

SmallVector<IndexOperand> EmbeddingGradOp::getIndexOperands() {
  return {{1, static_cast<int64_t>(getPlaces().value_or(getResult().getType().getDimSize(0))), std::nullopt}};
}

int64_t EmbeddingGradOp::getFlops() { return sbp::numElements(sbp::shapeOf(getGradient().getType())); }

std::optional<LibraryCall> EmbeddingGradOp::getLibraryCall() {
  auto table = cast<RankedTensorType>(getResult().getType());
  int64_t rows = sbp::numElements(sbp::shapeOf(getIds().getType()));
  const std::optional<int64_t> workspace = exec::hostEmbeddingGradWorkspace(
      rows, table.getDimSize(0), table.getDimSize(1), sbp::elementBytes(table.getElementType()));
  if (!workspace)
    return std::nullopt;
  return LibraryCall{exec::EmbeddingGradAttr::get(getContext(), rows, table.getDimSize(0), table.getDimSize(1),
                                                  table.getElementType(), getIds().getType().getElementType(),
                                                  getFirst(), std::nullopt),
                     *workspace};
}
