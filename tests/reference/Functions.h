//===- Functions.h - Shared code that runs a func.func of any level ------------===//
#ifndef SPLITCAST_TESTS_REFERENCE_FUNCTIONS_H
#define SPLITCAST_TESTS_REFERENCE_FUNCTIONS_H

#include "tests/reference/Tensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseMap.h"

namespace splitcast::reference {

using Values = llvm::DenseMap<mlir::Value, TensorRef>;

/// Returns InvalidArgument, with the verifier's messages, if the module does not verify.
absl::Status checkVerifies(mlir::ModuleOp module);

/// Returns the func.func of this name.
///   Errors  NotFound: there is none, or its body is not one block. InvalidArgument: it has arguments or results that
///           the oracle cannot represent.
absl::StatusOr<mlir::func::FuncOp> findFunction(mlir::ModuleOp module, const std::string &name);

/// Returns the values of the function's arguments: `inputs`, which must have their types, rounded to these types. The
/// function must come from findFunction.
absl::StatusOr<Values> bindInputs(mlir::func::FuncOp function, std::vector<Tensor> inputs, Precision precision);

/// Returns the tensors of values that have been computed.
std::vector<TensorRef> lookUp(const Values &values, mlir::ValueRange wanted);

/// Stores the results of an op.
void bindResults(Values &values, mlir::Operation *op, llvm::ArrayRef<TensorRef> results);

/// Returns copies of the tensors.
std::vector<Tensor> copies(llvm::ArrayRef<TensorRef> tensors);

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_FUNCTIONS_H
