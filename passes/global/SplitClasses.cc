// Computes a cross-entropy over classes that ranks divide, so that no rank has
// all logits of a row.
//
// If the user has split the weights of a product along the classes, each rank
// has the logits of its own classes. Ranks then exchange one number per row,
// the logarithm of their part of the sum, and the rank that has the logit of
// the label sends it. With the logarithm over all parts, the gradient of a
// class needs no other class.
//
// Beside large logits the logarithm has lost digits: near 1e4 it is off by up
// to 5e-4. So it is only what all logits are shifted by, and the logarithm of
// the sum of the shifted ones, which is near 0, has what is missing. This takes
// a second walk over the logits and a second number per row. (Subtracting the
// largest logit would take as many numbers.)
//
//   before   %loss = nn.softmax_cross_entropy %logits, %labels      [rows, classes], classes divided among 4 ranks
//            %g = nn.softmax_cross_entropy_grad %h, %logits, %labels
//   after    %blocks = %logits as [rows, 4, classes / 4]
//            %shift = nn.log_sum_exp (nn.log_sum_exp %blocks)
//            %rest = nn.log_sum_exp (nn.log_sum_exp (%blocks - %shift))
//            %own = nn.take %logits, %labels
//            %loss = (%shift - %own) + %rest
//            %g = nn.softmax_cross_entropy_grad %h, (%logits - %shift), %labels, %rest
//
// 'sbp-propagate' then finds that it is cheapest to keep the classes divided.
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

/// Returns the number of ranks among which the user has divided dimension `dim`
/// of the variable that is read; 1 if it is not divided, or divided by units.
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

/// Returns the tensors from which `logits` is computed element by element, so
/// that they have the same classes.
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

/// Returns the number of ranks among which the classes are divided, by the
/// weights of a product from which the logits are computed.
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

/// Rewrites the losses and gradients of one function.
class ClassSplitter {
public:
  explicit ClassSplitter(const SymbolTable &symbols) : symbols(symbols) {}

  void split(nn::SoftmaxCrossEntropyOp op) {
    if (!mayBeSplit(op, op.getLogits(), op.getClasses().has_value()))
      return;
    OpBuilder b(op);
    const Location loc = op.getLoc();
    const LogSum sum = logSumOf(op.getLogits(), b, loc);
    Value own = b.create<nn::TakeOp>(loc, op.getLogits(), op.getLabels(), op.getIgnoredAttr());
    Value loss = b.create<nn::AddOp>(loc, b.create<nn::SubOp>(loc, sum.shift, own), sum.rest);
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
    const LogSum sum = logSumOf(op.getLogits(), b, op.getLoc());
    op.getLogitsMutable().assign(minusPerRow(op.getLogits(), sum.shift, b, op.getLoc()));
    op.getLogSumMutable().assign(sum.rest);
  }

private:
  /// Of each row: the logarithm of the sum of exponentials, rounded, and the
  /// logarithm of the sum of exp(logit - shift), which the rounding leaves.
  struct LogSum {
    Value shift, rest;
  };

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
      op->emitWarning() << "has " << classes << " classes, which " << ranks
                        << " ranks do not divide evenly, so its logits are gathered; pad the classes to "
                        << (classes + ranks - 1) / ranks * ranks << " to keep them divided";
    return false;
  }

  /// Returns the sums of exponentials of the rows. The loss and the gradient of
  /// the same logits share them.
  LogSum logSumOf(Value logits, OpBuilder &b, Location loc) {
    LogSum &sum = sums[logits];
    if (!sum.shift) {
      auto ofRows = [&](Value blocks) -> Value {
        return b.create<nn::LogSumExpOp>(loc, b.create<nn::LogSumExpOp>(loc, blocks));
      };
      Value blocks = inParts(logits, parts.lookup(logits), b, loc);
      sum.shift = ofRows(blocks);
      sum.rest = ofRows(minusPerRow(blocks, sum.shift, b, loc));
    }
    return sum;
  }

  /// Returns x - perRow, which has the first dimensions of x.
  static Value minusPerRow(Value x, Value perRow, OpBuilder &b, Location loc) {
    SmallVector<int64_t> shape(typeOf(perRow).getShape());
    shape.resize(typeOf(x).getRank(), 1);
    Value column = b.create<nn::ReshapeOp>(loc, RankedTensorType::get(shape, typeOf(perRow).getElementType()), perRow);
    return b.create<nn::SubOp>(loc, x, column);
  }

  /// Reshapes the logits so that each part has a dimension of its own. A cast
  /// is made again after the reshape, so that it stays next to its use; the
  /// reshape moves no elements.
  static Value inParts(Value logits, int64_t parts, OpBuilder &b, Location loc) {
    if (auto cast = logits.getDefiningOp<nn::CastOp>())
      return b.create<nn::CastOp>(loc, inParts(cast.getInput(), parts, b, loc), typeOf(logits).getElementType());
    SmallVector<int64_t> shape(typeOf(logits).getShape());
    shape.back() /= parts;
    shape.insert(shape.end() - 1, parts);
    return b.create<nn::ReshapeOp>(loc, RankedTensorType::get(shape, typeOf(logits).getElementType()), logits);
  }

  const SymbolTable &symbols;
  llvm::MapVector<Value, int64_t> parts; ///< by logits: the number of parts
  DenseMap<Value, LogSum> sums;          ///< by logits
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
