//===- EveryPass.h - Runs the compiler, and what each of its passes made -----------===//
#ifndef SPLITCAST_TESTS_DIFFERENTIAL_EVERYPASS_H
#define SPLITCAST_TESTS_DIFFERENTIAL_EVERYPASS_H

#include "tests/differential/Oracle.h"
#include "tests/differential/PassList.h"

#include <functional>
#include <optional>

namespace splitcast::differential {

struct EveryPassOptions {
  /// Sums of the graph are exact in f32 in whatever order, so that all levels give the same numbers.
  bool isExact = false;
  /// How near the levels of other graphs must be. What is nearly the same is rounded apart to bf16 or f16, if rarely.
  double tolerance = kTolerance;
  /// Also compiles plans and runs them.
  bool runsPlan = true;
  /// Runs --cse and --canonicalize after each pass, too. (Not before the first: values that are one have another
  /// gradient, to the bit, than two equal ones.)
  bool cleansBetween = false;
  /// Gradients against finite differences, updates against the optimizers' formulas (GradientCheck.h).
  bool checksGradients = false, checksUpdates = false;
  std::string objectCacheDir;
  /// Called after each pass with its text, before what it made is run: the global module, or the modules of all ranks.
  /// May change them, to see whether it is noticed.
  std::function<void(const std::string &pass, llvm::ArrayRef<mlir::ModuleOp> modules)> afterPass;
};

/// What the levels gave at their end; those of all configurations of one graph must be equal to the bit.
struct LevelOutcomes {
  Outcome global, local;
  std::optional<Outcome> plan;
  bool isRoundedApart = false; ///< levels are as near as the options say, but not as near as kTolerance
};

/// Compiles `source` as the configuration says. What each pass makes must print, parse, verify and run, and
///   global   give, to the bit, what the first module gave that could run, the one after 'nn-expand-optimizers';
///   local    give that (exact graphs) or nearly that, or nearly what it gives in f64 (others), and after each pass the
///            same bits as before it;
///   plan     like local.
/// The first failure is returned, with the pass and what it made.
absl::StatusOr<LevelOutcomes> checkEveryPass(mlir::ModuleOp source, const Experiment &experiment,
                                             const Configuration &configuration, const EveryPassOptions &options);

/// Whether every sum in `source` that its experiment does is exact: the interpreter gives the same numbers in f32 and
/// f64.
absl::StatusOr<bool> isExactInF32(mlir::ModuleOp source, const Experiment &experiment);

/// Whether they are so near that levels can be told apart by kTolerance: else rounding is most of what is computed.
absl::StatusOr<bool> isNearInF32(mlir::ModuleOp source, const Experiment &experiment);

} // namespace splitcast::differential

#endif // SPLITCAST_TESTS_DIFFERENTIAL_EVERYPASS_H
