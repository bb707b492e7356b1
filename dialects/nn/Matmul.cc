// Matrix products.
#include "dialects/nn/Nn.h"

using namespace mlir;
using namespace splitcast;
using namespace splitcast::nn;

namespace {

/// C[m, n] = sum_k A[m, k] B[k, n] for each index of the batch dimensions, whatever the transposes.
struct Extents {
  ArrayRef<int64_t> batch;
  int64_t m, n, lhsK, rhsK;
  explicit Extents(MatmulOp op) {
    ArrayRef<int64_t> a = op.getLhs().getType().getShape(), b = op.getRhs().getType().getShape();
    batch = a.drop_back(2);
    a = a.take_back(2);
    b = b.take_back(2);
    m = a[op.getTransposeA() ? 1 : 0];
    lhsK = a[op.getTransposeA() ? 0 : 1];
    rhsK = b[op.getTransposeB() ? 1 : 0];
    n = b[op.getTransposeB() ? 0 : 1];
  }
  int64_t products() const { return sbp::numElements(batch); }
};

} // namespace

void MatmulOp::build(OpBuilder &builder, OperationState &state, Value lhs, Value rhs, bool transposeA,
                     bool transposeB) {
  auto a = cast<RankedTensorType>(lhs.getType()), b = cast<RankedTensorType>(rhs.getType());
  SmallVector<int64_t> shape(a.getShape().drop_back(2));
  shape.push_back(a.getShape().take_back(2)[transposeA ? 1 : 0]);
  shape.push_back(b.getShape().take_back(2)[transposeB ? 0 : 1]);
  build(builder, state, RankedTensorType::get(shape, a.getElementType()), lhs, rhs, transposeA, transposeB);
}

sbp::LoopSpec MatmulOp::getLoopSpec() {
  Extents extents(*this);
  sbp::LoopSpec spec;
  int m = spec.addFactor(extents.m), n = spec.addFactor(extents.n),
      k = spec.addFactor(extents.lhsK, sbp::FactorKind::Sum);
  sbp::TensorFactors batch;
  for (int64_t extent : extents.batch)
    batch.push_back({spec.addFactor(extent)});
  auto pair = [&](int outer, int inner, bool transposed) {
    sbp::TensorFactors dims = batch;
    dims.push_back({transposed ? inner : outer});
    dims.push_back({transposed ? outer : inner});
    return dims;
  };
  spec.operands = {pair(m, k, getTransposeA()), pair(k, n, getTransposeB())};
  spec.results = {pair(m, n, false)};
  spec.linear = {{{0}, {}}, {{1}, {}}};
  return spec;
}

LogicalResult MatmulOp::inferResultTypes(SmallVectorImpl<RankedTensorType> &types) {
  RankedTensorType a = undecided(getLhs().getType()), b = undecided(getRhs().getType());
  bool fits = a.getRank() >= 2 && b.getRank() == a.getRank() && a.getElementType() == b.getElementType() &&
              a.getShape().drop_back(2) == b.getShape().drop_back(2);
  if (!fits)
    return emitOpError() << "multiplies " << a << " and " << b
                         << "; both must be matrices of one element type, or equally many of them";
  Extents extents(*this);
  if (extents.lhsK != extents.rhsK)
    return emitOpError() << "contracts " << extents.lhsK << " of " << a << " with " << extents.rhsK << " of " << b
                         << "; these extents must be equal (transpose_a and transpose_b choose them)";
  SmallVector<int64_t> shape(extents.batch);
  shape.append({extents.m, extents.n});
  types.push_back(RankedTensorType::get(shape, a.getElementType()));
  return success();
}

SmallVector<Value> MatmulOp::lowerToLinalg(OpBuilder &builder, ValueRange operands) {
  unsigned batch = Extents(*this).batch.size();
  SmallVector<AffineExpr> batchDims;
  for (unsigned dim = 0; dim < batch; ++dim)
    batchDims.push_back(builder.getAffineDimExpr(dim));
  AffineExpr m = builder.getAffineDimExpr(batch), n = builder.getAffineDimExpr(batch + 1),
             k = builder.getAffineDimExpr(batch + 2);
  auto map = [&](AffineExpr outer, AffineExpr inner, bool transposed) {
    SmallVector<AffineExpr> dims(batchDims);
    dims.push_back(transposed ? inner : outer);
    dims.push_back(transposed ? outer : inner);
    return AffineMap::get(batch + 3, 0, dims, builder.getContext());
  };
  SmallVector<utils::IteratorType> iterators(batch + 2, utils::IteratorType::parallel);
  iterators.push_back(utils::IteratorType::reduction);
  return {buildGeneric(builder, getLoc(), undecided(getResult().getType()), operands,
                       {map(m, k, getTransposeA()), map(k, n, getTransposeB()), map(m, n, false)}, iterators, 0.0,
                       [](OpBuilder &b, Location loc, ValueRange args) -> Value {
                         return b.create<arith::AddFOp>(loc, args[2], b.create<arith::MulFOp>(loc, args[0], args[1]));
                       })};
}

int64_t MatmulOp::getFlops() {
  Extents extents(*this);
  return 2 * extents.products() * extents.m * extents.n * extents.lhsK;
}

std::optional<LibraryCall> MatmulOp::getLibraryCall() {
  Extents extents(*this);
  return LibraryCall{exec::MatmulAttr::get(getContext(), extents.products(), extents.m, extents.n, extents.lhsK,
                                           getTransposeA(), getTransposeB(), getLhs().getType().getElementType())};
}

SmallVector<Value> MatmulOp::buildGradient(OpBuilder &b, ValueRange g, ArrayRef<bool> needed) {
  // With A' = A or its transpose: dA' = G B'^T and dB' = A'^T G; a transposed operand wants the transpose of that.
  SmallVector<Value> result(2);
  bool ta = getTransposeA(), tb = getTransposeB();
  if (needed[0])
    result[0] = ta ? b.create<MatmulOp>(getLoc(), getRhs(), g[0], tb, true)
                   : b.create<MatmulOp>(getLoc(), g[0], getRhs(), false, !tb);
  if (needed[1])
    result[1] = tb ? b.create<MatmulOp>(getLoc(), g[0], getLhs(), true, ta)
                   : b.create<MatmulOp>(getLoc(), getLhs(), g[0], !ta, false);
  return result;
}
