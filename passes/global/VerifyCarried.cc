// Verifies carried variables and kept runs: what the runs of a schedule pass on
// to later runs, and to the next step.
#include "passes/global/Passes.h"
#include "passes/global/VariableStorages.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace splitcast;

namespace {

/// Verifies that only runs of schedules read carried variables, after the first
/// run that assigns them.
class CarriedVerifier {
public:
  explicit CarriedVerifier(ModuleOp module) : module(module), symbols(module) {
    for (auto variable : module.getOps<sbp::VariableOp>()) {
      if (!variable.getCarried())
        continue;
      std::string &range = carried[variable.getSymName()];
      if (sbp::SlotAttr slot = variable.getSlotAttr()) {
        range = keyOf(slot.getBucket().getValue(), variable.getRole().value_or(sbp::kParameterRole));
        carried[range] = range;
      }
    }
  }

  LogicalResult run() {
    if (carried.empty())
      return success();
    DenseSet<Operation *> scheduled;
    for (auto schedule : module.getOps<sbp::ScheduleOp>()) {
      llvm::StringSet<> assigned;
      for (auto each : schedule.getBody().front().getOps<sbp::RunOp>()) {
        auto function = symbols.lookup<func::FuncOp>(each.getFunction());
        scheduled.insert(function);
        if (function && failed(verify(function, assigned, schedule)))
          return failure();
      }
    }
    for (auto function : module.getOps<func::FuncOp>())
      if (llvm::StringSet<> none; !scheduled.contains(function) && failed(verify(function, none, {})))
        return failure();
    return success();
  }

private:
  static std::string keyOf(StringRef bucket, StringRef role) { return (bucket + " " + role).str(); }

  /// Returns a key that stands for all variables in a range.
  static std::string allOf(const std::string &range) { return range + " all"; }

  /// Returns the variable that the op reads or assigns, or the members of a
  /// bucket, or their states of one role; empty if there is none.
  static std::string keyOf(Operation *op) {
    if (auto read = dyn_cast<sbp::ReadOp>(op))
      return read.getVariable().str();
    if (auto assign = dyn_cast<sbp::AssignOp>(op))
      return assign.getVariable().str();
    if (auto read = dyn_cast<sbp::BucketReadOp>(op))
      return keyOf(read.getBucket(), read.getRole());
    if (auto assign = dyn_cast<sbp::BucketAssignOp>(op))
      return keyOf(assign.getBucket(), assign.getRole());
    return {};
  }

  LogicalResult verify(func::FuncOp function, llvm::StringSet<> &assigned, sbp::ScheduleOp schedule) {
    WalkResult walk = function.walk([&](Operation *op) {
      const std::string key = keyOf(op);
      if (key.empty() || !carried.contains(key))
        return WalkResult::advance();
      if (isa<sbp::AssignOp, sbp::BucketAssignOp>(op)) {
        assigned.insert(key);
        assigned.insert(carried[key]);
        if (isa<sbp::BucketAssignOp>(op))
          assigned.insert(allOf(key));
      } else if (!assigned.contains(key) && !assigned.contains(allOf(carried[key]))) {
        return WalkResult(refuse(op, key, schedule));
      }
      return WalkResult::advance();
    });
    return failure(walk.wasInterrupted());
  }

  static LogicalResult refuse(Operation *op, const std::string &key, sbp::ScheduleOp schedule) {
    InFlightDiagnostic diag = op->emitOpError()
                              << "reads @" << key << ", which is carried from run to run of a schedule, ";
    if (schedule)
      return diag << "before @" << schedule.getSymName() << " has assigned it; assign it in an earlier run";
    return diag << "in a function that no schedule runs; read it only in runs of a schedule";
  }

  ModuleOp module;
  SymbolTable symbols;
  /// Carried variables by name, and ranges by bucket and role, with the range
  /// in which they are. Some members of a range may be assigned while others
  /// belong to other steps; a reader of the range then uses the former.
  llvm::StringMap<std::string> carried;
};

} // namespace

//===----------------------------------------------------------------------===//
// Kept runs
//===----------------------------------------------------------------------===//

namespace {

/// Verifies that kept runs assign only carried variables, and that no other run
/// of the schedule assigns what they read or assign. Members of a bucket count
/// as their range.
class KeptVerifier {
public:
  explicit KeptVerifier(ModuleOp module) : module(module), symbols(module) {}

  LogicalResult run() {
    for (auto schedule : module.getOps<sbp::ScheduleOp>())
      for (auto run : schedule.getBody().front().getOps<sbp::RunOp>())
        if (run.getKept() && failed(verify(schedule, run)))
          return failure();
    return success();
  }

private:
  LogicalResult verify(sbp::ScheduleOp schedule, sbp::RunOp kept) {
    llvm::StringSet<> used;
    for (auto [op, storage] : usesOf(kept)) {
      used.insert(storage);
      if (isAssignment(op) && !isCarried(op))
        return op->emitOpError() << "assigns " << storage << " in @" << kept.getFunction()
                                 << ", a kept run, which the next step leaves out; assign carried variables there only";
    }
    for (auto run : schedule.getBody().front().getOps<sbp::RunOp>())
      if (run != kept)
        for (auto [op, storage] : usesOf(run))
          if (isAssignment(op) && used.contains(storage))
            return op->emitOpError() << "assigns " << storage << ", which @" << kept.getFunction()
                                     << ", a kept run of @" << schedule.getSymName()
                                     << ", reads or assigns; do not keep that run";
    return success();
  }

  SmallVector<std::pair<Operation *, std::string>> usesOf(sbp::RunOp run) {
    SmallVector<std::pair<Operation *, std::string>> uses;
    if (auto function = symbols.lookup<func::FuncOp>(run.getFunction()))
      function.walk([&](Operation *op) {
        if (std::string storage = storageOf(op, symbols); !storage.empty())
          uses.push_back({op, std::move(storage)});
      });
    return uses;
  }

  bool isCarried(Operation *op) {
    if (auto assign = dyn_cast<sbp::AssignOp>(op)) {
      auto variable = symbols.lookup<sbp::VariableOp>(assign.getVariable());
      return variable && variable.getCarried();
    }
    auto assign = cast<sbp::BucketAssignOp>(op);
    return llvm::all_of(module.getOps<sbp::VariableOp>(), [&](sbp::VariableOp variable) {
      sbp::SlotAttr slot = variable.getSlotAttr();
      return !slot || slot.getBucket().getValue() != assign.getBucket() ||
             variable.getRole().value_or(sbp::kParameterRole) != assign.getRole() || variable.getCarried();
    });
  }

  ModuleOp module;
  SymbolTable symbols;
};

} // namespace

LogicalResult splitcast::verifyCarried(ModuleOp module) {
  return success(succeeded(CarriedVerifier(module).run()) && succeeded(KeptVerifier(module).run()));
}
