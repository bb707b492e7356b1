#include "runtime/codegen/MathLowering.h"
#include "runtime/codegen/Tanh.h"

#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

namespace splitcast::runtime {
namespace {

using namespace mlir;

/// Computes math functions of bf16 and f16 in f32. (Upstream's
/// math-legalize-to-f32 narrows vectors of f64, too.)
struct WidenMathPass : PassWrapper<WidenMathPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(WidenMathPass)
  StringRef getArgument() const override { return "splitcast-widen-math"; }
  void getDependentDialects(DialectRegistry &registry) const override { registry.insert<arith::ArithDialect>(); }
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (isa<math::MathDialect>(op->getDialect()) && isSmall(op->getResult(0).getType()))
        widen(op);
    });
  }

private:
  static bool isSmall(Type type) {
    Type element = getElementTypeOrSelf(type);
    return element.isBF16() || element.isF16();
  }
  static Type wide(Type type) {
    Type f32 = Float32Type::get(type.getContext());
    auto vector = dyn_cast<VectorType>(type);
    return vector ? Type(vector.clone(f32)) : f32;
  }
  static void widen(Operation *op) {
    OpBuilder b(op);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(isSmall(operand.getType())
                             ? b.create<arith::ExtFOp>(op->getLoc(), wide(operand.getType()), operand).getResult()
                             : operand);
    Type type = op->getResult(0).getType();
    OperationState state(op->getLoc(), op->getName(), operands, wide(type), op->getAttrs());
    Value result = b.create<arith::TruncFOp>(op->getLoc(), type, b.create(state)->getResult(0));
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }
};

/// Converts f64 to bf16 and f16 in two steps, by way of f32, with the result of
/// a single rounding, for which no CPU and few GPUs have an instruction. The
/// first step rounds to odd: where it is not exact, the last bit becomes 1, so
/// that the second step sees no false tie.
struct NarrowInStepsPass : PassWrapper<NarrowInStepsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(NarrowInStepsPass)
  StringRef getArgument() const override { return "splitcast-narrow-in-steps"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect>();
  }
  void runOnOperation() override {
    getOperation()->walk([](arith::TruncFOp op) {
      Type to = getElementTypeOrSelf(op.getType());
      if (getElementTypeOrSelf(op.getIn().getType()).isF64() && (to.isBF16() || to.isF16()))
        narrow(op);
    });
  }

private:
  static Type like(Type type, Type element) {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? Type(vector.clone(element)) : element;
  }
  static void narrow(arith::TruncFOp op) {
    OpBuilder b(op);
    Location loc = op.getLoc();
    Value x = op.getIn();
    Type f32 = like(x.getType(), b.getF32Type()), i32 = like(x.getType(), b.getI32Type());
    Value near = b.create<arith::TruncFOp>(loc, f32, x), back = b.create<arith::ExtFOp>(loc, x.getType(), near);
    TypedAttr oneAttr = b.getI32IntegerAttr(1);
    if (auto vector = dyn_cast<VectorType>(i32))
      oneAttr = DenseElementsAttr::get(vector, cast<IntegerAttr>(oneAttr).getValue());
    Value bits = b.create<arith::BitcastOp>(loc, i32, near), one = b.create<arith::ConstantOp>(loc, oneAttr);
    Value isAbove = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OGT, b.create<math::AbsFOp>(loc, back),
                                            b.create<math::AbsFOp>(loc, x));
    Value below = b.create<arith::SelectOp>(loc, isAbove, b.create<arith::SubIOp>(loc, bits, one), bits);
    Value odd = b.create<arith::BitcastOp>(loc, f32, b.create<arith::OrIOp>(loc, below, one));
    Value isInexact = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::ONE, back, x); // false for NaN
    op.getInMutable().assign(b.create<arith::SelectOp>(loc, isInexact, odd, near));
  }
};

/// Removes the fast-math flags that upstream's emulation of small floats puts
/// on its casts. With them, a rounding to bf16 between two ops would be folded
/// away.
struct StripFastMathPass : PassWrapper<StripFastMathPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StripFastMathPass)
  StringRef getArgument() const override { return "splitcast-strip-fast-math"; }
  void runOnOperation() override {
    auto none = arith::FastMathFlagsAttr::get(&getContext(), arith::FastMathFlags::none);
    getOperation()->walk([&](arith::ArithFastMathInterface op) { op->setAttr(op.getFastMathAttrName(), none); });
  }
};

/// tanh of f32, with the polynomials of exp.
struct TanhByExp : OpRewritePattern<math::TanhOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::TanhOp op, PatternRewriter &b) const override {
    const Location loc = op.getLoc();
    const Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32())
      return failure();
    const auto number = [&](float value) -> Value {
      TypedAttr attribute = b.getF32FloatAttr(value);
      if (auto vector = dyn_cast<VectorType>(type))
        attribute = DenseElementsAttr::get(vector, value);
      return b.create<arith::ConstantOp>(loc, attribute);
    };
    b.replaceOp(op, buildTanh(b, loc, op.getOperand(), [&](Value m) -> Value {
                  const Value one = number(1);
                  const Value power = b.create<math::ExpOp>(loc, b.create<arith::AddFOp>(loc, m, m));
                  const Value quotient =
                      b.create<arith::DivFOp>(loc, number(-2), b.create<arith::AddFOp>(loc, power, one));
                  return b.create<arith::AddFOp>(loc, quotient, one);
                }));
    return success();
  }
};

