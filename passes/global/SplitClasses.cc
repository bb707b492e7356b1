// Cross-entropy over classes that ranks divide, so that nobody has all logits of a row.
//
// Where a product's weights are split along the classes by their user, each rank has the logits of its own classes. Of
// these it needs to tell the others one number per row, the logarithm of its part of the sum; and of the label's logit,
// who has it. With that logarithm, of all parts, each class's gradient needs no other.
//
//   before   %loss = nn.softmax_cross_entropy %logits, %labels      [rows, classes], classes divided among 4 ranks
//            %g = nn.softmax_cross_entropy_grad %h, %logits, %labels
//   after    %parts = nn.log_sum_exp (%logits as [rows, 4, classes / 4])
//            %all = nn.log_sum_exp %parts
//            %own = nn.take %logits, %labels
//            %loss = %all - %own
//            %g = nn.softmax_cross_entropy_grad %h, %logits, %labels, %all
//
// That the classes stay divided is what 'sbp-propagate' then finds cheapest.
#include "passes/global/Passes.h"

#include "dialects/nn/Nn.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_SPLITCLASSESPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Among how many ranks what is read divides its dimension `dim`, as its user has said; 1 where nobody has, or by
/// units.
int64_t partsOfWeight(Value weight, int64_t dim, const SymbolTable &symbols) {
  while (Operation *op = weight.getDefiningOp()) {
    if (auto read = dyn_cast<sbp::ReadOp>(op)) {
      auto variable = symbols.lookup<sbp::VariableOp>(read.getVariable());
      if (!variable || !variable.getLogical())
        return 1;
      const sbp::Placement placement = variable.getLogical().getPlacement().toAlgebra();
      int64_t parts = 1;
      for (auto [entry, axis] : llvm::zip(variable.getLogical().toAlgebra(), placement.axes))
        parts *= entry.isPlain() && entry.dim == dim ? axis.size : 1;
      return parts;
    }
    if (auto transpose = dyn_cast<nn::TransposeOp>(op))
      dim = transpose.getPermutation()[dim];
    else if (!isa<nn::CastOp, sbp::FenceOp>(op))
      return 1;
    weight = op->getOperand(0);
  }
  return 1;
}

/// What the classes of `logits` are those of: the same, behind what is done to each element.
SmallVector<Value> sourcesOf(Value logits) {
  Operation *op = logits.getDefiningOp();
  if (auto reshape = dyn_cast_or_null<nn::ReshapeOp>(op)) {
    ArrayRef<int64_t> from = typeOf(reshape.getInput()).getShape();
    if (!from.empty() && from.back() == typeOf(logits).getShape().back())
      return {reshape.getInput()};
    return {};
  }
  SmallVector<Value> sources;
  if (isa_and_nonnull<nn::CastOp, nn::ScaleOp, nn::AddOp, nn::TanhOp, nn::DivOp, nn::MulOp, sbp::FenceOp>(op))
    for (Value operand : op->getOperands())
      if (auto type = dyn_cast<RankedTensorType>(operand.getType());
          type && type.getShape() == typeOf(logits).getShape())
        sources.push_back(operand);
  return sources;
}

/// Among how many ranks the last dimension is divided of a product that the logits are made of.
int64_t partsOfClasses(Value logits, const SymbolTable &symbols) {
  llvm::SetVector<Value> open;
  open.insert(logits);
  for (size_t i = 0; i < open.size(); ++i) {
    if (auto product = open[i].getDefiningOp<nn::MatmulOp>()) {
      const int64_t rank = typeOf(product.getRhs()).getRank();
      const int64_t parts = partsOfWeight(product.getRhs(), product.getTransposeB() ? rank - 2 : rank - 1, symbols);
      if (parts > 1)
        return parts;
      continue;
    }
    for (Value source : sourcesOf(open[i]))
      open.insert(source);
  }
  return 1;
}

class ClassSplitter {
public:
  explicit ClassSplitter(const SymbolTable &symbols) : symbols(symbols) {}

