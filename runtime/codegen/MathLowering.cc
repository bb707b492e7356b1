#include "runtime/codegen/MathLowering.h"

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

/// bf16 and f16 functions in f32. (Upstream's math-legalize-to-f32 narrows vectors of f64, too.)
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

/// Removes the flags that upstream's emulation of small floats puts on its casts: with them, a rounding to bf16 between
/// two ops would be folded away.
struct StripFastMathPass : PassWrapper<StripFastMathPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StripFastMathPass)
  StringRef getArgument() const override { return "splitcast-strip-fast-math"; }
  void runOnOperation() override {
    auto none = arith::FastMathFlagsAttr::get(&getContext(), arith::FastMathFlags::none);
    getOperation()->walk([&](arith::ArithFastMathInterface op) { op->setAttr(op.getFastMathAttrName(), none); });
  }
};

/// Replaces exp, log, tanh, erf and others on f32 by polynomials, which vectorize. Sine and cosine stay calls:
/// upstream's are wrong for large arguments.
struct PolynomialMathPass : PassWrapper<PolynomialMathPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PolynomialMathPass)
  StringRef getArgument() const override { return "splitcast-polynomial-math"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, func::FuncDialect, math::MathDialect, vector::VectorDialect>();
  }
  void runOnOperation() override {
    RewritePatternSet polynomials(&getContext()), calls(&getContext());
    populateMathPolynomialApproximationPatterns(polynomials);
    populateMathToLibmConversionPatterns(calls);
    // f64 keeps its precision in libm; upstream would compute it in f32.
    apply(std::move(polynomials), [](Operation *op) {
      return !isa<math::SinOp, math::CosOp>(op) && !getElementTypeOrSelf(op->getResult(0).getType()).isF64();
    });
    apply(std::move(calls), [](Operation *op) { return isa<math::ExpM1Op>(op); });
  }

private:
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

/// bf16 conversions as integer arithmetic: round to nearest even on every CPU (the instruction of AVX512_BF16 flushes
/// denormals).
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
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

void buildMathPipeline(OpPassManager &passes) {
  std::string small[] = {"bf16", "f16"};
  arith::ArithEmulateUnsupportedFloatsOptions emulation;
  emulation.sourceTypeStrs = small;
  passes.addPass(std::make_unique<WidenMathPass>());
  passes.addPass(arith::createArithEmulateUnsupportedFloats(emulation));
  passes.addPass(std::make_unique<StripFastMathPass>());
  passes.addPass(std::make_unique<PolynomialMathPass>());
  passes.addPass(std::make_unique<ExpandArithPass>());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

} // namespace splitcast::runtime
