// Rows of logits that begin where a device loads them whole.
//
//   1. A product whose rows are no multiple of the device's row alignment, and which a softmax cross-entropy or its
//      gradient reads, gets rows that are: zeros are appended to the operand that has the classes.
//   2. The cross-entropy and its gradient are told how many columns are classes; the gradient's others are 0.
//   3. Products of that gradient take it as it is: where they contract the classes, zeros are appended to the other
//      operand, which change no sum; where they keep them, the result's first rows are the result.
//   4. Whatever else reads logits or gradient gets the columns that are classes.
#include "passes/local/DeviceTraits.h"
#include "passes/local/Passes.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_PADCLASSESPASS
#include "passes/local/Passes.h.inc"
} // namespace splitcast

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

RankedTensorType withExtent(RankedTensorType type, int64_t dim, int64_t extent) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = extent;
  return RankedTensorType::get(shape, type.getElementType());
}

/// What a cast, if `value` is one's, is of.
Value behindCast(Value value) {
  auto cast = value.getDefiningOp<nn::CastOp>();
  return cast ? cast.getInput() : value;
}

class Padder {
public:
  Padder(nn::MatmulOp product, int64_t columns)
      : product(product), builder(product), loc(product.getLoc()), classes(typeOf(product.getResult()).getDimSize(1)),
        columns(columns) {}

  void run() {
    const unsigned dim = product.getTransposeB() ? 0 : 1;
    Value weights = pad(product.getRhs(), dim);
    Value logits =
        builder.create<nn::MatmulOp>(loc, product.getLhs(), weights, product.getTransposeA(), product.getTransposeB());
    padLossesOf(product.getResult(), logits);
    for (Operation *user : llvm::make_early_inc_range(product->getUsers()))
      if (auto cast = dyn_cast<nn::CastOp>(user)) {
        padLossesOf(cast.getResult(), castTo(logits, cast.getType().getElementType(), cast));
        eraseIfUnused(cast);
      }
    replaceRest(product.getResult(), logits);
  }

private:
  Value pad(Value value, int64_t dim) {
    RankedTensorType type = typeOf(value);
    Value zeros =
        builder.create<nn::ConstantOp>(loc, withExtent(type, dim, columns - classes), builder.getF64FloatAttr(0));
    return builder.create<nn::ConcatOp>(loc, withExtent(type, dim, columns), ValueRange{value, zeros},
                                        builder.getI64IntegerAttr(dim));
  }

  Value castTo(Value value, Type element, Operation *before) {
    builder.setInsertionPoint(before);
    return builder.create<nn::CastOp>(loc, RankedTensorType::get(typeOf(value).getShape(), element), value);
  }

  static void eraseIfUnused(Operation *op) {
    if (op->use_empty())
      op->erase();
  }

  /// Those that read `logits` read `padded`, of more columns.
  void padLossesOf(Value logits, Value padded) {
    for (OpOperand &use : llvm::make_early_inc_range(logits.getUses())) {
      auto setOperand = [&](auto op) {
        use.set(padded);
        if (!op.getClassesAttr())
          op.setClassesAttr(builder.getI64IntegerAttr(classes));
      };
      if (auto loss = dyn_cast<nn::SoftmaxCrossEntropyOp>(use.getOwner())) {
        setOperand(loss);
      } else if (auto gradient = dyn_cast<nn::SoftmaxCrossEntropyGradOp>(use.getOwner())) {
        setOperand(gradient);
        padGradient(gradient);
      }
    }
    if (padded.use_empty() && padded.getDefiningOp<nn::CastOp>())
      padded.getDefiningOp()->erase();
  }

  void padGradient(nn::SoftmaxCrossEntropyGradOp op) {
    builder.setInsertionPoint(op);
    auto padded = cast<nn::SoftmaxCrossEntropyGradOp>(builder.clone(*op));
    padded.getResult().setType(withExtent(op.getType(), 1, columns));
    for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
      if (auto cast = dyn_cast<nn::CastOp>(user)) {
        Value wide = castTo(padded, cast.getType().getElementType(), cast);
        padProductsOf(cast.getResult(), wide);
        replaceRest(cast.getResult(), wide);
      }
    padProductsOf(op.getResult(), padded.getResult());
    replaceRest(op.getResult(), padded.getResult());
  }

