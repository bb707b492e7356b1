//===- PassList.h - The pipelines of the compiler, pass by pass -------------------===//
#ifndef SPLITCAST_TESTS_DIFFERENTIAL_PASSLIST_H
#define SPLITCAST_TESTS_DIFFERENTIAL_PASSLIST_H

#include "dialects/sbp/algebra/Policy.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "absl/status/statusor.h"

#include <string>
#include <vector>

namespace splitcast::differential {

/// What a user chooses.
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
  bool ownPolicies = true; ///< what the module's variables and groups say holds; else it is dropped before

  /// As splitcast-run takes it.
  std::string text() const;
  sbp::ZeroOptions zero() const;
};

/// The passes of the compiler's pipelines, in order, each as splitcast-opt takes it. Taken from compiler/Pipelines.h: a
/// pass that is added there is run here.
std::vector<std::string> globalPasses(const Configuration &configuration);
std::vector<std::string> localPasses(const Configuration &configuration);
std::vector<std::string> planPasses();

/// A context with all dialects, on one thread.
std::unique_ptr<mlir::MLIRContext> createContext();

/// Erases what variables and groups say of themselves.
void dropPolicies(mlir::ModuleOp module);

/// InvalidArgument, with the diagnostics, when the pass fails.
absl::Status runPass(mlir::ModuleOp module, const std::string &pass);

/// As splitcast-opt prints it, with aliases.
std::string textOf(mlir::ModuleOp module);

/// The module, printed and parsed again. InvalidArgument: its text does not parse or verify, or prints as something
/// else.
absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> reparse(mlir::ModuleOp module);

/// The program of every rank of the placement; `global` stays.
absl::StatusOr<std::vector<mlir::OwningOpRef<mlir::ModuleOp>>> localizeAll(mlir::ModuleOp global);

} // namespace splitcast::differential

#endif // SPLITCAST_TESTS_DIFFERENTIAL_PASSLIST_H