  void split(nn::SoftmaxCrossEntropyOp op) {
    if (!mayBeSplit(op, op.getLogits(), op.getClasses().has_value()))
      return;
    OpBuilder b(op);
    const Location loc = op.getLoc();
    Value all = logSumOf(op.getLogits(), b, loc);
    Value own = b.create<nn::TakeOp>(loc, op.getLogits(), op.getLabels(), op.getIgnoredAttr());
    Value loss = b.create<nn::SubOp>(loc, all, own);
    if (op.getIgnored()) {
      const Type element = typeOf(loss).getElementType();
      Value counts = b.create<nn::NotEqualOp>(loc, op.getLabels(), element, *op.getIgnored());
      Value zero = b.create<nn::ConstantOp>(loc, RankedTensorType::get({}, element), b.getF64FloatAttr(0.0));
      loss = b.create<nn::SelectOp>(loc, counts, loss, zero);
    }
    op.replaceAllUsesWith(loss);
    op.erase();
  }

  void split(nn::SoftmaxCrossEntropyGradOp op) {
    if (op.getLogSum() || !mayBeSplit(op, op.getLogits(), op.getClasses().has_value()))
      return;
    OpBuilder b(op);
    op.getLogSumMutable().assign(logSumOf(op.getLogits(), b, op.getLoc()));
  }

private:
  bool mayBeSplit(Operation *op, Value logits, bool arePadded) {
    auto [known, isNew] = parts.try_emplace(logits, 1);
    if (isNew)
      known->second = partsOfClasses(logits, symbols);
    const int64_t ranks = known->second, classes = typeOf(logits).getShape().back();
    if (ranks == 1 || arePadded)
      return false;
    if (classes % ranks == 0)
      return true;
    if (isNew)
      op->emitWarning() << "has " << classes << " classes, whose weights " << ranks
                        << " ranks divide unevenly; logits are gathered for it. Pad the classes to "
                        << (classes + ranks - 1) / ranks * ranks << ", and they stay divided";
    return false;
  }

  /// One number per row; of logits for whose loss it has been made, that.
  Value logSumOf(Value logits, OpBuilder &b, Location loc) {
    Value &sum = sums[logits];
    if (!sum) {
      Value byPart = b.create<nn::LogSumExpOp>(loc, inParts(logits, parts.lookup(logits), b, loc));
      sum = b.create<nn::LogSumExpOp>(loc, byPart);
    }
    return sum;
  }

  /// A cast stays next to what it is made for: the reshape moves nothing, and is of what lies there.
  static Value inParts(Value logits, int64_t parts, OpBuilder &b, Location loc) {
    if (auto cast = logits.getDefiningOp<nn::CastOp>())
      return b.create<nn::CastOp>(loc, inParts(cast.getInput(), parts, b, loc), typeOf(logits).getElementType());
    SmallVector<int64_t> shape(typeOf(logits).getShape());
    shape.back() /= parts;
    shape.insert(shape.end() - 1, parts);
    return b.create<nn::ReshapeOp>(loc, RankedTensorType::get(shape, typeOf(logits).getElementType()), logits);
  }

  const SymbolTable &symbols;
  llvm::MapVector<Value, int64_t> parts; ///< by logits
  DenseMap<Value, Value> sums;
};

struct SplitClasses : splitcast::impl::SplitClassesPassBase<SplitClasses> {
  using SplitClassesPassBase::SplitClassesPassBase;

  void runOnOperation() override {
    const SymbolTable symbols(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      ClassSplitter splitter(symbols);
      for (Operation &op :
           llvm::make_early_inc_range(llvm::make_range(function.getOps().begin(), function.getOps().end())))
        if (auto loss = dyn_cast<nn::SoftmaxCrossEntropyOp>(op))
          splitter.split(loss);
        else if (auto gradient = dyn_cast<nn::SoftmaxCrossEntropyGradOp>(op))
          splitter.split(gradient);
    }
  }
};

} // namespace
