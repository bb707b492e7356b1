// The pass pipeline of PtxCompiler.h.
#include "runtime/codegen/MathLowering.h"
#include "runtime/gpu/MathUnits.h"
#include "runtime/gpu/PtxCompiler.h"
#include "runtime/gpu/TileProducts.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

namespace splitcast::runtime {
namespace {

using namespace mlir;

/// Applies math functions to vectors one element at a time, since libdevice has
/// them for scalars only; and extensions to f64, since LLVM 19 crashes on that of
/// a vector of 8 that is loaded whole.
struct ScalarizeMathPass : PassWrapper<ScalarizeMathPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ScalarizeMathPass)
  StringRef getArgument() const override { return "splitcast-scalarize-math"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, vector::VectorDialect>();
  }
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      auto vector = op->getNumResults() == 1 ? dyn_cast<VectorType>(op->getResult(0).getType()) : VectorType();
      const bool extendsToF64 = isa<arith::ExtFOp>(op) && vector && vector.getElementType().isF64();
      if (vector && (isa<math::MathDialect>(op->getDialect()) || extendsToF64))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      scalarize(op);
  }

private:
  static void scalarize(Operation *op) {
    OpBuilder b(op);
    auto type = cast<VectorType>(op->getResult(0).getType());
    Value result = b.create<arith::ConstantOp>(op->getLoc(), b.getZeroAttr(type));
    for (int64_t lane = 0; lane < type.getNumElements(); ++lane) {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(b.create<vector::ExtractOp>(op->getLoc(), operand, lane));
      OperationState state(op->getLoc(), op->getName(), operands, type.getElementType(), op->getAttrs());
      result = b.create<vector::InsertOp>(op->getLoc(), b.create(state)->getResult(0), result, lane);
    }
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }
};

/// Replaces ops for which the chip has instructions by LLVM's intrinsics:
/// square roots rounded to nearest (upstream's lowering gives approximate
/// ones), absolute values and roundings (upstream's needs libdevice).
struct UseIntrinsicsPass : PassWrapper<UseIntrinsicsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(UseIntrinsicsPass)
  StringRef getArgument() const override { return "splitcast-use-intrinsics"; }
  void getDependentDialects(DialectRegistry &registry) const override { registry.insert<LLVM::LLVMDialect>(); }
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      std::string name = intrinsicOf(op);
      if (name.empty())
        return;
      OpBuilder b(op);
      auto call = b.create<LLVM::CallIntrinsicOp>(op->getLoc(), op->getResult(0).getType(), b.getStringAttr(name),
                                                  op->getOperands());
      op->replaceAllUsesWith(call->getResults());
      op->erase();
    });
  }

private:
  static std::string intrinsicOf(Operation *op) {
    const bool isDouble = op->getNumResults() == 1 && op->getResult(0).getType().isF64();
    const std::string type = isDouble ? "f64" : "f32";
    if (isa<math::SqrtOp>(op))
      return isDouble ? "llvm.nvvm.sqrt.rn.d" : "llvm.nvvm.sqrt.rn.f";
    if (isa<math::AbsFOp>(op))
      return "llvm.fabs." + type;
    if (isa<math::FloorOp>(op))
      return "llvm.floor." + type;
    return isa<math::CeilOp>(op) ? "llvm.ceil." + type : "";
  }
};

/// Replaces products of tensor cores, for chips that have none of tf32.
struct ExpandTileProductsPass : PassWrapper<ExpandTileProductsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandTileProductsPass)
  StringRef getArgument() const override { return "splitcast-expand-tile-products"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, gpu::GPUDialect>();
  }
  void runOnOperation() override { expandTileProducts(getOperation()); }
};

/// Says that blocks have exactly the threads that upstream's lowering says
/// they have at most: ptxas then has no reason to save registers.
struct ExactBlocksPass : PassWrapper<ExactBlocksPass, OperationPass<gpu::GPUModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExactBlocksPass)
  StringRef getArgument() const override { return "splitcast-exact-blocks"; }
  void runOnOperation() override {
    getOperation()->walk([](LLVM::LLVMFuncOp function) {
      if (Attribute threads = function->removeAttr(NVVM::NVVMDialect::getMaxntidAttrName()))
        function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(), threads);
    });
  }
};

/// Lowers the vector ops that convert-vector-to-llvm leaves.
struct LowerVectorPass : PassWrapper<LowerVectorPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerVectorPass)
  StringRef getArgument() const override { return "splitcast-gpu-lower-vector"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, vector::VectorDialect>();
  }
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    vector::populateVectorMaskOpLoweringPatterns(patterns);
    vector::populateVectorInsertExtractStridedSliceTransforms(patterns);
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

void buildNvvmPipeline(OpPassManager &passes, const PtxTarget &target) {
  if (target.chipNumber() < 80)
    passes.addPass(std::make_unique<ExpandTileProductsPass>());
  const bool roundsToBFloat16 = target.chipNumber() >= 80 && target.ptxNumber() >= 70;
  buildMathPipeline(passes, [&](OpPassManager &ofChip) { ofChip.addPass(createUseMathUnitsPass(roundsToBFloat16)); });
  passes.addPass(std::make_unique<ScalarizeMathPass>());
  passes.addPass(std::make_unique<UseIntrinsicsPass>());
  passes.addPass(std::make_unique<LowerVectorPass>());
  OpPassManager &module = passes.nest<gpu::GPUModuleOp>();
  module.addPass(memref::createFoldMemRefAliasOpsPass());
  module.addPass(memref::createExpandStridedMetadataPass());
  module.addPass(createLowerAffinePass());
  module.addPass(createConvertSCFToCFPass());
  module.addPass(createConvertVectorToLLVMPass());
  ConvertGpuOpsToNVVMOpsOptions options;
  options.useBarePtrCallConv = true;
  options.indexBitwidth = 0; // as wide as pointers
  module.addPass(createConvertGpuOpsToNVVMOps(options));
  module.addPass(std::make_unique<ExactBlocksPass>());
  module.addPass(createConvertMathToLLVMPass());
  module.addPass(createCanonicalizerPass());
  module.addPass(createCSEPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
}

} // namespace splitcast::runtime
