// The plan level: one thread per rank, each with a context, an executor and a communicator of its own, so that ranks
// have nothing in common but messages and, where Ranks.h lets them, the memory that they share, as processes have.
#include "tests/differential/PlanRun.h"

#include "compiler/Pipelines.h"
#include "dialects/exec/EntryPoints.h"
#include "runtime/executor/Executor.h"
#include "runtime/executor/Variables.h"
#include "tests/differential/Bytes.h"
#include "tests/differential/Ranks.h"
#include "tests/differential/Signatures.h"
#include "tests/reference/Layout.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include "absl/strings/str_cat.h"

using namespace mlir;

namespace splitcast::differential {

namespace {

/// What a rank's thread takes and gives: bytes, since types belong to one context.
struct RankWork {
  std::string plan;
  struct Step {
    std::string function, schedule;
    bool isFirst = true, isKept = false;
    std::vector<std::string> inputs = {}, results = {};
  };
  std::vector<Step> steps;
  std::map<std::string, std::string> initial;   ///< whole
  std::map<std::string, std::string> variables; ///< pieces, at the end
};

class RankRun {
public:
  RankRun(RankWork &work, runtime::Device &device, runtime::Communicator &communicator)
      : work(work), device(device), communicator(communicator) {}

  absl::Status run() {
    absl::Status status = bind();
    if (status.ok())
      status = initialize();
    for (RankWork::Step &step : work.steps)
      if (status.ok())
        status = runStep(step);
    return status.ok() ? readVariables() : status;
  }

private:
  absl::Status bind() {
    DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    std::string messages;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &d) { messages += d.str() + "\n"; });
    plans = parseSourceString<ModuleOp>(work.plan, &context);
    if (!plans)
      return absl::InvalidArgumentError("the plan does not parse or verify: " + messages);
    absl::StatusOr<std::unique_ptr<runtime::Executor>> bound = runtime::Executor::bind(*plans, device, communicator);
    if (!bound.ok())
      return bound.status();
    executor = *std::move(bound);
    absl::StatusOr<std::unique_ptr<runtime::Variables>> made =
        runtime::Variables::create(*plans, device, communicator, *executor);
    if (!made.ok())
      return made.status();
    state = *std::move(made);
    return state->initialize(/*seed=*/0);
  }

  absl::Status initialize() {
    for (const auto &[name, bytes] : work.initial) {
      if (plans->lookupSymbol<sbp::VariableOp>(name).getCarried())
        continue;
      absl::StatusOr<const runtime::VariableInfo *> info = state->find(name);
      absl::Status status = info.ok() ? state->writeWhole(**info, bytes.data()) : info.status();
      if (!status.ok())
        return status;
    }
    return communicator.barrier({"variables are set"});
  }

  /// Bytes that are NaN as f32 and as f64, so that nothing that was never written goes unseen. What a schedule carries
  /// stays, from its first run to its last and to its next step, if nothing else ran.
  absl::Status poison(exec::PlanOp plan, bool isFirst) {
    std::string bytes(executor->space(exec::kArenaName).bytes, '\xff');
    for (auto storage : plans->getOps<exec::StorageOp>())
      if (carries(plan, storage, /*fromLastStep=*/isFirst) && (leavesOut || !isFirst))
        if (absl::Status status =
                device.download(&bytes[storage.getRange().getOffset()], executor->resolve(storage.getRange()));
            !status.ok())
          return status;
    return device.upload(executor->space(exec::kArenaName), bytes.data());
  }

  /// From the step before only what was gathered, which its kept runs made.
  static bool carries(exec::PlanOp plan, exec::StorageOp storage, bool fromLastStep) {
    if (!plan.getBuffersAttr())
      return false;
    return llvm::any_of(plan.getBuffersAttr().getAsRange<exec::BufferAttr>(), [&](exec::BufferAttr buffer) {
      const bool mayCarry =
          buffer.getRole() == exec::Role::Gathered || (buffer.getRole() == exec::Role::Accumulator && !fromLastStep);
      return mayCarry && buffer.getOwner() == storage.getSymNameAttr() && buffer.getRange() == storage.getRange();
    });
  }

  absl::Status runStep(RankWork::Step &step) {
    if (step.isFirst)
      leavesOut = kept.begin(step.schedule.empty() ? step.function : step.schedule);
    if (step.isKept && leavesOut)
      return absl::OkStatus();
    auto plan = plans->lookupSymbol<exec::PlanOp>(step.function);
    absl::Status status = poison(plan, step.isFirst);
    for (auto [range, bytes] : llvm::zip(plan.getInputs().getAsRange<exec::RangeAttr>(), step.inputs))
      if (status.ok() && !bytes.empty())
        status = device.upload(executor->resolve(range), bytes.data());
    if (status.ok())
      status = executor->run(step.function);
    for (auto range : plan.getOutputs().getAsRange<exec::RangeAttr>()) {
      step.results.emplace_back(range.getBytes(), '\0');
      if (status.ok() && range.getBytes() > 0)
        status = device.download(step.results.back().data(), executor->resolve(range));
    }
    return status.ok() ? checkPadding() : status;
  }

  /// What belongs to no member of a storage stays zero.
  absl::Status checkPadding() {
    for (auto space : plans->getOps<exec::SpaceOp>()) {
      if (!space.getKept())
        continue;
      const runtime::Buffer there = executor->space(space.getSymName());
      std::string all(there.bytes, '\0');
      if (absl::Status status = device.download(all.data(), there); !status.ok())
        return status;
      for (const runtime::VariableInfo &info : state->all())
        if (there.data <= info.place.data && info.place.data < there.data + there.bytes)
          std::fill_n(all.begin() + (info.place.data - there.data), info.pieceElements() * bytesOf(info.type), '\0');
      for (size_t i = 0; i < all.size(); ++i)
        if (all[i] != 0)
          return absl::DataLossError(absl::StrCat("byte ", i, " of @", space.getSymName().str(),
                                                  " belongs to no variable, but is ",
                                                  static_cast<int>(static_cast<unsigned char>(all[i]))));
    }
    return absl::OkStatus();
  }

