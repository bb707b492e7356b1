//===- EntryPoints.h - The functions of a plan's module that a caller can run ---------------------===//
//
// An entry point is a schedule (sbp.schedule), or a plan that no schedule runs. Both look the same from outside: they
// have the inputs and results of one step. Inside, those of a schedule are cut into a part for each micro-batch, and
// those of a plan are whole.
//
//   sbp.schedule @train of 4      input 0: 4 parts along dimension 0     runs: @train.first 0..1
//                                 result 0: whole, of the last run             @train.next  1..3
//                                                                              @train.last  3..4
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_EXEC_ENTRYPOINTS_H
#define SPLITCAST_DIALECTS_EXEC_ENTRYPOINTS_H

#include "dialects/exec/Exec.h"

#include <string>
#include <vector>

namespace splitcast::exec {

/// An input or result of an entry point.
struct EntryTensor {
  mlir::StringAttr name;       ///< the name in the last run that takes or gives it
  mlir::RankedTensorType type; ///< the global type of one part
  int64_t dim = -1;            ///< the dimension along which it is cut into parts; -1: there is one part, the whole
  int64_t parts = 1;           ///< the number of parts, which are equal
  int64_t partBytes = 0;       ///< the bytes of a rank's piece of one part
  int64_t bytes() const { return parts * partBytes; }
};

/// A run of a plan for the micro-batches from `begin` to before `end`.
struct EntryRun {
  PlanOp plan;
  int64_t begin = 0, end = 1;
  /// For each input and output of the plan, the number of that input or result of the entry point.
  llvm::SmallVector<int64_t> inputs, outputs;
  /// For each of them, its micro-batch, counted from the run's; empty: all are of the run's micro-batch.
  llvm::SmallVector<int64_t> inputsAhead = {}, outputsAhead = {};
  bool numbered = false; ///< the plan's last input is the number of the micro-batch, and no input of the entry point
  bool kept = false; ///< it is left out when nothing else ran, and no variable was set, since the entry point last ran
};

struct EntryPoint {
  llvm::StringRef name;
  std::vector<EntryRun> runs;
  std::vector<EntryTensor> inputs, outputs;

  /// Returns the bytes of the micro-batches' numbers, an i64 for each micro-batch of a run that takes them; 0 if no run
  /// does.
  int64_t numbersBytes() const;
};

/// Keeps track of whether the results of kept runs are still valid. They stay in the arena until another entry point
/// runs, and the values that they were computed from stay the same until a variable is set.
class KeptResults {
public:
  /// Begins a step of an entry point. Returns whether it leaves out its kept runs.
  bool begin(llvm::StringRef entryPoint) {
    const bool isThere = of == entryPoint;
    of = entryPoint.str();
    return isThere;
  }
  /// Must be called when a variable was set from outside, or when a step failed.
  void forget() { of.clear(); }

private:
  std::string of; ///< the entry point that ran last; empty if there is none
};

/// Returns the entry points of a module at the plan level: first the plans, then the schedules, both in the module's
/// order. Requires that the module verifies.
std::vector<EntryPoint> entryPointsOf(mlir::ModuleOp plans);

} // namespace splitcast::exec

#endif // SPLITCAST_DIALECTS_EXEC_ENTRYPOINTS_H
