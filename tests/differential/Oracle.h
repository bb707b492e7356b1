//===- Oracle.h - Runs modules of any level, and compares their outcomes --------===//
//
// A pass is right if its result has the same outcome as its input. So modules of every level can be run on the same
// whole inputs and variables, and give whole results and variables:
//
//   level    run by                                            inputs and results
//   global   reference::GlobalInterpreter, one process         whole
//   local    reference::Simulator, N ranks in one thread       cut and assembled by the signatures of the functions
//   plan     runtime::Executor, N threads over the thread      the same
//            transport, kernels compiled for this CPU
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_DIFFERENTIAL_ORACLE_H
#define SPLITCAST_TESTS_DIFFERENTIAL_ORACLE_H

#include "tests/reference/Rounding.h"
#include "tests/reference/Variables.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace splitcast::differential {

using reference::Tensor;
using reference::Variables;

/// One run of a function, with whole inputs.
struct Call {
  std::string function;
  std::vector<Tensor> inputs;
  // ScheduledCalls sets these for a run of a schedule:
  std::string schedule = {}; ///< the name of the schedule; empty if the run belongs to none
  bool isFirst = true;       ///< whether it is the first run of the schedule
  bool isKept = false;
};

/// Calls that are made one after the other, and the initial values of variables. Variables that are not named here have
/// the value of their initializer, which must be #sbp.constant or absent.
struct Experiment {
  std::vector<Call> calls;
  Variables initial;
};

/// The results of an experiment.
struct Outcome {
  std::vector<std::vector<Tensor>> results; ///< those of each call
  Variables variables;                      ///< their values after the last call
};

enum class Agreement {
  Bits,   ///< all elements have the same bits
  Values, ///< all elements are the same numbers; 0 and -0 are equal
  Close,  ///< |difference| <= tolerance * max(1, the largest magnitude in the tensor)
};

constexpr double kTolerance = 1e-5;

/// Compares two outcomes. Only variables that both have are compared.
///   Errors  DataLoss: they do not agree. The message names the first element that differs.
absl::Status compare(const Outcome &expected, const Outcome &actual, Agreement agreement,
                     double tolerance = kTolerance);

// Errors of the three functions that follow: those of the level's own runner; the copies of a variable or of a result
// differ between ranks; or an element of a storage that belongs to no variable is not zero.

absl::StatusOr<Outcome> runGlobal(mlir::ModuleOp module, const Experiment &experiment,
                                  reference::Precision precision = reference::Precision::F32);

/// modules[r] is the local program of rank r. All must be in one context.
absl::StatusOr<Outcome> runLocal(llvm::ArrayRef<mlir::ModuleOp> modules, const Experiment &experiment);

/// modules[r] is the plan of rank r. Before each call, arenas are filled with NaN, except for what the plan may keep
/// from the call before. So bytes that a plan should have written and has not are noticed.
absl::StatusOr<Outcome> runPlans(llvm::ArrayRef<mlir::ModuleOp> modules, const Experiment &experiment,
                                 const std::string &objectCacheDir);

} // namespace splitcast::differential

#endif // SPLITCAST_TESTS_DIFFERENTIAL_ORACLE_H