  absl::Status readVariables() {
    for (const runtime::VariableInfo &info : state->all()) {
      std::string &piece = work.variables[info.name];
      piece.resize(info.pieceElements() * bytesOf(info.type));
      if (absl::Status status = state->readPieces(info, piece.data()); !status.ok())
        return status;
    }
    return absl::OkStatus();
  }

  RankWork &work;
  runtime::Device &device;
  runtime::Communicator &communicator;
  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> plans;
  std::unique_ptr<runtime::Executor> executor;
  std::unique_ptr<runtime::Variables> state;
  exec::KeptResults kept;
  bool leavesOut = false; ///< this step, the kept runs
};

/// Cuts the experiment up.
absl::StatusOr<std::vector<RankWork>> workOf(ArrayRef<ModuleOp> modules, const Experiment &experiment) {
  std::vector<RankWork> works(modules.size());
  for (auto [work, module] : llvm::zip(works, modules)) {
    work.plan = reference::printed(module);
    for (const auto &[name, tensor] : experiment.initial)
      work.initial[name] = toBytes(tensor);
  }
  for (const Call &call : experiment.calls) {
    absl::StatusOr<FunctionSignature> signature = signatureOfPlan(modules.front(), call.function);
    if (!signature.ok())
      return signature.status();
    for (RankWork &work : works)
      work.steps.push_back({call.function, call.schedule, call.isFirst, call.isKept});
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      absl::StatusOr<std::vector<Tensor>> pieces = cutToRanks(call.inputs[i], signature->inputs[i]);
      if (!pieces.ok())
        return pieces.status();
      for (size_t rank = 0; rank < works.size(); ++rank)
        works[rank].steps.back().inputs.push_back(toBytes((*pieces)[rank]));
    }
  }
  return works;
}

absl::StatusOr<Tensor> assembleResult(const std::vector<RankWork> &works, size_t step, size_t index,
                                      RankedTensorType type) {
  std::vector<Tensor> byRank(works.size());
  sbp::Placement placement = sbp::signatureOf(type).getPlacement().toAlgebra();
  for (int64_t position = 0; position < placement.numPositions(); ++position) {
    int64_t rank = reference::rankAt(placement, position);
    RankedTensorType local = sbp::localType(type, placement.coordinates(position));
    byRank[rank] = fromBytes(sbp::shapeOf(local), local.getElementType(), works[rank].steps[step].results[index]);
  }
  return assembleFromRanks(std::move(byRank), type);
}

absl::StatusOr<Tensor> assembleVariable(const std::vector<RankWork> &works, sbp::VariableOp variable) {
  std::string name = variable.getSymName().str();
  sbp::Shape shape = sbp::shapeOf(variable.getType());
  Type element = variable.getTensorType().getElementType();
  sbp::Placement placement = variable.getLogical().getPlacement().toAlgebra();
  reference::Gather gather("@" + name, shape, element);
  for (int64_t position = 0; position < placement.numPositions(); ++position) {
    int64_t rank = reference::rankAt(placement, position);
    const std::string &bytes = works[rank].variables.at(name);
    Tensor piece = fromBytes({static_cast<int64_t>(bytes.size()) / sbp::elementBytes(element)}, element, bytes);
    std::vector<sbp::Run> runs =
        sbp::pieces(shape, variable.getStorageOrLogical().toAlgebra(), placement, placement.coordinates(position));
    if (absl::Status status = gather.add(rank, piece, 0, runs); !status.ok())
      return status;
  }
  return std::move(gather).finish();
}

absl::StatusOr<Outcome> outcomeOf(const std::vector<RankWork> &works, ModuleOp plan) {
  Outcome outcome;
  for (auto [step, call] : llvm::enumerate(works.front().steps)) {
    absl::StatusOr<FunctionSignature> signature = signatureOfPlan(plan, call.function);
    outcome.results.emplace_back();
    for (auto [index, type] : llvm::enumerate(signature->outputs)) {
      absl::StatusOr<Tensor> result = assembleResult(works, step, index, type);
      if (!result.ok())
        return absl::Status(result.status().code(),
                            absl::StrCat("result ", index, " of call ", step, ": ", result.status().message()));
      outcome.results.back().push_back(*std::move(result));
    }
  }
  for (auto variable : plan.getOps<sbp::VariableOp>()) {
    // Carried: gone with its step. (A rank whose piece is assigned by parts still has it, others do not.)
    if (llvm::any_of(works, [&](const RankWork &work) { return !work.variables.count(variable.getSymName().str()); }))
      continue;
    absl::StatusOr<Tensor> whole = assembleVariable(works, variable);
    if (!whole.ok())
      return whole.status();
    outcome.variables.emplace(variable.getSymName().str(), *std::move(whole));
  }
  return outcome;
}

} // namespace

absl::StatusOr<Outcome> runPlanFunctions(ArrayRef<ModuleOp> modules, const Experiment &experiment,
                                         const std::string &objectCacheDir) {
  absl::StatusOr<std::vector<RankWork>> works = workOf(modules, experiment);
  if (!works.ok())
    return works.status();
  absl::Status status =
      onRanks(modules.size(), objectCacheDir, [&](runtime::Device &device, runtime::Communicator &communicator) {
        return RankRun((*works)[communicator.rank()], device, communicator).run();
      });
  if (!status.ok())
    return status;
  return outcomeOf(*works, modules.front());
}

} // namespace splitcast::differential
