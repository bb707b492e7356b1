//===- RankProgram.h - A simulated rank that runs a function ------------------===//
#ifndef SPLITCAST_TESTS_REFERENCE_RANKPROGRAM_H
#define SPLITCAST_TESTS_REFERENCE_RANKPROGRAM_H

#include "tests/reference/Functions.h"
#include "tests/reference/LinalgEvaluator.h"
#include "tests/reference/RankStorages.h"
#include "tests/reference/Wire.h"

namespace splitcast::reference {

/// The state that all ranks share. It is borrowed.
struct SharedState {
  RankStorages &storages;
  Wire &wire;
  LinalgEvaluator &evaluator;
};

class RankProgram {
public:
  /// `arguments` are the values of the function's arguments.
  RankProgram(int64_t rank, mlir::func::FuncOp function, Values arguments, SharedState shared);

  /// Runs until the function returns, or until it must wait for a collective. Returns whether any op was run.
  absl::StatusOr<bool> advance();

  bool isDone() const { return mlir::isa<mlir::func::ReturnOp>(*next); }

  /// Returns 'rank 0 waits at loc(...) for all_gather "w" over ranks [0, 1], not started by rank 1', or says that the
  /// function has returned.
  std::string describe() const;

  /// The results of the function, which must have returned.
  std::vector<Tensor> results() const { return copies(lookUp(values, next->getOperands())); }

private:
  absl::Status step(mlir::Operation &op);
  absl::Status startCollective(ccl::CollectiveOpInterface op);
  absl::Status assign(ccl::AssignOp op);
  absl::Status view(ccl::ViewOp op);
  absl::Status pack(ccl::PackOp op);

  int64_t rank;
  mlir::Block::iterator next;
  Values values;
  llvm::DenseMap<mlir::Value, Ticket> tickets;
  SharedState shared;
};

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_RANKPROGRAM_H
