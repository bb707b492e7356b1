//===- Training.h - What all examples share: flags and the steps of a loop -------===//
//
//   SPLITCAST_ASSIGN_OR_RETURN(auto training, Training::create(flags, launch, graph, batches));
//   for (int64_t step = training->firstStep(); step <= flags.steps; ++step) {
//     SPLITCAST_ASSIGN_OR_RETURN(StepResult result, training->step(step));
//     SPLITCAST_RETURN_IF_ERROR(training->record(result));
//   }
//   return training->finish();
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_EXAMPLES_COMMON_TRAINING_H
#define SPLITCAST_EXAMPLES_COMMON_TRAINING_H

#include "compiler/graph/Graph.h"
#include "compiler/launch/Checkpoints.h"
#include "compiler/launch/Launch.h"
#include "compiler/launch/Session.h"
#include "compiler/launch/VariableSources.h"
#include "examples/common/Batches.h"
#include "runtime/io/Jsonl.h"

#include <optional>

namespace splitcast {

/// The flags of every example; the members hold the defaults.
struct TrainingFlags {
  int64_t steps = 100;
  sbp::ZeroOptions zero = CompileOptions::withoutZero();
  int64_t seed = 0;
  std::string writeMlir, writeInputs, losses, metrics, saveVariables;
  VariableSources sources;
  bool report = false;
  CheckpointOptions checkpoints;
  LaunchOptions launch;

  void addTo(Flags &flags);
};

struct StepResult {
  int64_t step = 0; ///< from 1
  double seconds = 0;
  double loss = 0;
  std::optional<double> validationLoss; ///< where it was computed behind this step
};

/// What is computed of data that nothing is trained on, now and then, by the function "validate", which has an output
/// "loss": the mean over the batches.
struct Validation {
  int64_t every = 0; ///< steps; 0: never
  int64_t count = 1; ///< of batches, numbered from 0, the same each time
  Batches batches;
};

/// Trains the function "train" of a graph, whose inputs are split along their first dimension only and which has an
/// output "loss". All ranks call the same methods.
class Training {
public:
  /// Compiles the graph, and does what the flags ask for before the first step.
  ///   Errors  InvalidArgument: `batches` do not fit the inputs of "train", or those of `validation` the inputs of
  ///           "validate" (Batches::check). Those of Session and Checkpoints.
  static absl::StatusOr<std::unique_ptr<Training>> create(const TrainingFlags &flags, Launch &launch, Graph &graph,
                                                          Batches batches, Validation validation = {});

  Session &session() { return *compiled; }
  Launch &launch() { return job; }

  /// Steps are counted from 1. The first one is behind those that a checkpoint had done, the last one is flags.steps.
  int64_t firstStep() const { return done + 1; }

  /// Trains on the next batch; then validates, if it is time.
  absl::StatusOr<StepResult> step(int64_t step);

  /// Called after each step: writes the line of metrics, to which `more` (an object) is added, and the checkpoint that
  /// is due. It is not done by step(), so that what is measured in between has no part of a checkpoint in it. After the
  /// last step, waits until all checkpoints are on the disk.
  absl::Status record(const StepResult &result, const nlohmann::ordered_json &more = nlohmann::ordered_json::object());

  /// Feeds and runs a function once, on the batch of this number, from 0.
  absl::Status runOnce(const std::string &function, int64_t batch);

  /// Saves what the flags ask for: variables and losses.
  absl::Status finish();

  /// The sum of all elements of these variables, the same in every digit for every division over ranks.
  absl::StatusOr<double> sumOf(const std::vector<std::string> &variables);

private:
  Training(const TrainingFlags &flags, Launch &launch, Batches batches, Validation validation)
      : flags(flags), job(launch), batches(std::move(batches)), validation(std::move(validation)) {}
  absl::Status compile(Graph &graph);
  absl::Status openFiles(Graph &graph);
  absl::Status writeInputs();
  absl::Status checkBatches() const;
  absl::StatusOr<double> lossOf(const std::string &function, const Batches &from, int64_t batch);
  absl::Status feed(const std::string &function, const Batches &from, int64_t batch);
  absl::Status checkFinite(double loss) const;
  absl::StatusOr<double> validate();
  absl::Status writeLosses();

  const TrainingFlags &flags;
  Launch &job;
  Batches batches;
  Validation validation;
  std::unique_ptr<Session> compiled;
  std::optional<Checkpoints> checkpoints;
  int64_t done = 0;                            ///< steps, by the checkpoint that was resumed from
  std::optional<runtime::JsonlWriter> metrics; ///< of rank 0
  std::vector<StepResult> results;
};

} // namespace splitcast

#endif // SPLITCAST_EXAMPLES_COMMON_TRAINING_H
