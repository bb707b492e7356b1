// Pads logits so that each row begins at an address from which the device loads
// elements at full speed.
//
//   1. If a softmax cross-entropy or its gradient reads a product whose rows are no
//      multiple of the device's row alignment, the product gets longer rows: zeros
//      are appended to the operand that has the classes.
//   2. The cross-entropy and its gradient are told how many columns are classes. The
//      other columns of the gradient are 0.
//   3. Products of the gradient take the padded one. If they contract the classes,
//      zeros are appended to the other operand, which change no sum; if they keep
//      the classes, the first rows or columns of the result are the result.
//   4. All other ops that read the gradient get the columns that are classes. Logits
//      that any other op reads are left alone: they would exist twice.
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

/// Returns the operand of a cast, or the value itself if it is no cast.
Value behindCast(Value value) {
  auto cast = value.getDefiningOp<nn::CastOp>();
  return cast ? cast.getInput() : value;
}

/// Pads the logits that one product makes.
class Padder {
public:
  Padder(nn::MatmulOp product, int64_t columns)
      : product(product), builder(product), loc(product.getLoc()), classes(typeOf(product.getResult()).getDimSize(1)),
        columns(columns) {}

  /// Whether only losses and their gradients read the logits.
  bool mayRun() const {
    return llvm::all_of(product->getUsers(), [](Operation *user) {
      return isa<nn::CastOp>(user) ? llvm::all_of(user->getUsers(), isLoss) : isLoss(user);
    });
  }

  void run() {
    Value weights = pad(product.getRhs(), product.getTransposeB() ? 0 : 1);
    Value logits =
        builder.create<nn::MatmulOp>(loc, product.getLhs(), weights, product.getTransposeA(), product.getTransposeB());
    const SmallVector<Operation *> users(product->getUsers());
    padLossesOf(product.getResult(), logits);
    for (Operation *user : users)
      if (auto cast = dyn_cast<nn::CastOp>(user))
        padLossesOf(cast.getResult(), castTo(logits, cast.getType().getElementType(), cast));
  }

  static bool isLoss(Operation *op) {
    auto gradient = dyn_cast<nn::SoftmaxCrossEntropyGradOp>(op);
    return gradient ? !gradient.getLogSum() : isa<nn::SoftmaxCrossEntropyOp>(op);
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

  static SmallVector<OpOperand *> usesOf(Value value) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : value.getUses())
      uses.push_back(&use);
    return uses;
  }

  /// Lets the losses that read `logits` read `padded`, which has more columns.
  void padLossesOf(Value logits, Value padded) {
    for (OpOperand *use : usesOf(logits)) {
      auto setOperand = [&](auto op) {
        use->set(padded);
        if (!op.getClassesAttr())
          op.setClassesAttr(builder.getI64IntegerAttr(classes));
      };
      if (auto loss = dyn_cast<nn::SoftmaxCrossEntropyOp>(use->getOwner())) {
        setOperand(loss);
      } else if (auto gradient = dyn_cast<nn::SoftmaxCrossEntropyGradOp>(use->getOwner())) {
        setOperand(gradient);
        padGradient(gradient);
      }
    }
  }

  void padGradient(nn::SoftmaxCrossEntropyGradOp op) {
    builder.setInsertionPoint(op);
    auto padded = cast<nn::SoftmaxCrossEntropyGradOp>(builder.clone(*op));
    padded.getResult().setType(withExtent(op.getType(), 1, columns));
    for (Operation *user : SmallVector<Operation *>(op->getUsers()))
      if (auto cast = dyn_cast<nn::CastOp>(user)) {
        Value wide = castTo(padded, cast.getType().getElementType(), cast);
        padProductsOf(cast.getResult(), wide);
        replaceRest(cast.getResult(), wide);
      }
    padProductsOf(op.getResult(), padded.getResult());
    replaceRest(op.getResult(), padded.getResult());
  }

  /// Replaces products of `gradient` by products of `padded`.
  void padProductsOf(Value gradient, Value padded) {
    for (OpOperand *use : usesOf(gradient)) {
      auto of = dyn_cast<nn::MatmulOp>(use->getOwner());
      if (!of || of.getLhs() == of.getRhs())
        continue;
      builder.setInsertionPoint(of);
      const bool isLhs = use->getOperandNumber() == 0;
      const bool contracts = isLhs ? !of.getTransposeA() : of.getTransposeB();
      Value other = isLhs ? of.getRhs() : of.getLhs();
      if (contracts)
        other = isLhs ? pad(other, of.getTransposeB() ? 1 : 0) : pad(other, of.getTransposeA() ? 0 : 1);
      Value result = builder.create<nn::MatmulOp>(of.getLoc(), isLhs ? padded : other, isLhs ? other : padded,
                                                  of.getTransposeA(), of.getTransposeB());
      of.replaceAllUsesWith(contracts ? result : firstOf(result, of.getType(), isLhs ? 0 : 1));
    }
  }

  /// Returns the elements that are no padding. For rows, this is another name
  /// for the first elements; columns are copied.
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
    if (llvm::all_of(value.getUsers(), isOpTriviallyDead))
      return;
    builder.setInsertionPointAfterValue(padded);
    value.replaceAllUsesWith(firstOf(padded, typeOf(value), 1));
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
    // Replaced ops are erased at the end: a product of the gradient may be the
    // logits of another loss.
    for (bool again = true; again;) {
      again = false;
      for (nn::MatmulOp product : productsOfLosses())
        again |= pad(product, traits);
    }
    for (Block &block : getOperation().getBody())
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
        if (isOpTriviallyDead(&op))
          op.erase();
  }

  llvm::SetVector<nn::MatmulOp> productsOfLosses() {
    llvm::SetVector<nn::MatmulOp> products;
    getOperation().walk([&](Operation *op) {
      if (!Padder::isLoss(op) || isOpTriviallyDead(op))
        return;
      auto loss = dyn_cast<nn::SoftmaxCrossEntropyOp>(op);
      Value logits = loss ? loss.getLogits() : cast<nn::SoftmaxCrossEntropyGradOp>(op).getLogits();
      if (auto product = behindCast(logits).getDefiningOp<nn::MatmulOp>())
        products.insert(product);
    });
    return products;
  }

  /// Pads the product if it is large enough and may be padded. Returns whether
  /// it did.
  bool pad(nn::MatmulOp product, const DeviceTraits &traits) const {
    const RankedTensorType type = typeOf(product.getResult());
    const int64_t unit = std::max<int64_t>(1, traits.rowBytes / sbp::elementBytes(type.getElementType()));
    const int64_t classes = type.getShape().back(), columns = (classes + unit - 1) / unit * unit;
    if (type.getRank() != 2 || columns == classes || classes == 0 || type.getNumElements() < least ||
        isOpTriviallyDead(product))
      return false;
    Padder padder(product, columns);
    if (!padder.mayRun())
      return false;
    padder.run();
    return true;
  }
};

} // namespace
