#include "compiler/Pipelines.h"

#include "passes/global/Passes.h"
#include "passes/local/Passes.h"
#include "passes/plan/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace splitcast {

void buildGlobalPipeline(OpPassManager &manager, const ZeroOptions &options) {
  //--- What is computed ---------------------------------------------------------------------------------------------//
  // Backward first: it needs ops that still say their gradient. Then no nn.minimize is left.
  manager.addPass(createDifferentiatePass());
  // Updates as elementwise ops, with their state as variables: from here on nothing knows what an optimizer is.
  manager.addPass(createExpandOptimizersPass());

  //--- Where variables lie ------------------------------------------------------------------------------------------//
  // Storage only; before any signature is chosen, since updates are computed where gradient and state lie.
  ZeroStoragePassOptions storage;
  storage.stage = options.stage;
  storage.axis = options.axis;
  storage.strategy = options.strategy;
  storage.bucketBytes = options.bucketBytes;
  manager.addPass(createZeroStoragePass(storage));

  //--- What is communicated -----------------------------------------------------------------------------------------//
  // Stage 1 is stage 2 with gradients reduced when backward has ended. From here on every tensor has a signature.
  PropagatePassOptions propagate;
  propagate.reduce = options.stage == 1 ? "late" : "early";
  manager.addPass(createPropagatePass(propagate));
  // Reads and assigns as stored; gathers in the scopes of their phases, so that CSE cannot join them again.
  InsertBoxingPassOptions boxing;
  boxing.keepLast = options.keepLast;
  manager.addPass(createInsertBoxingPass(boxing));
  // Two reads of a variable, or equal constants, are one from here on; boxings in a row are composed.
  manager.addPass(createCanonicalizerPass());
  manager.addNestedPass<func::FuncOp>(createMergeEqualPass());
  MarkHeldGathersPassOptions hold;
  hold.limitBytes = options.holdGathersBytes;
  manager.addPass(createMarkHeldGathersPass(hold));

  //--- In how many calls --------------------------------------------------------------------------------------------//
  // After CSE, which has made equal boxings of a member one: one op on the range for all members of a bucket. From here
  // on no value is a slot but what is assigned alone.
  manager.addPass(createJoinBucketsPass());
  manager.addPass(createVerifyGlobalPass());
}

void buildLocalPipeline(OpPassManager &manager, const LocalOptions &options) {
  // Views and constants that several members made are one.
  manager.addNestedPass<func::FuncOp>(createMergeEqualPass());
  PrefetchPassOptions prefetch;
  prefetch.depth = options.prefetch;
  manager.addNestedPass<func::FuncOp>(createPrefetchPass(prefetch));
  // Kernels do not cross collectives, whose places are now final.
  manager.addNestedPass<func::FuncOp>(createFuseKernelsPass());
  // Moves whole kernels, and what prefetch has started early.
  manager.addNestedPass<func::FuncOp>(createHoldGathersPass());
  manager.addPass(createVerifyLocalPass());
}

void buildPlanPipeline(OpPassManager &manager) { manager.addPass(createLowerToExecPass()); }

void registerPipelines() {
  PassPipelineRegistration<ZeroOptions>(
      "enable-zero", "ZeRO by stage: storage first, which emits no communication, then boxing, which does",
      buildGlobalPipeline);
  PassPipelineRegistration<LocalOptions>("local-pipeline", "The local level, after sbp-localize", buildLocalPipeline);
}

} // namespace splitcast
