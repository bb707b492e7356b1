//===- Variables.h - Whole values of a module's variables ----------------------===//
#ifndef SPLITCAST_TESTS_REFERENCE_VARIABLES_H
#define SPLITCAST_TESTS_REFERENCE_VARIABLES_H

#include "tests/reference/Tensor.h"

#include <functional>
#include <map>

namespace splitcast::reference {

/// The whole tensors by the variables' names.
using Variables = std::map<std::string, Tensor>;

/// Sets a tensor, which is zeros on entry, to the initial value of a variable. Its shape and type must not change.
using Initializer = std::function<absl::Status(sbp::VariableOp, Tensor &)>;

/// An initializer for #sbp.constant and for variables without initializer, which are zeros.
///   Errors  Unimplemented: other initializers, which need a generator or a file.
absl::Status initializeConstants(sbp::VariableOp variable, Tensor &tensor);

/// Returns the initial values of all sbp.variables of a module, rounded to their types.
absl::StatusOr<Variables> initialVariables(mlir::ModuleOp module, const Initializer &initializer, Precision precision);

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_VARIABLES_H
