//===- Passes.h - Passes that make a rank's plan -----------------------------------------===//
#ifndef SPLITCAST_PASSES_PLAN_PASSES_H
#define SPLITCAST_PASSES_PLAN_PASSES_H

#include "dialects/exec/Exec.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

namespace splitcast {

#define GEN_PASS_DECL
#include "passes/plan/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/plan/Passes.h.inc"

} // namespace splitcast

#endif // SPLITCAST_PASSES_PLAN_PASSES_H
