//===- EntryPoints.h - What a caller of a plan's module can run ---------------------===//
//
// A plan that no schedule runs, or a schedule (sbp.schedule). Both look alike from outside: inputs and results of one
// step. Inside, a schedule's are cut into a part for each micro-batch, and a plan's are whole.
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
  mlir::StringAttr name;       ///< as the last run has it that takes or gives it
  mlir::RankedTensorType type; ///< global, of one part
  int64_t dim = -1;            ///< that parts lie along; -1: there is one part, all of it
  int64_t parts = 1;           ///< equal ones
  int64_t partBytes = 0;       ///< of a rank's piece of a part
  int64_t bytes() const { return parts * partBytes; }
};

/// A plan that is run for the micro-batches from `begin` to before `end`.
struct EntryRun {
  PlanOp plan;
  int64_t begin = 0, end = 1;
  /// Of which input or result of the entry point each of the plan's is.
  llvm::SmallVector<int64_t> inputs, outputs;
  /// Of which micro-batch each is, counted from the run's; empty: all are the run's.
  llvm::SmallVector<int64_t> inputsAhead = {}, outputsAhead = {};
  bool numbered = false; ///< the plan's last input, which is none of the entry point's, is the micro-batch's number
  bool kept = false;     ///< left out when nothing else ran, and no variable was set, since the entry point last ran
};

struct EntryPoint {
  llvm::StringRef name;
  std::vector<EntryRun> runs;
  std::vector<EntryTensor> inputs, outputs;

  /// Of the numbers, each an i64, of the micro-batches of runs that take them; 0 where none does.
  int64_t numbersBytes() const;
};

/// Whether what kept runs made is still there. The arena has it until another entry point runs; what it was made of is
/// the same until a variable is set.
class KeptResults {
public:
  /// Begins a step of an entry point. Returns whether it leaves out its kept runs.
  bool begin(llvm::StringRef entryPoint) {
    const bool isThere = of == entryPoint;
    of = entryPoint.str();
    return isThere;
  }
  /// To be called when a variable was set from outside, or a step failed.
  void forget() { of.clear(); }

private:
  std::string of; ///< the entry point that ran last; empty: none
};

/// Those of a module at the plan level, plans first, each in the module's order. Requires that it verifies.
std::vector<EntryPoint> entryPointsOf(mlir::ModuleOp plans);

} // namespace splitcast::exec

#endif // SPLITCAST_DIALECTS_EXEC_ENTRYPOINTS_H
