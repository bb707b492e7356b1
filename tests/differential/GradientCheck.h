//===- GradientCheck.h - Gradients and updates, from outside ----------------------===//
//
// Before 'nn-differentiate' and 'nn-expand-optimizers' a module cannot be run, so what these two make is compared with
// their definitions: a gradient with a difference quotient of the loss, an update with the optimizer's formula.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_DIFFERENTIAL_GRADIENTCHECK_H
#define SPLITCAST_TESTS_DIFFERENTIAL_GRADIENTCHECK_H

#include "tests/differential/Oracle.h"

namespace splitcast::differential {

/// `source` has nn.minimize where `differentiated` has nn.update. Along a random direction of all trainable variables,
/// the slope of each loss is the product of direction and gradients; in f64. DataLoss where it is not.
absl::Status checkGradients(mlir::ModuleOp source, mlir::ModuleOp differentiated, const Experiment &experiment);

/// `differentiated` has nn.update where `expanded` has what it means. In f64, the experiment gives what it gives with
/// formulas in place of updates, whoever reads what is updated, and in however many functions. DataLoss where it does
/// not.
absl::Status checkUpdates(mlir::ModuleOp differentiated, mlir::ModuleOp expanded, const Experiment &experiment);

} // namespace splitcast::differential

#endif // SPLITCAST_TESTS_DIFFERENTIAL_GRADIENTCHECK_H
