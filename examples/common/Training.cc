#include "examples/common/Training.h"

#include "compiler/launch/LaunchFiles.h"
#include "compiler/launch/LaunchReport.h"
#include "compiler/launch/SessionTensors.h"
#include "examples/common/ExactSum.h"
#include "runtime/io/Npy.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

#include <algorithm>
#include <cmath>

namespace splitcast {

/// The number of elements of a variable that are read at a time when it is summed, so that the memory for it does not
/// grow with the variable.
static constexpr int64_t kPartElements = 1 << 18;

void TrainingFlags::addTo(Flags &flags) {
  flags.addInteger("steps", &steps, 0, 1'000'000'000, "the number of training steps");
  flags.addZero(&zero);
  flags.addInteger("seed", &seed, 0, INT64_MAX, "the seed of initial values and of the data");
  flags.addString("write-mlir", &writeMlir, "FILE.mlir",
                  "write the model as a module, with which splitcast-run trains to the same bits");
  flags.addString("write-inputs", &writeInputs, "DIRECTORY",
                  "write the inputs of all steps to DIRECTORY/NAME.npy, for splitcast-run --input");
  flags.addString("losses", &losses, "FILE",
                  "write a line per step after the last one: its number, its loss in decimal, and its exact loss in "
                  "hexadecimal");
  flags.addString("metrics", &metrics, "FILE.jsonl", "write a line per step: its number, its seconds and its loss");
  sources.addTo(flags);
  flags.addString("save-variables", &saveVariables, "FILE", "write all variables after the last step");
  flags.addSwitch("report", &report, "print memory and communication before anything runs");
  for (const char *name : {"metrics", "report"}) // only rank 0 writes these
    flags.letDiffer(name);
  checkpoints.addTo(flags);
  launch.addTo(flags);
}

//===----------------------------------------------------------------------===//
// Before the first step
//===----------------------------------------------------------------------===//

absl::StatusOr<std::unique_ptr<Training>> Training::create(const TrainingFlags &flags, Launch &launch, Graph &graph,
                                                           Batches batches, Validation validation) {
  SPLITCAST_RETURN_IF_ERROR(flags.sources.check(flags.checkpoints.resume));
  std::unique_ptr<Training> training(new Training(flags, launch, std::move(batches), std::move(validation)));
  SPLITCAST_RETURN_IF_ERROR(training->compile(graph));
  SPLITCAST_RETURN_IF_ERROR(training->checkBatches());
  if (flags.report) {
    launch.atEnd(printViewedMemory);
    SPLITCAST_RETURN_IF_ERROR(printReport(*training->compiled, launch.communicator()));
  }
  absl::Status opened = launch.rank() == 0 ? training->openFiles(graph) : absl::OkStatus();
  SPLITCAST_RETURN_IF_ERROR(launch.agree(opened, "opening of the files"));
  SPLITCAST_ASSIGN_OR_RETURN(Checkpoints checkpoints,
                             Checkpoints::open(flags.checkpoints, flags.seed, launch, training->session()));
  training->checkpoints.emplace(std::move(checkpoints));
  SPLITCAST_ASSIGN_OR_RETURN(training->done, training->checkpoints->resume(flags.steps, flags.sources.rates));
  return training;
}

absl::Status Training::compile(Graph &graph) {
  SPLITCAST_ASSIGN_OR_RETURN(mlir::ModuleOp module, graph.finish());
  SessionOptions options = sessionOptionsOf(job);
  options.compile.zero = flags.zero;
  options.savesBeside = !flags.checkpoints.directory.empty();
  options.seed = static_cast<uint64_t>(flags.seed);
  SPLITCAST_ASSIGN_OR_RETURN(compiled, Session::create(module, options, job.device(), job.communicator()));
  return flags.sources.load(*compiled, job.rank());
}

/// Checks all batches before training starts, so that an error does not wait for
/// the first validation.
absl::Status Training::checkBatches() const {
  // Functions that runOnce() runs may have inputs that "train" does not have.
  std::vector<TensorInfo> all;
  for (const std::string &function : compiled->functions()) {
    SPLITCAST_ASSIGN_OR_RETURN(std::vector<TensorInfo> inputs, compiled->inputs(function));
    all.insert(all.end(), inputs.begin(), inputs.end());
  }
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<TensorInfo> trained, compiled->inputs("train"));
  SPLITCAST_RETURN_IF_ERROR(batches.check("train", trained, all));
  if (validation.every == 0)
    return absl::OkStatus();
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<TensorInfo> validated, compiled->inputs("validate"));
  return validation.batches.check("validate", validated);
}