  /// Products of `gradient` become those of `padded`.
  void padProductsOf(Value gradient, Value padded) {
    for (OpOperand &use : llvm::make_early_inc_range(gradient.getUses())) {
      auto of = dyn_cast<nn::MatmulOp>(use.getOwner());
      if (!of || of.getLhs() == of.getRhs())
        continue;
      builder.setInsertionPoint(of);
      const bool isLhs = use.getOperandNumber() == 0;
      const bool contracts = isLhs ? !of.getTransposeA() : of.getTransposeB();
      Value other = isLhs ? of.getRhs() : of.getLhs();
      if (contracts)
        other = isLhs ? pad(other, of.getTransposeB() ? 1 : 0) : pad(other, of.getTransposeA() ? 0 : 1);
      Value result = builder.create<nn::MatmulOp>(of.getLoc(), isLhs ? padded : other, isLhs ? other : padded,
                                                  of.getTransposeA(), of.getTransposeB());
      of.replaceAllUsesWith(contracts ? result : firstOf(result, of.getType(), isLhs ? 0 : 1));
      of.erase();
    }
  }

  /// The elements that are of no padding: rows are another name for the first of them, columns are copied.
  Value firstOf(Value padded, RankedTensorType type, int64_t dim) {
    if (dim != 0)
      return builder.create<nn::SliceOp>(loc, type, padded, builder.getI64IntegerAttr(dim),
                                         builder.getI64IntegerAttr(0));
    const RankedTensorType paddedType = typeOf(padded);
    Value flat = builder.create<nn::ReshapeOp>(
        loc, RankedTensorType::get({paddedType.getNumElements()}, paddedType.getElementType()), padded);
    return builder.create<ccl::ViewOp>(loc, type, flat, builder.getI64IntegerAttr(0));
  }

  void replaceRest(Value value, Value padded) {
    Operation *made = value.getDefiningOp();
    if (!value.use_empty()) {
      builder.setInsertionPointAfterValue(padded);
      value.replaceAllUsesWith(firstOf(padded, typeOf(value), 1));
    }
    eraseIfUnused(padded.getDefiningOp());
    made->erase();
  }

  nn::MatmulOp product;
  OpBuilder builder;
  const Location loc;
  const int64_t classes, columns;
};

struct PadClasses : splitcast::impl::PadClassesPassBase<PadClasses> {
  using PadClassesPassBase::PadClassesPassBase;

  void runOnOperation() override {
    const DeviceTraits traits = deviceTraitsOf(getOperation()->getParentOfType<ModuleOp>());
    llvm::SetVector<Operation *> products;
    getOperation().walk([&](Operation *op) {
      Value logits;
      if (auto loss = dyn_cast<nn::SoftmaxCrossEntropyOp>(op))
        logits = loss.getLogits();
      else if (auto gradient = dyn_cast<nn::SoftmaxCrossEntropyGradOp>(op))
        logits = gradient.getLogits();
      if (auto product = logits ? behindCast(logits).getDefiningOp<nn::MatmulOp>() : nn::MatmulOp())
        products.insert(product);
    });
    for (Operation *op : products) {
      auto product = cast<nn::MatmulOp>(op);
      const RankedTensorType type = typeOf(product.getResult());
      const int64_t unit = std::max<int64_t>(1, traits.rowBytes / sbp::elementBytes(type.getElementType()));
      const int64_t classes = type.getShape().back(), columns = (classes + unit - 1) / unit * unit;
      if (type.getRank() == 2 && columns != classes && classes > 0 && type.getNumElements() >= least)
        Padder(product, columns).run();
    }
  }
};

} // namespace
