//===- Prologue.h - Gathers before the runs that use them ------------------===//
//
// A prologue is a function that gathers values and assigns them to carried variables; other runs of its schedule read
// these instead of gathering.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_PROLOGUE_H
#define SPLITCAST_PASSES_GLOBAL_PROLOGUE_H

#include "dialects/sbp/Sbp.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

namespace splitcast {

/// Whether the boxing gathers: ranks send each other their pieces of the value, and add nothing up. (A sum would need
/// more memory than the bytes of the result.)
bool gathers(sbp::BoxingOp op);

/// Whether a variable can hold the value: it is not P, and no slot of a bucket.
bool canBeCarried(mlir::Value value);

/// Whether the user split the variable. No rank should then have all of it for longer than it is used.
bool isSplitByUser(sbp::VariableOp variable);

/// Whether the op may write; an op whose effects are unknown may.
bool mayWrite(mlir::Operation *op);

/// Returns the read of a variable or bucket that a boxing gathers, behind any fences and casts; null if the boxing
/// gathers a computed value.
mlir::Operation *readOfGathered(sbp::BoxingOp boxing);

/// Clones the boxing, with the read and the casts that it gathers, but without fences.
sbp::BoxingOp cloneGather(sbp::BoxingOp boxing, mlir::OpBuilder &builder);

/// Creates a carried variable for the boxing's result, and declares it before `at`. It is named after the variable or
/// bucket that the boxing gathers or, if the value is computed, after `owner`.
sbp::VariableOp carryGathered(sbp::BoxingOp boxing, mlir::StringRef owner, mlir::Operation *at,
                              mlir::SymbolTable &symbols);

/// Reads the variable at the place of the boxing, for all users of the boxing. The boxing stays.
void readCarried(sbp::BoxingOp boxing, sbp::VariableOp variable);

/// Creates an empty function with the visibility of `beside`, before it.
mlir::func::FuncOp createPrologue(mlir::func::FuncOp beside, mlir::StringRef name, mlir::SymbolTable &symbols);

/// Creates a run of the function with all inputs and results of the schedule, uncut.
sbp::RunOp createRun(mlir::OpBuilder &builder, mlir::func::FuncOp function, bool isKept);

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_PROLOGUE_H
