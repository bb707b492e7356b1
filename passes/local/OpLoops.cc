#include "passes/local/OpLoops.h"

#include "dialects/sbp/Sbp.h"

using namespace mlir;

namespace splitcast {
namespace {

/// Returns the first operand of the highest rank.
const sbp::TensorFactors *widestOperand(const sbp::LoopSpec &spec) {
  const sbp::TensorFactors *widest = nullptr;
  for (const sbp::TensorFactors &operand : spec.operands)
    if (!widest || operand.size() > widest->size())
      widest = &operand;
  return widest;
}

/// Whether the tensor has all dimensions of `rows`, in order, or all but the
/// last.
bool isOfRows(const sbp::TensorFactors &tensor, const sbp::TensorFactors &rows) {
  return (tensor.size() == rows.size() || tensor.size() + 1 == rows.size()) &&
         std::equal(tensor.begin(), tensor.end(), rows.begin());
}

bool isDirect(const sbp::TensorFactors &tensor) {
  return llvm::all_of(tensor, [](const std::vector<int> &dim) { return dim.size() == 1; });
}

/// Returns the pattern of an op that is not elementwise.
LoopPattern patternOfSum(const sbp::LoopSpec &spec, const sbp::TensorFactors &rows) {
  sbp::TensorFactors row = {rows.back()};
  auto kindOf = [&](const std::vector<int> &dim) { return spec.factors[dim.front()].kind; };
  auto isParallel = [&](const std::vector<int> &dim) { return kindOf(dim) == sbp::FactorKind::Parallel; };
  auto leading = llvm::drop_end(rows);
  bool isRows =
      !isParallel(row.front()) && llvm::all_of(leading, isParallel) &&
      llvm::all_of(spec.operands, [&](const auto &t) { return t.empty() || t == row || isOfRows(t, rows); }) &&
      llvm::all_of(spec.results, [&](const auto &t) { return isOfRows(t, rows); });
  if (isRows)
    return LoopPattern::Rows;
  bool isColumns = rows.size() > 1 && isParallel(row.front()) &&
                   llvm::all_of(leading, [&](const auto &dim) { return kindOf(dim) == sbp::FactorKind::Sum; }) &&
                   spec.operands.size() == 1 && spec.results == std::vector<sbp::TensorFactors>{row};
  return isColumns ? LoopPattern::Columns : LoopPattern::Reduction;
}

LoopPattern patternOf(const sbp::LoopSpec &spec) {
  bool isParallel =
      llvm::all_of(spec.factors, [](const sbp::Factor &f) { return f.kind == sbp::FactorKind::Parallel; });
  if (isParallel && isDirect(spec.results.front()))
    return LoopPattern::Elementwise;
  const sbp::TensorFactors *rows = widestOperand(spec);
  return rows && !rows->empty() && isDirect(*rows) ? patternOfSum(spec, *rows) : LoopPattern::Reduction;
}

} // namespace

OpLoops::OpLoops(Operation *op) {
  sbp::LoopSpec spec = cast<sbp::ShardingOpInterface>(op).getLoopSpec();
  auto slice = dyn_cast<nn::SliceOp>(op);
  pattern = slice && slicesAlongRows(slice) ? LoopPattern::Elementwise : patternOf(spec);
  shape = sbp::shapeOf(op->getResult(0).getType());
  if (pattern != LoopPattern::Elementwise)
    for (Value operand : op->getOperands())
      if (cast<RankedTensorType>(operand.getType()).getRank() > static_cast<int64_t>(shape.size()))
        shape = sbp::shapeOf(operand.getType());
  const sbp::TensorFactors *loops = pattern == LoopPattern::Elementwise ? &spec.results.front() : widestOperand(spec);
  for (const sbp::TensorFactors &place : spec.operands)
    isOrderly.push_back(place.size() <= loops->size() && std::equal(place.begin(), place.end(), loops->begin()));
}

bool isFusible(Operation *op, const DeviceTraits &traits) {
  auto compute = dyn_cast<nn::ComputeOpInterface>(op);
  if (!compute || !isa<sbp::ShardingOpInterface>(op) || isa<nn::ReshapeOp>(op))
    return false;
  return !traits.libraryCallOf(op);
}

bool slicesAlongRows(nn::SliceOp slice) {
  constexpr int64_t kLeast = 16; // a vector of f32 on the widest CPU
  return slice.getResult().getType().getRank() > 0 && slice.getResult().getType().getShape().back() >= kLeast;
}

bool namesDimensions(Operation *op) {
  return !llvm::all_of(op->getAttrs(), [](NamedAttribute attribute) {
    return isa<FloatAttr, TypeAttr, UnitAttr>(attribute.getValue());
  });
}

bool onlyExtends(Operation *op) {
  auto cast = dyn_cast<nn::CastOp>(op);
  return cast && isa<FloatType>(cast.getInput().getType().getElementType()) &&
         sbp::elementBytes(cast.getType()) > sbp::elementBytes(cast.getInput().getType());
}

} // namespace splitcast
