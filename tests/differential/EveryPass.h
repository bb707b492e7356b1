//===- EveryPass.h - Compiles a module, and runs it after each pass ----------------===//
#ifndef SPLITCAST_TESTS_DIFFERENTIAL_EVERYPASS_H
#define SPLITCAST_TESTS_DIFFERENTIAL_EVERYPASS_H

#include "tests/differential/Oracle.h"
#include "tests/differential/PassList.h"

#include <functional>
#include <optional>

namespace splitcast::differential {

struct EveryPassOptions {
  /// Whether sums of the graph are exact in f32 in any order. Then all levels must give the same numbers.
  bool isExact = false;
  /// The tolerance for the levels of other graphs. Values that are nearly equal may, rarely, be rounded to different
  /// numbers of bf16 or f16.
  double tolerance = kTolerance;
  /// Whether plans are compiled and run, too.
  bool runsPlan = true;
  /// Whether --cse and --canonicalize run after each pass, too. (They do not run before the first pass: the gradient of
  /// a value that is used twice differs in bits from those of two equal values.)
  bool cleansBetween = false;
  /// Whether gradients are compared with finite differences, and updates with the optimizers' formulas
  /// (GradientCheck.h).
  bool checksGradients = false, checksUpdates = false;
  std::string objectCacheDir;
  /// Called after each pass, before its result is run. `pass` is the pass's text; `modules` is the global module, or
  /// the modules of all ranks. It may change them, to test that the check notices this.
  std::function<void(const std::string &pass, llvm::ArrayRef<mlir::ModuleOp> modules)> afterPass;
};

/// The outcomes at the end of each level. They must have the same bits for all configurations of a graph.
struct LevelOutcomes {
  Outcome global, local;
  std::optional<Outcome> plan;
  bool isRoundedApart = false; ///< whether levels agree within the options' tolerance, but not within kTolerance
};

/// Compiles `source` with the configuration. The result of each pass must print, parse, verify and run, and its outcome
/// must be the following:
///   global   the bits of the first module that can run, which is the one after 'nn-expand-optimizers';
///   local    the same numbers as at the global level (exact graphs), or nearly these or those in f64 (others); and
///            after each pass the same bits as before it (but 'nn-keep-statistics' may round otherwise);
///   plan     as at the local level.
/// Returns the first failure, with the pass and its result.
absl::StatusOr<LevelOutcomes> checkEveryPass(mlir::ModuleOp source, const Experiment &experiment,
                                             const Configuration &configuration, const EveryPassOptions &options);

/// Whether all sums that `source` computes in this experiment are exact: the interpreter gives the same numbers in f32
/// and f64.
absl::StatusOr<bool> isExactInF32(mlir::ModuleOp source, const Experiment &experiment);

/// Whether the numbers in f32 and f64 agree so well that comparing levels within kTolerance makes sense. If they do
/// not, the result is mostly rounding errors.
absl::StatusOr<bool> isNearInF32(mlir::ModuleOp source, const Experiment &experiment);

} // namespace splitcast::differential

#endif // SPLITCAST_TESTS_DIFFERENTIAL_EVERYPASS_H
