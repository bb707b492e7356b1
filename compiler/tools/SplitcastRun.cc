// splitcast-run: compiles a module of the global level and runs one of its
// functions, on ranks started by mpirun or on a single one.
#include "compiler/Pipelines.h"
#include "compiler/launch/Alike.h"
#include "compiler/launch/LaunchReport.h"
#include "compiler/launch/SessionTensors.h"
#include "compiler/tools/ModuleFile.h"
#include "compiler/tools/RunFlags.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "mlir/IR/MLIRContext.h"

#include <algorithm>

using namespace splitcast;

namespace {

absl::Status invalid(const std::string &text) { return absl::InvalidArgumentError(text); }

absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> parseModule(const RunFlags &flags, mlir::MLIRContext &context) {
  // Opened only for its error, which names the reason; the parser's would only
  // say that there is no file.
  SPLITCAST_RETURN_IF_ERROR(runtime::File::openForReading(flags.module).status());
  return parseModuleFile(flags.module, &context, flags.allowBytecode);
}

absl::StatusOr<std::string> chooseFunction(const RunFlags &flags, const Session &session) {
  std::vector<std::string> functions = session.functions();
  std::string wanted = flags.function.empty() ? "train" : flags.function;
  if (flags.function.empty() && functions.size() == 1)
    return functions.front();
  if (std::find(functions.begin(), functions.end(), wanted) != functions.end())
    return wanted;
  return invalid(absl::StrCat("'", flags.module, "' has no function '", wanted, "'; set --function to one of: ",
                              functions.empty() ? "none" : absl::StrJoin(functions, ", ")));
}

absl::StatusOr<int64_t> chooseSteps(const RunFlags &flags, const StepInputs &inputs) {
  if (inputs.isEmpty())
    return flags.steps < 0 ? 1 : flags.steps;
  if (flags.steps > inputs.steps())
    return invalid(absl::StrCat("--steps is ", flags.steps, ", but '", inputs.shortestPath(), "' has ", inputs.steps(),
                                "; give fewer steps or a longer file"));
  return flags.steps < 0 ? inputs.steps() : flags.steps;
}

/// Checks that rank 0 can create the file by creating a pending one.
absl::Status checkWritable(const std::string &path) {
  return path.empty() ? absl::OkStatus() : runtime::PendingFile::create(path).status();
}

/// Checks that no file is written twice or both read and written. Only
/// --save-variables may overwrite the file that was loaded.
absl::Status checkFiles(const RunFlags &flags, int64_t rank) {
  SPLITCAST_RETURN_IF_ERROR(flags.sources.check(flags.checkpoints.resume));
  std::vector<std::string> read = {flags.module}, written = {flags.saveVariables, flags.metrics};
  for (const NamedFile &file : flags.inputs)
    read.push_back(file.path);
  for (const NamedFile &file : flags.outputs)
    written.push_back(file.path);
  const std::vector<std::string> ofLaunch = flags.launch.writtenFiles(rank);
  written.insert(written.end(), ofLaunch.begin(), ofLaunch.end());
  SPLITCAST_RETURN_IF_ERROR(checkDistinctFiles(read, written));
  SPLITCAST_RETURN_IF_ERROR(checkOutside(written, {flags.checkpoints.directory, flags.checkpoints.resume}));
  written.front().clear();
  return checkDistinctFiles({flags.sources.variables, flags.sources.weights, flags.sources.known}, written);
}

/// One run, from the compiled module to the saved variables. Every part that
/// may fail on a single rank ends with an agreement, so that all ranks stop
/// together.
class Run {
public:
  Run(const RunFlags &flags, Launch &launch, Session &session) : flags(flags), launch(launch), session(session) {}

  absl::Status run() {
    SPLITCAST_RETURN_IF_ERROR(launch.agree(openInputs(), "opening of the inputs"));
    SPLITCAST_RETURN_IF_ERROR(launch.agreeAlike(inputsText, "inputs"));
    if (flags.report) {
      launch.atEnd(printViewedMemory);
      SPLITCAST_RETURN_IF_ERROR(printReport(session, launch.communicator()));
    }
    SPLITCAST_RETURN_IF_ERROR(flags.sources.load(session, launch.rank()));
    SPLITCAST_RETURN_IF_ERROR(launch.agree(openOutputs(), "opening of the outputs"));
    return runSteps();
  }

private:
  absl::Status openInputs() {
    SPLITCAST_ASSIGN_OR_RETURN(function, chooseFunction(flags, session));
    SPLITCAST_ASSIGN_OR_RETURN(StepInputs opened, StepInputs::open(session, function, flags.inputs));
    inputs.emplace(std::move(opened));
    absl::StatusOr<int64_t> count = chooseSteps(flags, *inputs);
    steps = count.value_or(0);
    inputsText = absl::StrCat(steps, " steps of @", function);
    for (const NamedFile &file : flags.inputs) {
      SPLITCAST_ASSIGN_OR_RETURN(std::string sample, sampleOfFile(file.path));
      absl::StrAppend(&inputsText, ", '", file.name, "' of ", sample);
    }
    return count.status();
  }

