//===- FusionEmitter.h - What emitters of kernels share --------------------------------===//
#ifndef SPLITCAST_PASSES_PLAN_FUSIONEMITTER_H
#define SPLITCAST_PASSES_PLAN_FUSIONEMITTER_H

#include "passes/plan/ElementEvaluator.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace splitcast {

/// Emits a fusion as a function of memrefs (KernelArguments.h). A kind of device says which loops compute the results.
class FusionEmitter : protected ElementEvaluator {
public:
  /// All are borrowed. `laneCount`: ElementEvaluator.h.
  FusionEmitter(mlir::OpBuilder &builder, nn::FusionOp fusion, const LinalgBody &body, const KernelForm &form,
                llvm::ArrayRef<int64_t> tied, int64_t laneCount)
      : ElementEvaluator(builder, fusion.getLoc(), form.isFlat, laneCount), fusion(fusion), body(body), form(form),
        tied(tied) {}

  /// Emits the function at the builder's insertion point. Errors: after a diagnostic, what could not be emitted.
  mlir::FailureOr<mlir::func::FuncOp> emit(llvm::StringRef name);

protected:
  /// Emits the loops that store all results of the body into `targets`.
  virtual void emitNests() = 0;
  /// Returns the type of the kernel's workspace, its last argument; nothing if it needs none.
  virtual mlir::MemRefType workspaceType() const { return {}; }

  nn::FusionOp fusion;
  const LinalgBody &body;
  const KernelForm &form;
  llvm::ArrayRef<int64_t> tied;
  llvm::SmallVector<mlir::Value> targets; ///< the memref of each result
  mlir::Value workspace;                  ///< null if the kernel has none
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_PLAN_FUSIONEMITTER_H
