//===- Pipelines.h - The order of the passes, and why -----------------------------===//
#ifndef SPLITCAST_COMPILER_PIPELINES_H
#define SPLITCAST_COMPILER_PIPELINES_H

#include "dialects/sbp/algebra/Policy.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace splitcast {

// A pipeline runs on a module, whose context has the dialects of registerDialects(). After an error the module may be
// changed in part.

/// Adds the passes that decide what a module computes and where its variables are stored: backward, updates,
/// micro-batches and ZeRO, without signatures of other values, nor communication. `options` apply to what variables and
/// groups leave open.
void buildStoragePipeline(mlir::OpPassManager &manager, const sbp::ZeroOptions &options);

/// Adds all passes of the global level: these, and those up to explicit boxing.
void buildGlobalPipeline(mlir::OpPassManager &manager, const sbp::ZeroOptions &options);

struct LocalOptions : mlir::PassPipelineOptions<LocalOptions> {
  Option<int64_t> prefetch{
      *this, "prefetch",
      llvm::cl::desc("How many groups ahead of their use gathers of variables without a policy start; 0: none starts "
                     "ahead"),
      llvm::cl::init(1)};
};

/// Adds the passes of the local level. They run on the program of one rank, which 'sbp-localize' or splitcast::localize
/// makes.
void buildLocalPipeline(mlir::OpPassManager &manager, const LocalOptions &options);

/// Adds the passes that turn this program into its plan.
void buildPlanPipeline(mlir::OpPassManager &manager);

/// Registers `enable-zero` and `local-pipeline` by name. Call it once per process.
void registerPipelines();

/// Adds all dialects that a module of any level may use. The context still has to load them
/// (loadAllAvailableDialects).
void registerDialects(mlir::DialectRegistry &registry);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_PIPELINES_H
