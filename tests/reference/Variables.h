//===- Variables.h - Global values of a module's variables ---------------------===//
#ifndef SPLITCAST_TESTS_REFERENCE_VARIABLES_H
#define SPLITCAST_TESTS_REFERENCE_VARIABLES_H

#include "tests/reference/Tensor.h"

#include <functional>
#include <map>

namespace splitcast::reference {

/// Whole logical tensors, by the variable's name.
using Variables = std::map<std::string, Tensor>;

/// Fills a tensor, all zeros at first, with the initial value of a variable; shape and type stay.
using Initializer = std::function<absl::Status(sbp::VariableOp, Tensor &)>;

/// #sbp.constant, and zeros where a variable has no initializer. Unimplemented for the others, which need a generator
/// or a file.
absl::Status initializeConstants(sbp::VariableOp variable, Tensor &tensor);

/// The initial values of all sbp.variables of a module, rounded to their types.
absl::StatusOr<Variables> initialVariables(mlir::ModuleOp module, const Initializer &initializer, Precision precision);

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_VARIABLES_H
