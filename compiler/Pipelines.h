//===- Pipelines.h - The order of the passes, and why -----------------------------===//
#ifndef SPLITCAST_COMPILER_PIPELINES_H
#define SPLITCAST_COMPILER_PIPELINES_H

#include "dialects/sbp/algebra/Policy.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace splitcast {

/// The global level, up to explicit boxing. `options` hold for what variables and groups do not say.
void buildGlobalPipeline(mlir::OpPassManager &manager, const sbp::ZeroOptions &options);

struct LocalOptions : mlir::PassPipelineOptions<LocalOptions> {
  Option<int64_t> prefetch{
      *this, "prefetch",
      llvm::cl::desc("of gathers and reductions whose variables have no policy: 1 overlaps them, 0 does not"),
      llvm::cl::init(1)};
};

/// The local level, on the program of one rank ('sbp-localize' or splitcast::localize made it).
void buildLocalPipeline(mlir::OpPassManager &manager, const LocalOptions &options);

/// The plan of that program.
void buildPlanPipeline(mlir::OpPassManager &manager);

/// Registers `enable-zero` and `local-pipeline` by name.
void registerPipelines();

/// All dialects that a module of any level may have.
void registerDialects(mlir::DialectRegistry &registry);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_PIPELINES_H
