#include "runtime/host/jit/JitLowering.h"

#include "runtime/codegen/MathLowering.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

namespace splitcast::runtime {
namespace {

using namespace mlir;

/// Lowers the vector ops that convert-vector-to-llvm leaves, or would lower
/// element by element.
struct LowerVectorPass : PassWrapper<LowerVectorPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerVectorPass)
  StringRef getArgument() const override { return "splitcast-host-lower-vector"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, vector::VectorDialect>();
  }
  void runOnOperation() override {
    vector::VectorTransformsOptions options;
    options.setVectorTransposeLowering(vector::VectorTransposeLowering::Shuffle16x16);
    RewritePatternSet patterns(&getContext());
    vector::populateVectorMultiReductionLoweringPatterns(patterns,
                                                         vector::VectorMultiReductionLowering::InnerReduction);
    vector::populateVectorTransposeLoweringPatterns(patterns, options);
    vector::populateVectorGatherLoweringPatterns(patterns);
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

/// Lowers vectors to one dimension and memory accesses to plain addresses.
void buildMemoryPipeline(OpPassManager &passes) {
  passes.addPass(std::make_unique<LowerVectorPass>());
  VectorTransferToSCFOptions transfers;
  transfers.enableFullUnroll();
  passes.addNestedPass<func::FuncOp>(createConvertVectorToSCFPass(transfers));
  passes.addPass(memref::createFoldMemRefAliasOpsPass());
  passes.addPass(memref::createExpandStridedMetadataPass());
  passes.addPass(createLowerAffinePass());
}

void buildLlvmPipeline(OpPassManager &passes) {
  FinalizeMemRefToLLVMConversionPassOptions memrefs;
  memrefs.useAlignedAlloc = true;
  ConvertFuncToLLVMPassOptions functions;
  functions.useBarePtrCallConv = true;
  ConvertMathToLLVMPassOptions math;
  math.approximateLog1p = false; // the approximation log(1 + x) loses small x
  passes.addPass(createConvertSCFToCFPass());
  passes.addPass(createConvertVectorToLLVMPass());
  passes.addPass(createConvertMathToLLVMPass(math));
  passes.addPass(createConvertMathToLibmPass());
  passes.addPass(createConvertVectorToLLVMPass()); // again, since calls on vectors have become ops on their elements
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createFinalizeMemRefToLLVMConversionPass(memrefs));
  passes.addPass(createConvertFuncToLLVMPass(functions));
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
}

} // namespace

void registerLoweringDialects(DialectRegistry &registry) {
  registry
      .insert<affine::AffineDialect, arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect,
              math::MathDialect, memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

void buildLoweringPipeline(OpPassManager &passes) {
  buildMathPipeline(passes);
  buildMemoryPipeline(passes);
  buildLlvmPipeline(passes);
}

} // namespace splitcast::runtime