absl::Status Training::openFiles(Graph &graph) {
  std::vector<std::string> written = flags.launch.writtenFiles(/*rank=*/0);
  written.insert(written.end(), {flags.losses, flags.metrics, flags.writeMlir});
  if (!flags.writeInputs.empty()) {
    SPLITCAST_ASSIGN_OR_RETURN(std::vector<TensorInfo> inputs, compiled->inputs("train"));
    for (const TensorInfo &input : inputs)
      written.push_back(pathOf(input));
  }
  SPLITCAST_RETURN_IF_ERROR(
      checkDistinctFiles({flags.sources.variables, flags.sources.weights, flags.sources.known}, written));
  written.push_back(flags.saveVariables); // which may replace what was loaded
  std::vector<std::string> data;
  for (const std::string *file : flags.data)
    data.push_back(*file);
  SPLITCAST_RETURN_IF_ERROR(checkDistinctFiles(data, written));
  SPLITCAST_RETURN_IF_ERROR(checkOutside(written, {flags.checkpoints.directory, flags.checkpoints.resume}));
  // Files that are written at the end are created once now, so that a wrong path
  // is an error before hours of training.
  for (const std::string &path : {flags.saveVariables, flags.losses})
    if (!path.empty())
      SPLITCAST_RETURN_IF_ERROR(runtime::PendingFile::create(path).status());
  if (!flags.writeMlir.empty())
    SPLITCAST_RETURN_IF_ERROR(graph.writeMlir(flags.writeMlir));
  if (!flags.writeInputs.empty())
    SPLITCAST_RETURN_IF_ERROR(writeInputs());
  if (flags.metrics.empty())
    return absl::OkStatus();
  using Mode = runtime::JsonlWriter::Mode;
  const Mode mode = flags.checkpoints.resume.empty() ? Mode::Replace : Mode::Continue;
  SPLITCAST_ASSIGN_OR_RETURN(runtime::JsonlWriter writer, runtime::JsonlWriter::open(flags.metrics, mode));
  metrics.emplace(std::move(writer));
  return absl::OkStatus();
}

std::string Training::pathOf(const TensorInfo &input) const {
  return absl::StrCat(flags.writeInputs, "/", input.name, ".npy");
}

absl::Status Training::writeInputs() {
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<TensorInfo> inputs, compiled->inputs("train"));
  for (const TensorInfo &input : inputs) {
    SPLITCAST_ASSIGN_OR_RETURN(runtime::NpyWriter file,
                               runtime::NpyWriter::create(pathOf(input), input.type, input.shape));
    std::vector<std::byte> batch(sbp::numElements(input.shape) * runtime::bytesOf(input.type));
    for (int64_t step = 0; step < flags.steps; ++step) {
      SPLITCAST_RETURN_IF_ERROR(batches.make(input, step, {0, input.shape[0]}, absl::MakeSpan(batch)));
      SPLITCAST_RETURN_IF_ERROR(file.append(1, batch.data()));
    }
    SPLITCAST_RETURN_IF_ERROR(file.commit());
  }
  return absl::OkStatus();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

absl::Status Training::feed(const std::string &function, const Batches &from, int64_t batch) {
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<TensorInfo> inputs, compiled->inputs(function));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorInfo &input = inputs[i];
    SPLITCAST_ASSIGN_OR_RETURN(absl::Span<std::byte> piece, compiled->inputPiece(function, i));
    const size_t boxBytes = piece.size() / std::max<size_t>(1, input.boxes.size());
    for (size_t box = 0; box < input.boxes.size(); ++box)
      SPLITCAST_RETURN_IF_ERROR(
          from.make(input, batch, input.boxes[box].front(), piece.subspan(box * boxBytes, boxBytes)));
  }
  return absl::OkStatus();
}

absl::Status Training::runOnce(const std::string &function, int64_t batch) {
  SPLITCAST_RETURN_IF_ERROR(feed(function, batches, batch));
  return compiled->run(function);
}

absl::StatusOr<double> Training::lossOf(const std::string &function, const Batches &from, int64_t batch) {
  SPLITCAST_RETURN_IF_ERROR(feed(function, from, batch));
  SPLITCAST_RETURN_IF_ERROR(compiled->run(function));
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<NamedScalar> scalars, scalarOutputs(*compiled, function));
  double loss = 0;
  for (const NamedScalar &scalar : scalars)
    if (scalar.name == "loss")
      loss = scalar.value;
  return loss;
}

absl::StatusOr<double> Training::validate() {
  double sum = 0;
  for (int64_t batch = 0; batch < validation.count; ++batch) {
    SPLITCAST_ASSIGN_OR_RETURN(double loss, lossOf("validate", validation.batches, batch));
    sum += loss;
  }
  return sum / static_cast<double>(validation.count);
}