  absl::Status openOutputs() {
    SPLITCAST_ASSIGN_OR_RETURN(StepOutputs opened,
                               StepOutputs::open(session, function, flags.outputs, launch.communicator()));
    outputs.emplace(std::move(opened));
    if (launch.rank() != 0)
      return absl::OkStatus();
    if (absl::Status status = checkWritable(flags.saveVariables); !status.ok() || flags.metrics.empty())
      return status;
    using Mode = runtime::JsonlWriter::Mode;
    const Mode mode = flags.checkpoints.resume.empty() ? Mode::Replace : Mode::Continue;
    SPLITCAST_ASSIGN_OR_RETURN(runtime::JsonlWriter writer, runtime::JsonlWriter::open(flags.metrics, mode));
    metrics.emplace(std::move(writer));
    return absl::OkStatus();
  }

  absl::Status runSteps() {
    SPLITCAST_ASSIGN_OR_RETURN(Checkpoints checkpoints,
                               Checkpoints::open(flags.checkpoints, flags.seed, launch, session));
    SPLITCAST_ASSIGN_OR_RETURN(int64_t done, checkpoints.resume(steps, flags.sources.rates));
    for (int64_t step = done; step < steps; ++step) {
      absl::Status status = runStep(step);
      if (status.ok())
        status = checkpoints.afterStep(step + 1);
      SPLITCAST_RETURN_IF_ERROR(status);
    }
    SPLITCAST_RETURN_IF_ERROR(checkpoints.finish());
    return finish();
  }

  absl::Status runStep(int64_t step) {
    absl::Time begin = absl::Now();
    absl::Status status = inputs->feed(session, step);
    if (status.ok())
      status = session.run(function);
    if (status.ok())
      status = outputs->write(session, launch.communicator());
    if (!status.ok())
      return absl::Status(status.code(), absl::StrCat("step ", step + 1, ": ", std::string(status.message())));
    absl::StatusOr<std::vector<NamedScalar>> scalars = scalarOutputs(session, function);
    if (!scalars.ok() || !metrics)
      return scalars.status();
    return metrics->write(metricsOf(step + 1, absl::ToDoubleSeconds(absl::Now() - begin), *scalars));
  }

  absl::Status finish() {
    if (!flags.saveVariables.empty())
      SPLITCAST_RETURN_IF_ERROR(session.saveVariables(flags.saveVariables));
    return outputs->commit();
  }

  const RunFlags &flags;
  Launch &launch;
  Session &session;
  std::string function;
  std::string inputsText; ///< what the ranks must have in common
  int64_t steps = 0;
  std::optional<StepInputs> inputs;
  std::optional<StepOutputs> outputs;
  std::optional<runtime::JsonlWriter> metrics;
};

absl::Status run(const RunFlags &flags, Launch &launch) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  // An error in a large module must not print all of it.
  context.printOpOnDiagnostic(false);
  absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> module = parseModule(flags, context);
  absl::Status checked = module.ok() ? checkFiles(flags, launch.rank()) : module.status();
  SPLITCAST_RETURN_IF_ERROR(launch.agree(checked, "reading of the module"));
  SessionOptions options = sessionOptionsOf(launch);
  options.compile.zero = flags.zero;
  options.seed = static_cast<uint64_t>(flags.seed);
  options.savesBeside = !flags.checkpoints.directory.empty();
  SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                             Session::create(**module, options, launch.device(), launch.communicator()));
  return Run(flags, launch, *session).run();
}

} // namespace

int main(int argc, char **argv) {
  RunFlags runFlags;
  Flags flags("splitcast-run",
              "MODULE.mlir [flags]\nCompiles a module of the global level and runs one of its functions, "
              "on a single rank, or on all ranks of mpirun.");
  runFlags.addTo(flags);
  return launchMain(flags, argc, argv, runFlags.launch, [&](Launch &launch) { return run(runFlags, launch); });
}
