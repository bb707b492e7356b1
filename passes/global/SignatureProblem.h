//===- SignatureProblem.h - A function as the solver of signatures sees it -------===//
//
// Tensors, the ops with a choice, and what else wants tensors in given signatures (dialects/sbp/algebra/Solver.h).
// Twice: as the user wrote it, where an update is computed in the signature that the graph reads, with the volume of
// boxings as their cost; and as variables are stored and updated, with what they cost on the transport. Both have the
// same tensors and ops, by the same numbers.
//
//   in the IR                          in the problem
//   argument, read                     a tensor with a signature
//   op of ShardingOpInterface          an op; of an update it takes no P
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

struct SignatureProblem {
  sbp::Problem asWritten, asStored;
  llvm::SmallVector<mlir::Operation *> ops;       ///< by number
  llvm::DenseMap<mlir::Operation *, int> numbers; ///< of ops
  llvm::DenseMap<mlir::Value, int> tensors;       ///< numbers
};

/// Of a function of one block whose arguments and reads have signatures. An op that says nothing of its signatures is
/// an error.
mlir::FailureOr<SignatureProblem> signatureProblemOf(mlir::func::FuncOp function, sbp::PlacementAttr placement,
                                                     mlir::SymbolTable &symbols);

/// Why an op, by its number, has the row that it was given; it is not free.
sbp::RowAttr reasonOfRow(const SignatureProblem &problem, const sbp::Phases &phases, int op,
                         sbp::PlacementAttr placement);

/// The scope of an update that the fence stands in; null elsewhere.
sbp::ScopeOp updateScopeOf(sbp::FenceOp fence);

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_SIGNATUREPROBLEM_H
