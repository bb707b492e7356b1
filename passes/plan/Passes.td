//===- Passes.td - From a rank's program to its plan -----------------------------------===//
#ifndef SPLITCAST_PASSES_PLAN_PASSES_TD
#define SPLITCAST_PASSES_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerToExecPass : Pass<"exec-lower", "mlir::ModuleOp"> {
  let summary = "Kernels, library calls, copies and collectives on byte ranges";
  let description = [{
    Every tensor gets a place (BufferAssignment.h) and every place an offset (ArenaPlanner.h); fusions become kernels
    (KernelEmitter.h), equal ones once. What a plan does is all there is: the executor adds no copy and no buffer.
    From tests/passes/plan/lower_example.mlir:
    ```mlir
    %0 = nn.matmul %a, %b : (tensor<2x10xf32>, tensor<10x6xf32>) -> tensor<2x6xf32>              // before
    exec.library #exec.matmul<m = 2, n = 6, k = 10, type = f32> reads [...] writes [...] // after
    ```
    - C1: The module has passed 'ccl-verify-local'.
  }];
  let dependentDialects = ["splitcast::exec::ExecDialect", "mlir::scf::SCFDialect", "mlir::memref::MemRefDialect",
                           "mlir::vector::VectorDialect", "mlir::arith::ArithDialect", "mlir::linalg::LinalgDialect",
                           "mlir::tensor::TensorDialect", "mlir::math::MathDialect", "mlir::gpu::GPUDialect"];
}

def ShareGathersPass : Pass<"exec-share-gathers", "mlir::ModuleOp"> {
  let summary = "Puts storages that all-gathers fill into spaces of which ranks of a machine may have one copy";
  let description = [{
    Only on CPUs, and only storages of which no rank overwrites what another may still read (SharedStorages.h): at stages 1 and 2 of ZeRO
    those of all buckets that are gathered when they have been updated. From tests/passes/plan/share_gathers_example.mlir:
    ```mlir
    exec.storage @w : tensor<8xf32> in <persistent, 0, 32> holds [] at []    // before
    exec.storage @w : tensor<8xf32> in <shared_dp, 0, 32> holds [] at []     // after
    ```
    Ranks differ in what they read of their own blocks, and in what is empty: only what all ranks of a group find they may share is to be named
    in `storages`, as a session does.
    - C1: What the plans use of the persistent space lies in storages, of which no two share a byte.
  }];
  let options = [ListOption<"storages", "storages", "std::string", "only these; none named: all that this rank finds">];
}

def ReportPass : Pass<"exec-report", "mlir::ModuleOp"> {
  let summary = "Prints what each function will cost: memory and communication of this rank";
  let description = [{
    On standard error; the module stays as it is. Works for any number of ranks: nothing is allocated, and nothing runs.
    - C1: The module is at the plan level.
  }];
}

#endif // SPLITCAST_PASSES_PLAN_PASSES_TD