/// Returns an error if the loss is not finite: the step has then ruined the
/// variables. With a loss scale it has not, since steps with gradients that are
/// not finite are skipped.
absl::Status Training::checkFinite(double loss) const {
  if (std::isfinite(loss))
    return absl::OkStatus();
  const std::vector<Session::Variable> variables = compiled->variables();
  const bool isLeftOut = std::any_of(variables.begin(), variables.end(), [](const Session::Variable &variable) {
    return variable.name == "optimizer.loss_scale";
  });
  if (isLeftOut)
    return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat("the loss is ", loss,
                                            ", and training cannot continue from it; lower the learning rate or clip "
                                            "gradients, and resume from the last checkpoint"));
}

absl::StatusOr<StepResult> Training::step(int64_t step) {
  const absl::Time begin = absl::Now();
  absl::StatusOr<double> loss = lossOf("train", batches, step - 1);
  const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  absl::StatusOr<double> validated = 0.0;
  const bool isTime = validation.every > 0 && step % validation.every == 0;
  if (loss.ok() && isTime)
    validated = validate();
  const absl::Status finite = loss.ok() ? checkFinite(*loss) : absl::OkStatus();
  for (const absl::Status &status : {loss.status(), finite, validated.status()})
    if (!status.ok())
      return absl::Status(status.code(), absl::StrCat("step ", step, ": ", std::string(status.message())));
  return StepResult{step, seconds, *loss, isTime ? std::optional<double>(*validated) : std::nullopt};
}

absl::Status Training::record(const StepResult &result, const nlohmann::ordered_json &more) {
  if (job.rank() == 0 && !flags.losses.empty())
    losses.emplace_back(result.step, result.loss);
  if (metrics) {
    nlohmann::ordered_json line = metricsOf(result.step, result.seconds, {{"loss", result.loss}});
    if (result.validationLoss)
      line["validation_loss"] = *result.validationLoss;
    line.update(more);
    SPLITCAST_RETURN_IF_ERROR(metrics->write(line));
  }
  SPLITCAST_RETURN_IF_ERROR(checkpoints->afterStep(result.step, result.validationLoss));
  return result.step == flags.steps ? checkpoints->finish() : absl::OkStatus();
}

//===----------------------------------------------------------------------===//
// After the last step
//===----------------------------------------------------------------------===//

absl::Status Training::writeLosses() {
  SPLITCAST_ASSIGN_OR_RETURN(runtime::PendingFile file, runtime::PendingFile::create(flags.losses));
  std::string text;
  for (const auto &[step, loss] : losses)
    absl::StrAppend(&text, absl::StrFormat("%d %.9g %a\n", step, loss, loss));
  absl::Status status = file.file().append(text);
  return status.ok() ? file.commit() : status;
}

absl::Status Training::finish() {
  if (!flags.saveVariables.empty())
    SPLITCAST_RETURN_IF_ERROR(compiled->saveVariables(flags.saveVariables));
  return job.rank() == 0 && !flags.losses.empty() ? writeLosses() : absl::OkStatus();
}

/// Adds this rank's pieces of the variable, unless another rank has the same
/// ones and adds them.
static absl::Status addPieces(Session &session, const Session::Variable &variable, ExactSum &sum) {
  if (!variable.ownsPieces)
    return absl::OkStatus();
  std::vector<float> values(kPartElements);
  for (const sbp::Run &piece : variable.pieces)
    for (int64_t done = 0; done < piece.count; done += kPartElements) {
      const int64_t count = std::min(kPartElements, piece.count - done);
      SPLITCAST_RETURN_IF_ERROR(session.readPart(variable.name, {piece.local + done, count}, values.data()));
      for (int64_t i = 0; i < count; ++i)
        sum.add(values[i]);
    }
  return absl::OkStatus();
}

absl::StatusOr<double> Training::sumOf(const std::vector<std::string> &variables) {
  ExactSum mine;
  for (const Session::Variable &variable : compiled->variables()) {
    if (std::find(variables.begin(), variables.end(), variable.name) == variables.end())
      continue;
    if (variable.type != runtime::ElementType::F32)
      return absl::UnimplementedError(
          absl::StrCat("the variable '", variable.name, "' is not f32; only f32 variables can be summed"));
    SPLITCAST_RETURN_IF_ERROR(addPieces(*compiled, variable, mine));
  }
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<std::string> all,
                             job.communicator().exchange(mine.encode(), {"sum of the parameters"}));
  ExactSum sum;
  for (const std::string &text : all)
    sum.add(ExactSum::decode(text));
  return sum.value();
}

} // namespace splitcast
