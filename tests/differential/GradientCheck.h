//===- GradientCheck.h - Checks gradients and updates by their definitions --------===//
//
// A module cannot be run before 'nn-differentiate' and 'nn-expand-optimizers'. So the results of these two passes are
// compared with definitions: gradients with finite differences of the loss, and updates with the optimizer's formula.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_DIFFERENTIAL_GRADIENTCHECK_H
#define SPLITCAST_TESTS_DIFFERENTIAL_GRADIENTCHECK_H

#include "tests/differential/Oracle.h"

namespace splitcast::differential {

/// Checks in f64 that the slope of each loss, along a random direction of all trainable variables, is the product of
/// the direction and the gradients. `source` has nn.minimize, and `differentiated` has nn.update instead.
///   Errors  DataLoss: it is not.
absl::Status checkGradients(mlir::ModuleOp source, mlir::ModuleOp differentiated, const Experiment &experiment);

/// Checks in f64 that the experiment has the same outcome with `expanded`, in which 'nn-expand-optimizers' has replaced
/// updates, and with `differentiated`, in which the optimizers' formulas are evaluated for them.
///   Errors  DataLoss: it does not.
absl::Status checkUpdates(mlir::ModuleOp differentiated, mlir::ModuleOp expanded, const Experiment &experiment);

} // namespace splitcast::differential

#endif // SPLITCAST_TESTS_DIFFERENTIAL_GRADIENTCHECK_H
