#include "tests/reference/Variables.h"

#include "tests/reference/Rounding.h"

#include "absl/strings/str_cat.h"

using namespace mlir;

namespace splitcast::reference {

absl::Status initializeConstants(sbp::VariableOp variable, Tensor &tensor) {
  Attribute init = variable.getInitAttr();
  if (!init)
    return absl::OkStatus();
  auto constant = dyn_cast<sbp::ConstantInitAttr>(init);
  if (!constant)
    return absl::UnimplementedError(
        absl::StrCat("@", variable.getSymName().str(), " has initializer ", printed(init),
                     ", but only #sbp.constant is built in; give an Initializer in the options"));
  double value = constant.getValue().getValueAsDouble();
  std::fill(tensor.floats.begin(), tensor.floats.end(), value);
  std::fill(tensor.integers.begin(), tensor.integers.end(), static_cast<int64_t>(value));
  return absl::OkStatus();
}

absl::StatusOr<Variables> initialVariables(ModuleOp module, const Initializer &initializer, Precision precision) {
  Variables variables;
  for (auto variable : module.getOps<sbp::VariableOp>()) {
    std::string name = variable.getSymName().str();
    if (absl::Status status = checkHoldable(variable.getTensorType()); !status.ok())
      return absl::Status(status.code(), absl::StrCat("@", name, ": ", status.message()));
    Tensor tensor = Tensor::zeros(variable.getTensorType());
    if (absl::Status status = initializer(variable, tensor); !status.ok())
      return status;
    if (absl::Status status = checkIs(tensor, variable.getTensorType(), absl::StrCat("the initial value of @", name));
        !status.ok())
      return status;
    roundElements(tensor, precision);
    variables.emplace(name, std::move(tensor));
  }
  return variables;
}

} // namespace splitcast::reference
