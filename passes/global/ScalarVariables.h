//===- ScalarVariables.h - What training keeps beside variables ----------------===//
//
// Numbers of a module, not of one variable: the learning rate, counts of updates, the scale of losses. Each is a frozen
// variable of group "optimizer", as every rank has it.
#ifndef SPLITCAST_PASSES_GLOBAL_SCALARVARIABLES_H
#define SPLITCAST_PASSES_GLOBAL_SCALARVARIABLES_H

#include "dialects/nn/Nn.h"

namespace splitcast {

/// The scalar `name` of the module, made before `like`, on its placement, when nothing is called so. Null: something
/// else is.
sbp::VariableOp scalarVariable(mlir::SymbolTable &symbols, llvm::StringRef name, mlir::Type element, double initial,
                               sbp::VariableOp like);

/// A read whose type is undecided, as that of all that updates are built of.
mlir::Value readUndecided(mlir::OpBuilder &b, mlir::Location loc, sbp::VariableOp variable);

/// By what losses are multiplied for backward, f32, and for how many steps in a row all gradients were finite, f64.
inline constexpr llvm::StringLiteral kLossScaleName = "optimizer.loss_scale",
                                     kFiniteStepsName = "optimizer.finite_steps";

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_SCALARVARIABLES_H
