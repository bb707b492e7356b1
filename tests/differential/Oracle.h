//===- Oracle.h - Runs a module at any level, and compares ----------------------===//
//
// A pass is right when what it made gives what it was given gave. So every level can be run on the same whole inputs
// and variables, and gives whole results and variables back:
//
//   level    run by                                            inputs and results
//   global   reference::GlobalInterpreter, one process         whole
//   local    reference::Simulator, N ranks in one thread       cut and put together by the signatures of the functions
//   plan     runtime::Executor, N threads over the thread      likewise
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

/// One run of a function; inputs are whole.
struct Call {
  std::string function;
  std::vector<Tensor> inputs;
  // Of a run of a schedule, by ScheduledCalls:
  std::string schedule = {}; ///< that it is of; empty: of none
  bool isFirst = true;       ///< of the schedule's runs
  bool isKept = false;
};

/// What is run: calls, one after the other, from these values of the variables. Variables that are not named here start
/// from their initializer, which is #sbp.constant or none.
struct Experiment {
  std::vector<Call> calls;
  Variables initial;
};

/// What came out.
struct Outcome {
  std::vector<std::vector<Tensor>> results; ///< by call
  Variables variables;                      ///< after the last call
};

enum class Agreement {
  Bits,   ///< every element the same bits
  Values, ///< every element the same number: 0 and -0 are one
  Close,  ///< |difference| <= tolerance times the tensor's largest magnitude, or 1 where that is less
};

constexpr double kTolerance = 1e-5;

/// DataLoss, naming the first element that differs, unless the outcomes agree. Variables are compared that both have.
absl::Status compare(const Outcome &expected, const Outcome &actual, Agreement agreement,
                     double tolerance = kTolerance);

/// Errors of all three: what the level's own runner says; a variable's copies, or the copies of a result, that differ
/// between ranks; elements of a storage that belong to no variable and are not zero.

absl::StatusOr<Outcome> runGlobal(mlir::ModuleOp module, const Experiment &experiment,
                                  reference::Precision precision = reference::Precision::F32);

/// modules[r] is the local program of rank r; all are of one context.
absl::StatusOr<Outcome> runLocal(llvm::ArrayRef<mlir::ModuleOp> modules, const Experiment &experiment);

/// modules[r] is the plan of rank r. Arenas are filled with NaN before each call, all but what the plan may hold from
/// the call before, so that what a plan forgets to write is seen.
absl::StatusOr<Outcome> runPlans(llvm::ArrayRef<mlir::ModuleOp> modules, const Experiment &experiment,
                                 const std::string &objectCacheDir);

} // namespace splitcast::differential

#endif // SPLITCAST_TESTS_DIFFERENTIAL_ORACLE_H
