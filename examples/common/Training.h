//===- Training.h - What all examples share: flags and the loop of steps -------===//
#ifndef SPLITCAST_EXAMPLES_COMMON_TRAINING_H
#define SPLITCAST_EXAMPLES_COMMON_TRAINING_H

#include "compiler/graph/Graph.h"
#include "compiler/launch/Checkpoints.h"
#include "compiler/launch/Launch.h"
#include "compiler/launch/Session.h"
#include "compiler/launch/VariableSources.h"
#include "runtime/io/Jsonl.h"

#include <functional>
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

/// Makes rows [rows.begin, rows.begin + rows.count) of an input of a step, row-major, at `to`. Depends on its arguments
/// only, so that the batches are the same for any number of ranks.
using BatchMaker =
    std::function<absl::Status(const std::string &input, int64_t step, const sbp::Interval &rows, void *to)>;

struct StepResult {
  int64_t step = 0; ///< from 1
  double seconds = 0;
  double loss = 0;
  std::optional<double> validationLoss; ///< where it was computed behind this step
};

/// What is computed of data that nothing is trained on, now and then, by the function "validate", which has an output
/// "loss": the mean over the batches.
struct Validation {
  int64_t every = 0;   ///< steps; 0: never
  int64_t batches = 1; ///< numbered from 0, the same each time
  BatchMaker maker;
};

/// Trains the function "train" of a graph, whose inputs are split along their first dimension only and which has an
/// output "loss". All ranks call the same methods.
class Training {
public:
  /// Compiles the graph, and does what the flags ask for before the first step.
  static absl::StatusOr<std::unique_ptr<Training>> create(const TrainingFlags &flags, Launch &launch, Graph &graph,
                                                          BatchMaker batches, Validation validation = {});

  Session &session() { return *compiled; }
  Launch &launch() { return job; }

  /// Runs all steps, but for those that a checkpoint had done. `before` and `after`, where given, are called around
  /// each; what `after` adds to the line of metrics follows the step, its time and the loss.
  absl::Status run(const std::function<void(int64_t step)> &before,
                   const std::function<void(const StepResult &, nlohmann::ordered_json &metrics)> &after);

  /// Feeds and runs a function once, on the batch of `step`.
  absl::Status runOnce(const std::string &function, int64_t step);

  /// Saves what the flags ask for: variables and losses.
  absl::Status finish();

  /// The sum of all elements of these variables, the same in every digit for every division over ranks.
  absl::StatusOr<double> sumOf(const std::vector<std::string> &variables);

private:
  Training(const TrainingFlags &flags, Launch &launch, BatchMaker batches, Validation validation)
      : flags(flags), job(launch), batches(std::move(batches)), validation(std::move(validation)) {}
  absl::Status compile(Graph &graph);
  absl::Status openFiles(Graph &graph);
  absl::Status writeInputs();
  absl::StatusOr<double> lossOf(const std::string &function, const BatchMaker &maker, int64_t batch);
  absl::Status feed(const std::string &function, const BatchMaker &maker, int64_t batch);
  absl::Status checkFinite(double loss) const;
  absl::StatusOr<StepResult> runStep(int64_t step);
  absl::StatusOr<double> validate();
  absl::Status writeLosses();

  const TrainingFlags &flags;
  Launch &job;
  BatchMaker batches;
  Validation validation;
  std::unique_ptr<Session> compiled;
  std::optional<Checkpoints> checkpoints;
  int64_t done = 0;                            ///< steps, before the first of run()
  std::optional<runtime::JsonlWriter> metrics; ///< of rank 0
  std::vector<StepResult> results;
};

} // namespace splitcast

#endif // SPLITCAST_EXAMPLES_COMMON_TRAINING_H
