//===- Functions.h - What running a func.func takes, on every level ------------===//
#ifndef SPLITCAST_TESTS_REFERENCE_FUNCTIONS_H
#define SPLITCAST_TESTS_REFERENCE_FUNCTIONS_H

#include "tests/reference/Tensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseMap.h"

namespace splitcast::reference {

using Values = llvm::DenseMap<mlir::Value, TensorRef>;

/// InvalidArgument, with the verifier's messages, unless the module verifies.
absl::Status checkVerifies(mlir::ModuleOp module);

/// The func.func of that name.
///   Errors  NotFound: there is none, or its body is not one block. InvalidArgument: arguments or results that the
///   oracle cannot hold.
absl::StatusOr<mlir::func::FuncOp> findFunction(mlir::ModuleOp module, const std::string &name);

/// The function's arguments, from inputs of their types; rounded to these. Requires a function from findFunction.
absl::StatusOr<Values> bindInputs(mlir::func::FuncOp function, std::vector<Tensor> inputs, Precision precision);

/// The tensors of values that have been computed.
std::vector<TensorRef> lookUp(const Values &values, mlir::ValueRange wanted);

/// Remembers the results of an op.
void bindResults(Values &values, mlir::Operation *op, llvm::ArrayRef<TensorRef> results);

/// Copies for the caller.
std::vector<Tensor> copies(llvm::ArrayRef<TensorRef> tensors);

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_FUNCTIONS_H
