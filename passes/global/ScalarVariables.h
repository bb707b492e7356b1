//===- ScalarVariables.h - Scalars of a module for training ----------------===//
//
// These numbers belong to a module and not to one variable: the learning rate, counts of updates, the scale of losses.
// Each is a frozen variable of group "optimizer", which every rank has.
#ifndef SPLITCAST_PASSES_GLOBAL_SCALARVARIABLES_H
#define SPLITCAST_PASSES_GLOBAL_SCALARVARIABLES_H

#include "dialects/nn/Nn.h"

namespace splitcast {

/// Returns the scalar `name` of the module. If no symbol has this name, it is created before `like`, on its placement.
/// Returns null if another symbol has the name.
sbp::VariableOp scalarVariable(mlir::SymbolTable &symbols, llvm::StringRef name, mlir::Type element, double initial,
                               sbp::VariableOp like);

/// Builds a read whose type is undecided, like the types of all values in updates.
mlir::Value readUndecided(mlir::OpBuilder &b, mlir::Location loc, sbp::VariableOp variable);

/// The scale by which losses are multiplied for backward, f32, and the number of steps in a row in which all gradients
/// were finite, f64.
inline constexpr llvm::StringLiteral kLossScaleName = "optimizer.loss_scale",
                                     kFiniteStepsName = "optimizer.finite_steps";

/// The number of elements of sums, in all steps so far, of whose addends a reproducible step had to round something
/// away, f64. Only steps that sum numbers of f64 have it.
inline constexpr llvm::StringLiteral kInexactSumsName = "optimizer.inexact_sums";

/// The norm of all gradients of the last step that kept it, before they were clipped, f64.
inline constexpr llvm::StringLiteral kGradientNormName = "optimizer.gradient_norm";

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_SCALARVARIABLES_H
