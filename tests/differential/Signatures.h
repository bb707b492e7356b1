//===- Signatures.h - The signatures of a function's inputs and results ----------===//
#ifndef SPLITCAST_TESTS_DIFFERENTIAL_SIGNATURES_H
#define SPLITCAST_TESTS_DIFFERENTIAL_SIGNATURES_H

#include "tests/reference/Tensor.h"

#include "mlir/IR/BuiltinOps.h"

namespace splitcast::differential {

struct FunctionSignature {
  std::vector<mlir::RankedTensorType> inputs, outputs; ///< global types with signatures
};

/// Returns the types of a function in a rank's local program.
///   Errors  NotFound: there is no such function.
absl::StatusOr<FunctionSignature> signatureOfLocal(mlir::ModuleOp module, const std::string &function);
/// The same for a plan.
absl::StatusOr<FunctionSignature> signatureOfPlan(mlir::ModuleOp module, const std::string &function);

/// Returns what each rank holds of a tensor of this type. (reference::cut returns what each position holds.)
absl::StatusOr<std::vector<reference::Tensor>> cutToRanks(const reference::Tensor &whole, mlir::RankedTensorType type);
/// Assembles the whole tensor from what each rank holds.
///   Errors  DataLoss: copies differ.
absl::StatusOr<reference::Tensor> assembleFromRanks(std::vector<reference::Tensor> byRank, mlir::RankedTensorType type);

} // namespace splitcast::differential

#endif // SPLITCAST_TESTS_DIFFERENTIAL_SIGNATURES_H
