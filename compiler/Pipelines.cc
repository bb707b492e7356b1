#include "compiler/Pipelines.h"

#include "passes/global/Passes.h"
#include "passes/global/ZeroTexts.h"
#include "passes/local/Passes.h"
#include "passes/plan/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace splitcast {

/// What is computed: backward, updates, and of a step its micro-batches.
static void addComputation(OpPassManager &manager, const sbp::ZeroOptions &options) {
  // Types first: what is cast, backward casts, too.
  MixedPrecisionPassOptions precision;
  precision.computeType = sbp::zeroOptionText("compute-type", options);
  manager.addPass(createMixedPrecisionPass(precision));
  // Then backward: it needs ops that still say their gradient. Then no nn.minimize is left.
  manager.addPass(createDifferentiatePass());
  // Losses of divided classes, forward and backward, by what ranks tell each other of a row.
  manager.addPass(createSplitClassesPass());
  // What is made again is forward's: before there is an update, or a micro-batch.
  RecomputePassOptions recompute;
  recompute.standard = options.policy.recompute();
  recompute.groups = options.recomputedGroups;
  manager.addPass(createRecomputePass(recompute));
  // Gradients as they are, while it is said which belong to one loss.
  manager.addPass(createScaleLossesPass());
  // Norms of gradients, while it is said which updates share one.
  manager.addPass(createClipGradientsPass());
  // Updates as elementwise ops, with their state as variables: from here on nothing knows what an optimizer is.
  manager.addPass(createExpandOptimizersPass());

  // Sums over the batch in parts that have no rounding, before there are micro-batches and ranks that have addends.
  ExactSumsPassOptions exact;
  exact.reproducible = options.reproducible;
  exact.microBatches = options.accumulate;
  exact.axis = options.axis;
  manager.addPass(createExactSumsPass(exact));

  // Micro-batches, before anything lies anywhere: their functions and accumulators are like a user's from here on.
  SplitStepsPassOptions steps;
  steps.microBatches = options.accumulate;
  steps.order = sbp::toString(options.accumulateOrder);
  steps.axis = options.axis;
  manager.addPass(createSplitStepsPass(steps));
}

void buildGlobalPipeline(OpPassManager &manager, const sbp::ZeroOptions &options) {
  addComputation(manager, options);

  //--- Where variables lie ------------------------------------------------------------------------------------------//
  // Storage only; before any signature is chosen, since updates are computed where gradient and state lie.
  manager.addPass(createZeroStoragePass(options));

  //--- What is communicated -----------------------------------------------------------------------------------------//
  // From here on every tensor has a signature.
  manager.addPass(createPropagatePass());
  // Reads and assigns as stored; gathers in the scopes of their phases, so that CSE cannot join them again.
  manager.addPass(createInsertBoxingPass());
  // Two reads of a variable, or equal constants, are one from here on; boxings in a row are composed.
  manager.addPass(createCanonicalizerPass());
  manager.addNestedPass<func::FuncOp>(createMergeEqualPass());

  //--- In how many calls --------------------------------------------------------------------------------------------//
  // After CSE, which has made equal boxings of a member one: one op on the range for all members of a bucket. From here
  // on no value is a slot but what is assigned alone.
  manager.addPass(createJoinBucketsPass());

  //--- What is gathered once ----------------------------------------------------------------------------------------//
  // Buckets whole, and gathers where they are wanted: of a step's micro-batches, then of functions that assign nothing.
  manager.addPass(createHoistGathersPass());
  HoldGathersPassOptions hold;
  hold.limitBytes = options.holdGathersBytes;
  manager.addPass(createHoldGathersPass(hold));
  // Of layers that lie at ranks of an axis, all micro-batches in one function, when all that is communicated is known.
  InterleaveRunsPassOptions interleave;
  interleave.schedule = sbp::toString(options.pipeline);
  manager.addPass(createInterleaveRunsPass(interleave));
  // Of the gathers that are left, by all that is computed between them.
  manager.addPass(createChoosePrefetchPass());
  manager.addPass(createVerifyGlobalPass());
}

void buildLocalPipeline(OpPassManager &manager, const LocalOptions &options) {
  // Views and constants that several members made are one.
  manager.addNestedPass<func::FuncOp>(createMergeEqualPass());
  PrefetchPassOptions prefetch;
  prefetch.depth = options.prefetch;
  manager.addPass(createPrefetchPass(prefetch));
  // Before kernels take logits in.
  manager.addNestedPass<func::FuncOp>(createPadClassesPass());
  // Kernels do not cross collectives, whose places are now final.
  manager.addNestedPass<func::FuncOp>(createFuseKernelsPass());
  // Moves whole kernels, among collectives that prefetch has put in their places.
  manager.addPass(createUpdateAsReducedPass());
  // Whole kernels, in what order between all that stays where it is now.
  manager.addNestedPass<func::FuncOp>(createOrderForMemoryPass());
  manager.addPass(createVerifyLocalPass());
}

void buildPlanPipeline(OpPassManager &manager) { manager.addPass(createLowerToExecPass()); }

namespace {
/// What --help says of `enable-zero`.
struct ZeroHelp : PassPipelineOptions<ZeroHelp> {
  ZeroTexts<Option<std::string>> texts{*this, /*ofStorageOnly=*/false};
};
} // namespace

void registerPipelines() {
  // Not by PassPipelineOptions, which would read the text: commas separate as spaces do.
  registerPassPipeline(
      "enable-zero", "ZeRO by stage: storage first, which emits no communication, then boxing, which does",
      [](OpPassManager &manager, StringRef text, function_ref<LogicalResult(const Twine &)> emitError) {
        sbp::ZeroOptions options;
        if (std::optional<std::string> error = sbp::parseEnableZero(text, &options))
          return emitError("'enable-zero' is given '" + text + "': " + *error);
        buildGlobalPipeline(manager, options);
        return success();
      },
      [](function_ref<void(const mlir::detail::PassOptions &)> show) { show(ZeroHelp()); });
  PassPipelineRegistration<LocalOptions>("local-pipeline", "The local level, after sbp-localize", buildLocalPipeline);
}

} // namespace splitcast
