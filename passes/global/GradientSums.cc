#include "passes/global/GradientSums.h"

using namespace mlir;
using namespace splitcast;

namespace {

/// The most pieces of one concatenation. Each is an operand of a kernel.
constexpr size_t kMostPieces = 64;

bool isZeros(Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  return constant && constant.getValue().isZero();
}

Value plus(OpBuilder &builder, Location loc, Value a, Value b) {
  return a && b ? builder.create<nn::AddOp>(loc, a, b).getResult() : a ? a : b;
}

/// Returns the gradient if it is a product of so few rows that they have no more elements than adding it would move;
/// else null.
nn::MatmulOp productOfFewRows(Value gradient) {
  auto product = gradient.getDefiningOp<nn::MatmulOp>();
  if (!product || !product.getTransposeA() || product.getTransposeB() || product.getResult().getType().getRank() != 2)
    return {};
  const int64_t rows = product.getLhs().getType().getDimSize(0);
  const ArrayRef<int64_t> shape = product.getResult().getType().getShape();
  return rows > 0 && rows * (shape[0] + shape[1]) <= 2 * shape[0] * shape[1] ? product : nn::MatmulOp();
}

bool haveSameTypes(nn::MatmulOp a, nn::MatmulOp b) {
  return a.getLhs().getType() == b.getLhs().getType() && a.getRhs().getType() == b.getRhs().getType();
}

/// Returns all rows of values of one type [rows, width]: those of row 0 of each, then those of row 1, and so on.
Value rowsOf(OpBuilder &builder, Location loc, ArrayRef<Value> values) {
  const RankedTensorType type = nn::undecided(cast<RankedTensorType>(values.front().getType()));
  const int64_t rows = type.getDimSize(0), width = type.getDimSize(1), count = static_cast<int64_t>(values.size());
  SmallVector<Value> pieces;
  for (Value value : values)
    pieces.push_back(builder.create<nn::ReshapeOp>(loc, type.clone({rows, 1, width}), value));
  Value all = builder.create<nn::ConcatOp>(loc, type.clone({rows, count, width}), pieces, builder.getI64IntegerAttr(1));
  return builder.create<nn::ReshapeOp>(loc, type.clone({rows * count, width}), all);
}

} // namespace

GradientSum::Pieces GradientSum::piecesOf(nn::ConcatOp concat) {
  Pieces pieces;
  for (Value input : concat.getInputs())
    if (const int64_t extent = cast<RankedTensorType>(input.getType()).getDimSize(concat.getDim()); extent > 0)
      pieces.push_back({extent, isZeros(input) ? Value() : input});
  return pieces;
}

/// Adds the pieces of another concatenation. Returns false, without changes, if
/// a piece that is not zeros would have to be cut, or if there would be too
/// many pieces.
bool GradientSum::join(OpBuilder &builder, Location loc, Pieces others) {
  SmallVector<std::pair<Piece, Piece>> met; // pairs of equal extents
  Pieces mine = pieces;
  size_t a = 0, b = 0;
  while (a < mine.size() && b < others.size()) {
    const int64_t extent = std::min(mine[a].extent, others[b].extent);
    if ((mine[a].value && mine[a].extent > extent) || (others[b].value && others[b].extent > extent))
      return false;
    met.push_back({{extent, mine[a].value}, {extent, others[b].value}});
    a += (mine[a].extent -= extent) == 0;
    b += (others[b].extent -= extent) == 0;
  }
  if (met.size() > kMostPieces)
    return false;
  pieces.clear();
  for (const auto &[one, other] : met) {
    Value value = plus(builder, loc, one.value, other.value);
    if (!value && !pieces.empty() && !pieces.back().value)
      pieces.back().extent += one.extent;
    else
      pieces.push_back({one.extent, value});
  }
  return true;
}

void GradientSum::add(OpBuilder &builder, Location loc, Value gradient, llvm::SetVector<Operation *> &joined,
                      bool joinsProducts) {
  if (nn::MatmulOp product = joinsProducts ? productOfFewRows(gradient) : nn::MatmulOp()) {
    if (!products.empty() && (!haveSameTypes(product, products.front()) || products.size() == kMostPieces))
      addProducts(builder, loc);
    products.push_back(product);
    joined.insert(product);
    return;
  }
  auto concat = gradient.getDefiningOp<nn::ConcatOp>();
  if (!concat) {
    sum = plus(builder, loc, sum, gradient);
    return;
  }
  if (first && first.getDim() == concat.getDim() && join(builder, loc, piecesOf(concat))) {
    joined.insert(first);
    joined.insert(concat);
    isJoined = true;
    return;
  }
  addPieces(builder, loc);
  first = concat;
  isJoined = false;
  pieces = piecesOf(concat);
}

void GradientSum::addPieces(OpBuilder &builder, Location loc) {
  if (!first)
    return;
  Value all = first;
  if (isJoined && !pieces.empty()) { // without pieces there are no elements
    const RankedTensorType type = nn::undecided(first.getType());
    SmallVector<Value> inputs;
    for (const auto &[extent, value] : pieces) {
      SmallVector<int64_t> shape(type.getShape());
      shape[first.getDim()] = extent;
      inputs.push_back(value ? value
                             : nn::splat(builder, loc, RankedTensorType::get(shape, type.getElementType()), 0.0));
    }
    all = builder.create<nn::ConcatOp>(loc, type, inputs, first.getDimAttr());
  }
  sum = plus(builder, loc, sum, all);
  first = {};
}

/// Adds the products, as one. The last step in time comes first, so their order is reversed: where the gradients of all
/// steps are also concatenated in the order of time, that is the same value.
void GradientSum::addProducts(OpBuilder &builder, Location loc) {
  if (products.empty())
    return;
  Value all = products.front();
  if (products.size() > 1) {
    SmallVector<Value> a, b;
    for (nn::MatmulOp product : llvm::reverse(products)) {
      a.push_back(product.getLhs());
      b.push_back(product.getRhs());
    }
    all = builder.create<nn::MatmulOp>(loc, rowsOf(builder, loc, a), rowsOf(builder, loc, b), /*transposeA=*/true);
  }
  sum = plus(builder, loc, sum, all);
  products.clear();
}

Value GradientSum::get(OpBuilder &builder, Location loc) {
  addPieces(builder, loc);
  addProducts(builder, loc);
  return sum;
}

void GradientSum::erase(ArrayRef<Operation *> joined) {
  for (Operation *op : joined) {
    if (!op->use_empty())
      continue;
    const llvm::SetVector<Value> inputs(op->operand_begin(), op->operand_end());
    op->erase();
    for (Value input : inputs)
      if (input.use_empty() && isZeros(input))
        input.getDefiningOp()->erase();
  }
}
