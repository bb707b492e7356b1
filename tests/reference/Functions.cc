#include "tests/reference/Functions.h"

#include "tests/reference/Rounding.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

#include "absl/strings/str_cat.h"

using namespace mlir;

namespace splitcast::reference {

absl::Status checkVerifies(ModuleOp module) {
  std::string messages;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
    absl::StrAppend(&messages, messages.empty() ? "" : "; ", diagnostic.str());
    return success();
  });
  if (succeeded(verify(module)))
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the module does not verify: ", messages));
}

absl::StatusOr<func::FuncOp> findFunction(ModuleOp module, const std::string &name) {
  auto function = module.lookupSymbol<func::FuncOp>(name);
  if (!function)
    return absl::NotFoundError(absl::StrCat("the module has no func.func @", name));
  if (!function.getBody().hasOneBlock())
    return absl::NotFoundError(absl::StrCat("@", name, " has no body of one block, so there is nothing to run"));
  for (Type type : llvm::concat<const Type>(function.getArgumentTypes(), function.getResultTypes()))
    if (absl::Status status = checkHoldable(type); !status.ok())
      return absl::Status(status.code(), absl::StrCat("@", name, ": ", status.message()));
  return function;
}

absl::StatusOr<Values> bindInputs(func::FuncOp function, std::vector<Tensor> inputs, Precision precision) {
  std::string name = function.getSymName().str();
  if (inputs.size() != function.getNumArguments())
    return absl::InvalidArgumentError(
        absl::StrCat("@", name, " takes ", function.getNumArguments(), " inputs, not ", inputs.size()));
  Values values;
  for (auto [index, argument] : llvm::enumerate(function.getArguments())) {
    std::string what = absl::StrCat("input ", index, " of @", name);
    if (absl::Status status = checkIs(inputs[index], cast<RankedTensorType>(argument.getType()), what); !status.ok())
      return status;
    roundElements(inputs[index], precision);
    values[argument] = share(std::move(inputs[index]));
  }
  return values;
}

std::vector<TensorRef> lookUp(const Values &values, ValueRange wanted) {
  std::vector<TensorRef> found;
  for (Value value : wanted)
    found.push_back(values.lookup(value));
  return found;
}

void bindResults(Values &values, Operation *op, ArrayRef<TensorRef> results) {
  for (auto [value, result] : llvm::zip_equal(op->getResults(), results))
    values[value] = result;
}

std::vector<Tensor> copies(ArrayRef<TensorRef> tensors) {
  std::vector<Tensor> result;
  for (const TensorRef &tensor : tensors)
    result.push_back(*tensor);
  return result;
}

} // namespace splitcast::reference
