#include "tests/reference/Simulator.h"

#include "tests/reference/RankProgram.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

using namespace mlir;

namespace splitcast::reference {
namespace {

absl::Status ofRank(int64_t rank, const absl::Status &status) {
  return absl::Status(status.code(), absl::StrCat("rank ", rank, ": ", status.message()));
}

/// Gives every rank its turn until all have returned.
absl::Status runToEnd(std::vector<RankProgram> &programs) {
  bool hasProgress = true;
  while (hasProgress) {
    hasProgress = false;
    for (RankProgram &program : programs) {
      absl::StatusOr<bool> hasRun = program.advance();
      if (!hasRun.ok())
        return hasRun.status();
      hasProgress |= *hasRun;
    }
  }
  if (llvm::all_of(programs, [](const RankProgram &program) { return program.isDone(); }))
    return absl::OkStatus();
  std::vector<std::string> places;
  for (const RankProgram &program : programs)
    places.push_back(program.describe());
  return absl::FailedPreconditionError(absl::StrCat("deadlock: ", absl::StrJoin(places, "; ")));
}

/// Whether no argument is P: an input is given whole, and nobody could say which rank gets what of it.
absl::Status checkTakesNoPartial(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto global = function.getArgAttrOfType<TypeAttr>(i, "ccl.global");
    sbp::NdAttr signature = global ? sbp::signatureOf(global.getValue()) : sbp::NdAttr();
    if (signature && signature.hasPartial())
      return absl::InvalidArgumentError(absl::StrCat("@", function.getSymName().str(), " takes argument ", i,
                                                     " as P, but an input is given whole; take it as B or S"));
  }
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<Simulator> Simulator::create(std::vector<ModuleOp> modules, Precision precision) {
  if (modules.empty())
    return absl::InvalidArgumentError("a simulation needs at least one module, one per rank");
  for (auto [rank, module] : llvm::enumerate(modules)) {
    if (module.getContext() != modules.front().getContext())
      return absl::InvalidArgumentError(absl::StrCat(
          "the module of rank ", rank, " is of another MLIRContext than that of rank 0; parse all in one"));
    if (absl::Status status = checkVerifies(module); !status.ok())
      return ofRank(rank, status);
  }
  absl::StatusOr<RankStorages> storages = RankStorages::create(modules);
  if (!storages.ok())
    return storages.status();
  return Simulator(std::move(modules), precision, *std::move(storages));
}

absl::StatusOr<std::vector<std::vector<Tensor>>> Simulator::run(const std::string &function,
                                                                std::vector<std::vector<Tensor>> inputs) {
  if (inputs.size() != modules.size())
    return absl::InvalidArgumentError(
        absl::StrCat("there are inputs for ", inputs.size(), " ranks, but ", modules.size(), " ranks"));
  Wire wire(rankCounts, precision);
  std::vector<RankProgram> programs;
  for (auto [rank, module] : llvm::enumerate(modules)) {
    absl::StatusOr<func::FuncOp> found = findFunction(module, function);
    if (!found.ok())
      return ofRank(rank, found.status());
    if (absl::Status status = checkTakesNoPartial(*found); !status.ok())
      return ofRank(rank, status);
    absl::StatusOr<Values> arguments = bindInputs(*found, std::move(inputs[rank]), precision);
    if (!arguments.ok())
      return ofRank(rank, arguments.status());
    programs.emplace_back(rank, *found, *std::move(arguments), SharedState{storages, wire, evaluator});
  }
  if (absl::Status status = runToEnd(programs); !status.ok())
    return status;
  if (absl::Status status = wire.checkAllDone(); !status.ok())
    return status;
  std::vector<std::vector<Tensor>> results;
  for (const RankProgram &program : programs)
    results.push_back(program.results());
  return results;
}

} // namespace splitcast::reference