/// Replaces exp, log, tanh, erf and others on f32 by polynomials, which
/// vectorize. Sine and cosine stay calls, since upstream's polynomials are
/// wrong for large arguments.
struct PolynomialMathPass : PassWrapper<PolynomialMathPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PolynomialMathPass)
  StringRef getArgument() const override { return "splitcast-polynomial-math"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, func::FuncDialect, math::MathDialect, vector::VectorDialect>();
  }
  void runOnOperation() override {
    RewritePatternSet polynomials(&getContext()), calls(&getContext());
    populateMathPolynomialApproximationPatterns(polynomials);
    polynomials.add<TanhByExp>(&getContext(), /*benefit=*/2); // takes precedence over upstream's pattern
    populateMathToLibmConversionPatterns(calls);
    // Functions of f64 stay calls of libm: upstream's polynomials would compute
    // them in f32.
    apply(std::move(polynomials), [](Operation *op) {
      return !isa<math::SinOp, math::CosOp>(op) && !getElementTypeOrSelf(op->getResult(0).getType()).isF64();
    });
    apply(std::move(calls), [](Operation *op) { return isa<math::ExpM1Op>(op); });
    getOperation()->walk([](arith::FPToSIOp op) { boundNaN(op.getIn()); });
  }

private:
  /// Upstream's exp bounds the exponent of 2 by comparisons that keep a NaN,
  /// and converts it to an integer, which of a NaN is poison: exp of a constant
  /// NaN could become any number. Ordered comparisons give the bound instead,
  /// by the same instructions; the result is a NaN by its other factor.
  static void boundNaN(Value x) {
    while (auto select = x.getDefiningOp<arith::SelectOp>()) {
      auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
      if (!compare || compare.getLhs() != select.getTrueValue() || compare.getRhs() != select.getFalseValue())
        return;
      if (compare.getPredicate() == arith::CmpFPredicate::UGE)
        compare.setPredicate(arith::CmpFPredicate::OGE);
      else if (compare.getPredicate() == arith::CmpFPredicate::ULE)
        compare.setPredicate(arith::CmpFPredicate::OLE);
      x = select.getTrueValue();
    }
  }

  void apply(RewritePatternSet patterns, llvm::function_ref<bool(Operation *)> chosen) {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<math::MathDialect>(op->getDialect()) && chosen(op))
        ops.push_back(op);
    });
    GreedyRewriteConfig config;
    config.strictMode = GreedyRewriteStrictness::ExistingAndNewOps;
    (void)applyOpPatternsAndFold(ops, std::move(patterns), config);
  }
};

/// Rounds f32 to bf16: to nearest, ties to even, and NaN to 0x7fc0. NaN is
/// selected before the rounding, as i32. A select of bf16 after it would make
/// LLVM take vectors apart on CPUs without vectors of bf16.
struct RoundToBFloat16 : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &b) const override {
    const Type from = op.getIn().getType();
    if (!getElementTypeOrSelf(from).isF32() || !getElementTypeOrSelf(op.getType()).isBF16())
      return failure();
    const Location loc = op.getLoc();
    const Type i32 = like(from, b.getI32Type()), i16 = like(from, b.getI16Type());
    auto constant = [&](int64_t value) -> Value {
      TypedAttr number = b.getI32IntegerAttr(static_cast<int32_t>(value));
      if (auto vector = dyn_cast<VectorType>(i32))
        number = DenseElementsAttr::get(vector, cast<IntegerAttr>(number).getValue());
      return b.create<arith::ConstantOp>(loc, number);
    };
    const Value isNumber = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::ORD, op.getIn(), op.getIn());
    const Value bits = b.create<arith::SelectOp>(loc, isNumber, b.create<arith::BitcastOp>(loc, i32, op.getIn()),
                                                 constant(0x7fc00000));
    const Value half = constant(16);
    const Value odd = b.create<arith::AndIOp>(loc, b.create<arith::ShRUIOp>(loc, bits, half), constant(1));
    const Value bias = b.create<arith::AddIOp>(loc, odd, constant(0x7fff));
    const Value rounded = b.create<arith::ShRUIOp>(loc, b.create<arith::AddIOp>(loc, bits, bias), half);
    b.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), b.create<arith::TruncIOp>(loc, i16, rounded));
    return success();
  }

private:
  static Type like(Type type, Type element) {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? Type(vector.clone(element)) : element;
  }
};

/// Converts bf16 by integer arithmetic, which rounds to nearest even on every
/// CPU. (The instruction of AVX512_BF16 flushes denormals.)
struct ExpandArithPass : PassWrapper<ExpandArithPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandArithPass)
  StringRef getArgument() const override { return "splitcast-expand-arith"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, vector::VectorDialect>();
  }
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    arith::populateExpandBFloat16Patterns(patterns);
    patterns.add<RoundToBFloat16>(&getContext(), /*benefit=*/2); // takes precedence over upstream's pattern
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

void buildMathPipeline(OpPassManager &passes, llvm::function_ref<void(OpPassManager &)> ofTarget) {
  std::string small[] = {"bf16", "f16"};
  arith::ArithEmulateUnsupportedFloatsOptions emulation;
  emulation.sourceTypeStrs = small;
  passes.addPass(std::make_unique<WidenMathPass>());
  passes.addPass(std::make_unique<NarrowInStepsPass>());
  passes.addPass(arith::createArithEmulateUnsupportedFloats(emulation));
  passes.addPass(std::make_unique<StripFastMathPass>());
  ofTarget(passes);
  passes.addPass(std::make_unique<PolynomialMathPass>());
  passes.addPass(std::make_unique<ExpandArithPass>());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

} // namespace splitcast::runtime
