//===- Pipelines.h - The order of the passes, and why -----------------------------===//
#ifndef SPLITCAST_COMPILER_PIPELINES_H
#define SPLITCAST_COMPILER_PIPELINES_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace splitcast {

/// What a user chooses of ZeRO.
struct ZeroOptions : mlir::PassPipelineOptions<ZeroOptions> {
  Option<int> stage{*this, "stage",
                    llvm::cl::desc("0: none; 1: optimizer state; 2: and gradients; 3: and parameters are split"),
                    llvm::cl::init(2)};
  Option<std::string> axis{*this, "axis",
                           llvm::cl::desc("the placement's axis to split along; its first when not said"),
                           llvm::cl::init("")};
  Option<std::string> strategy{*this, "strategy", llvm::cl::desc("bucket or tensor"), llvm::cl::init("bucket")};
  Option<int64_t> bucketBytes{
      *this, "bucket-bytes",
      llvm::cl::desc("join groups into buckets of at least so many bytes; 0: a bucket per group"), llvm::cl::init(0)};
  Option<bool> keepLast{*this, "keep-last", llvm::cl::desc("stage 3 keeps the last group between forward and backward"),
                        llvm::cl::init(true)};
  Option<int64_t> holdGathersBytes{
      *this, "hold-gathers-bytes",
      llvm::cl::desc("a function that assigns nothing keeps what it gathers between its runs, up to so many bytes"),
      llvm::cl::init(int64_t{256} << 20)};
};

/// The global level, up to explicit boxing.
void buildGlobalPipeline(mlir::OpPassManager &manager, const ZeroOptions &options);

struct LocalOptions : mlir::PassPipelineOptions<LocalOptions> {
  Option<int64_t> prefetch{*this, "prefetch", llvm::cl::desc("gathers start so many groups ahead: 0 or 1"),
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
