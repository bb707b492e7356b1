#include "compiler/Pipelines.h"

#include "passes/global/Passes.h"
#include "passes/global/ZeroTexts.h"
#include "passes/local/Passes.h"
#include "passes/plan/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace splitcast {

/// Adds the passes that decide what is computed: backward, updates, and a
/// step's micro-batches.
static void addComputation(OpPassManager &manager, const sbp::ZeroOptions &options) {
  // Types come first: the gradients of casts are casts, too.
  MixedPrecisionPassOptions precision;
  precision.computeType = sbp::zeroOptionText("compute-type", options);
  manager.addPass(createMixedPrecisionPass(precision));
  // Then backward, which needs the original ops for their gradients. After it
  // there is no nn.minimize.
  manager.addPass(createDifferentiatePass());
  // After backward, since the pass rewrites a cross-entropy over divided
  // classes together with its gradient.
  manager.addPass(createSplitClassesPass());
  // Only forward ops are recomputed, so this comes before updates become ops of
  // their own, and before there are micro-batches.
  RecomputePassOptions recompute;
  recompute.standard = options.policy.recompute();
  recompute.groups = options.recomputedGroups;
  manager.addPass(createRecomputePass(recompute));
  // Before gradients are changed, and while ops still say which gradients
  // belong to one loss.
  manager.addPass(createScaleLossesPass());
  // While ops still say which updates share a norm.
  manager.addPass(createClipGradientsPass());
  // After this pass, updates are elementwise ops and their state is variables:
  // no later pass knows what an optimizer is.
  manager.addPass(createExpandOptimizersPass());

  // Before there are micro-batches, and before ranks have addends: both are
  // part of an exact sum.
  ExactSumsPassOptions exact;
  exact.reproducible = options.reproducible;
  exact.microBatches = options.accumulate;
  exact.axis = options.axis;
  manager.addPass(createExactSumsPass(exact));

  // Before storage is decided: later passes treat the functions and
  // accumulators of micro-batches like a user's.
  SplitStepsPassOptions steps;
  steps.microBatches = options.accumulate;
  steps.order = sbp::toString(options.accumulateOrder);
  steps.axis = options.axis;
  manager.addPass(createSplitStepsPass(steps));
}

void buildStoragePipeline(OpPassManager &manager, const sbp::ZeroOptions &options) {
  addComputation(manager, options);
  // Decides only the storage. This comes before signatures are chosen, since
  // updates are computed where gradient and state lie.
  manager.addPass(createZeroStoragePass(options));
}

void buildGlobalPipeline(OpPassManager &manager, const sbp::ZeroOptions &options) {
  buildStoragePipeline(manager, options);

  //--- Communication --------------------------------------------------------//
  // After this pass every tensor has a signature.
  manager.addPass(createPropagatePass());
  // Reads and assignments use the storage signature from here on. Gathers stand
  // in the scopes of their phases, so that they are not merged again.
  manager.addPass(createInsertBoxingPass());
  // Composes consecutive boxings, and then merges equal ops, such as two reads
  // of a variable or equal constants.
  manager.addPass(createCanonicalizerPass());
  manager.addNestedPass<func::FuncOp>(createMergeEqualPass());

  //--- Buckets --------------------------------------------------------------//
  // After equal ops are merged, so that a member has one boxing: one op on the
  // range replaces those on all members of a bucket. After it, only values that
  // are assigned by themselves are slots.
  manager.addPass(createJoinBucketsPass());

  //--- Gathers --------------------------------------------------------------//
  // Now gathers move whole buckets and stand where they are needed. So they can
  // be hoisted: first out of a step's micro-batches, then out of functions that
  // assign nothing.
  manager.addPass(createHoistGathersPass());
  HoldGathersPassOptions hold;
  hold.limitBytes = options.holdGathersBytes;
  manager.addPass(createHoldGathersPass(hold));
  // For pipelines. This joins the micro-batches into one function, once all
  // communication is known.
  InterleaveRunsPassOptions interleave;
  interleave.schedule = sbp::toString(options.pipeline);
  manager.addPass(createInterleaveRunsPass(interleave));
  // Decides for the remaining gathers, by what is computed between them.
  manager.addPass(createChoosePrefetchPass());
  manager.addPass(createVerifyGlobalPass());
}

void buildLocalPipeline(OpPassManager &manager, const LocalOptions &options) {
  // Several members of a bucket may have made equal views and constants.
  manager.addNestedPass<func::FuncOp>(createMergeEqualPass());
  PrefetchPassOptions prefetch;
  prefetch.depth = options.prefetch;
  manager.addPass(createPrefetchPass(prefetch));
  // Before fusion, since kernels take the logits in.
  manager.addNestedPass<func::FuncOp>(createPadClassesPass());
  // Before fusion, since then only calls are left as single ops.
  manager.addNestedPass<func::FuncOp>(createKeepStatisticsPass());
  // After prefetching, since kernels do not extend across collectives, whose
  // places are now final.
  manager.addNestedPass<func::FuncOp>(createFuseKernelsPass());
  // After fusion, since it moves whole kernels, past collectives that are in
  // their final places.
  manager.addPass(createUpdateAsReducedPass());
  // Last, since it orders whole kernels between the ops that do not move.
  manager.addNestedPass<func::FuncOp>(createOrderForMemoryPass());
  manager.addPass(createVerifyLocalPass());
}

void buildPlanPipeline(OpPassManager &manager) { manager.addPass(createLowerToExecPass()); }

namespace {
/// The help text of `enable-zero`.
struct ZeroHelp : PassPipelineOptions<ZeroHelp> {
  ZeroTexts<Option<std::string>> texts{*this, /*ofStorageOnly=*/false};
};
} // namespace

void registerPipelines() {
  // This is not a PassPipelineOptions, which would split the text itself: in
  // this text, commas separate options just as spaces do.
  registerPassPipeline(
      "enable-zero", "Global level: backward, ZeRO storage by stage, signatures and communication",
      [](OpPassManager &manager, StringRef text, function_ref<LogicalResult(const Twine &)> emitError) {
        sbp::ZeroOptions options;
        if (std::optional<std::string> error = sbp::parseEnableZero(text, &options))
          return emitError("'enable-zero' is given '" + text + "': " + *error);
        buildGlobalPipeline(manager, options);
        return success();
      },
      [](function_ref<void(const mlir::detail::PassOptions &)> show) { show(ZeroHelp()); });
  PassPipelineRegistration<LocalOptions>(
      "local-pipeline", "Local level: orders and fuses the ops of one rank, after sbp-localize", buildLocalPipeline);
}

} // namespace splitcast
