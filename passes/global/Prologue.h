//===- Prologue.h - What is gathered before the runs that use it ------------------===//
//
// A prologue is a function that gathers and assigns to carried variables; other runs of its schedule read these where
// they would have gathered.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_PROLOGUE_H
#define SPLITCAST_PASSES_GLOBAL_PROLOGUE_H

#include "dialects/sbp/Sbp.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

namespace splitcast {

/// Whether ranks send each other what they have of the value, and add nothing up: that would need more than the
/// result's own bytes.
bool gathers(sbp::BoxingOp op);

/// Whether a variable can be what the value is: it has no addends, and no place in a bucket.
bool canBeCarried(mlir::Value value);

/// Who splits a variable wants no rank to have all of it for longer than it is used.
bool isSplitByUser(sbp::VariableOp variable);

/// Whether the op may change something, as what says nothing of its effects may.
bool mayWrite(mlir::Operation *op);

/// What a boxing gathers: reads of a variable or bucket, behind any fences and casts; null: something that is computed.
mlir::Operation *readOfGathered(sbp::BoxingOp boxing);

/// The boxing again, with the read and the casts that it gathers, and no fence.
sbp::BoxingOp cloneGather(sbp::BoxingOp boxing, mlir::OpBuilder &builder);

/// A carried variable for what the boxing gives, named like what it gathers or, if that is computed, like `owner`;
/// declared before `at`.
sbp::VariableOp carryGathered(sbp::BoxingOp boxing, mlir::StringRef owner, mlir::Operation *at,
                              mlir::SymbolTable &symbols);

/// Reads the variable where the boxing stands, for all that uses it. The boxing stays.
void readCarried(sbp::BoxingOp boxing, sbp::VariableOp variable);

/// An empty function of the visibility of `beside`, declared before it.
mlir::func::FuncOp createPrologue(mlir::func::FuncOp beside, mlir::StringRef name, mlir::SymbolTable &symbols);

/// A run of the function with all inputs and results of the schedule, whole.
sbp::RunOp createRun(mlir::OpBuilder &builder, mlir::func::FuncOp function, bool isKept);

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_PROLOGUE_H
