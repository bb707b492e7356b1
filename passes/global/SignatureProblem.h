//===- SignatureProblem.h - A function as a problem for the solver of signatures -------===//
//
// The problem has the tensors, the ops with a choice, and the other uses that want tensors in given signatures
// (dialects/sbp/algebra/Solver.h). There are two versions. In `asWritten`, updates are computed in the logical
// signatures, and the cost of a boxing is its volume. In `asStored`, updates have the signatures in which variables are
// stored and updated, and the cost is that of the default ccl::TransportModel. Both have the same tensors and ops, by
// the same numbers.
//
//   in the IR                          in the problem
//   argument, read                     a tensor with a signature
//   op of ShardingOpInterface          an op; in an update it takes no P
//   fence of an update, user's boxing  a demand, and a tensor with a signature
//   other fence                        a tensor of the same signature as another
//   assign, return                     a demand
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_SIGNATUREPROBLEM_H
#define SPLITCAST_PASSES_GLOBAL_SIGNATUREPROBLEM_H

#include "dialects/sbp/Sbp.h"
#include "dialects/sbp/algebra/Solver.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace splitcast {

class ExactSumsCheck;

struct SignatureProblem {
  sbp::Problem asWritten, asStored;
  llvm::SmallVector<mlir::Operation *> ops;       ///< by number
  llvm::DenseMap<mlir::Operation *, int> numbers; ///< the number of each op
  llvm::DenseMap<mlir::Value, int> tensors;       ///< the number of each tensor
};

/// Builds the problem of a function of one block whose arguments and reads have signatures. `check` is that of the
/// function's exact sums, or null. An op without ShardingOpInterface is an error.
mlir::FailureOr<SignatureProblem> signatureProblemOf(mlir::func::FuncOp function, sbp::PlacementAttr placement,
                                                     mlir::SymbolTable &symbols, const ExactSumsCheck *check);

/// Returns the reason for the row of an op, which is given by its number and is not free.
sbp::RowAttr reasonOfRow(const SignatureProblem &problem, const sbp::Phases &phases, int op,
                         sbp::PlacementAttr placement);

/// Returns the scope of the update in which the fence stands; null if it stands in none.
sbp::ScopeOp updateScopeOf(sbp::FenceOp fence);

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_SIGNATUREPROBLEM_H
