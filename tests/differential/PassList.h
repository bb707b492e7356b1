//===- PassList.h - Runs the compiler's pipelines pass by pass --------------------===//
#ifndef SPLITCAST_TESTS_DIFFERENTIAL_PASSLIST_H
#define SPLITCAST_TESTS_DIFFERENTIAL_PASSLIST_H

#include "dialects/sbp/algebra/Policy.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "absl/status/statusor.h"

#include <string>
#include <vector>

namespace splitcast::differential {

/// The options that a user can choose.
struct Configuration {
  int stage = 0;
  sbp::Strategy strategy = sbp::Strategy::Bucket;
  int64_t bucketBytes = 0;
  std::string axis;
  sbp::Keep keep = sbp::Keep::Last;
  int64_t prefetch = 1;
  int64_t microBatches = 1;
  sbp::AccumulateOrder order = sbp::AccumulateOrder::PerMicroBatch;
  sbp::PipelineSchedule pipeline = sbp::PipelineSchedule::OneForwardOneBackward;
  bool reproducible = false;
  sbp::Recompute recompute = sbp::Recompute::No;
  sbp::Update update = sbp::Update::Reduced;
  bool ownPolicies = true; ///< whether the policies of variables and groups are kept; else they are removed first

  /// The value of --enable-zero for splitcast-run.
  std::string text() const;
  sbp::ZeroOptions zero() const;
};

/// The passes of the compiler's pipelines, in order, each in the text form that splitcast-opt parses. They are taken
/// from compiler/Pipelines.h, so passes that are added there are run here.
std::vector<std::string> globalPasses(const Configuration &configuration);
std::vector<std::string> localPasses(const Configuration &configuration);
std::vector<std::string> planPasses();

/// Returns a context with all dialects and without threads.
std::unique_ptr<mlir::MLIRContext> createContext();

/// Removes the policies of variables and groups.
void dropPolicies(mlir::ModuleOp module);

/// Runs a pass, given as text.
///   Errors  InvalidArgument: the pass failed. The message has the diagnostics.
absl::Status runPass(mlir::ModuleOp module, const std::string &pass);

/// Returns the module's text like splitcast-opt, with aliases.
std::string textOf(mlir::ModuleOp module);

/// Prints the module and parses the text.
///   Errors  InvalidArgument: the text does not parse or verify, or the parsed module prints a different text.
absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> reparse(mlir::ModuleOp module);

/// Returns the programs of all ranks of the placement. `global` is not changed.
absl::StatusOr<std::vector<mlir::OwningOpRef<mlir::ModuleOp>>> localizeAll(mlir::ModuleOp global);

} // namespace splitcast::differential

#endif // SPLITCAST_TESTS_DIFFERENTIAL_PASSLIST_H
