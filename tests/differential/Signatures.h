//===- Signatures.h - How a function's inputs and results lie on the ranks -------===//
#ifndef SPLITCAST_TESTS_DIFFERENTIAL_SIGNATURES_H
#define SPLITCAST_TESTS_DIFFERENTIAL_SIGNATURES_H

#include "tests/reference/Tensor.h"

#include "mlir/IR/BuiltinOps.h"

namespace splitcast::differential {

struct FunctionSignature {
  std::vector<mlir::RankedTensorType> inputs, outputs; ///< global, with signatures
};

/// Of a function of a rank's local program. NotFound: there is none of that name.
absl::StatusOr<FunctionSignature> signatureOfLocal(mlir::ModuleOp module, const std::string &function);
/// Of a plan.
absl::StatusOr<FunctionSignature> signatureOfPlan(mlir::ModuleOp module, const std::string &function);

/// What each *rank* holds of a tensor of this type: reference::cut counts positions.
absl::StatusOr<std::vector<reference::Tensor>> cutToRanks(const reference::Tensor &whole, mlir::RankedTensorType type);
/// DataLoss where copies differ.
absl::StatusOr<reference::Tensor> assembleFromRanks(std::vector<reference::Tensor> byRank, mlir::RankedTensorType type);

} // namespace splitcast::differential

#endif // SPLITCAST_TESTS_DIFFERENTIAL_SIGNATURES_H
