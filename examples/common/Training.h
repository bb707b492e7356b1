//===- Training.h - Flags and the training loop of all examples -----------------===//
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

/// The flags that every example has. The members hold the defaults.
struct TrainingFlags {
  int64_t steps = 100;
  sbp::ZeroOptions zero = CompileOptions::withoutZero();
  int64_t seed = 0;
  std::string writeMlir, writeInputs, losses, metrics, saveVariables;
  /// The program's own flags of files that it reads, which nothing may overwrite.
  std::vector<const std::string *> data;
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
  std::optional<double> validationLoss; ///< if it was computed after this step
};

/// Validation at regular intervals, on data that is not trained on. It runs the graph's function "validate" on each
/// batch; the validation loss is the mean of its output "loss" over the batches.
struct Validation {
  int64_t every = 0; ///< the number of steps from one validation to the next; 0: never validate
  int64_t count = 1; ///< the number of batches per validation; they are batches 0 to count - 1 each time
  Batches batches;
};

/// Trains with the function "train" of a graph. Its inputs may be split along their first dimension only, and it has an
/// output "loss". All ranks call the same methods in the same order.
class Training {
public:
  /// Compiles the graph, opens and writes the files that the flags ask for, loads variables, and resumes from a
  /// checkpoint. `flags` and `launch` are borrowed, and must outlive the result; so must the graph.
  ///   Errors  InvalidArgument: `batches` do not fit the inputs of "train", or the batches of `validation` do not fit
  ///           the inputs of "validate" (Batches::check). Those of Session and Checkpoints.
  static absl::StatusOr<std::unique_ptr<Training>> create(const TrainingFlags &flags, Launch &launch, Graph &graph,
                                                          Batches batches, Validation validation = {});

  Session &session() { return *compiled; }
  Launch &launch() { return job; }

  /// The number of the first step to run; steps count from 1. It is 1, or follows the last step of the checkpoint that
  /// was resumed from. The last step is flags.steps.
  int64_t firstStep() const { return done + 1; }

  /// Trains on batch `step` - 1, then validates if a validation is due.
  ///   Errors  OutOfRange: the loss is not finite, and the graph has no loss scale that would skip the step. Those of
  ///           Session::run and of the fills. The message names the step.
  absl::StatusOr<StepResult> step(int64_t step);

  /// Called after each step: writes the step's line of metrics, with the members of the object `more` added, and a
  /// checkpoint if one is due. step() does not do this itself, so that the time of a step does not include a
  /// checkpoint. After the last step it waits until all checkpoints are on the disk.
  absl::Status record(const StepResult &result, const nlohmann::ordered_json &more = nlohmann::ordered_json::object());

  /// Runs a function once on batch `batch`, which counts from 0.
  absl::Status runOnce(const std::string &function, int64_t batch);

  /// Called after the last step: writes the variables (--save-variables) and the losses (--losses) if asked to.
  absl::Status finish();

  /// Returns the sum of all elements of these variables. It has the same bits however they are split over the ranks.
  ///   Errors  Unimplemented: a variable is not f32. Those of the session and of Communicator::exchange.
  absl::StatusOr<double> sumOf(const std::vector<std::string> &variables);

private:
  Training(const TrainingFlags &flags, Launch &launch, Batches batches, Validation validation)
      : flags(flags), job(launch), batches(std::move(batches)), validation(std::move(validation)) {}
  absl::Status compile(Graph &graph);
  absl::Status openFiles(Graph &graph);
  /// Returns the file to which --write-inputs writes an input.
  std::string pathOf(const TensorInfo &input) const;
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
  int64_t done = 0;                               ///< the number of steps of the checkpoint that was resumed from
  std::optional<runtime::JsonlWriter> metrics;    ///< on rank 0 only
  std::vector<std::pair<int64_t, double>> losses; ///< by step; kept only for --losses, on rank 0
};

} // namespace splitcast

#endif // SPLITCAST_EXAMPLES_COMMON_TRAINING_H
