//===- Passes.td - The passes from a rank's program to its plan -----------------------------------===//
#ifndef SPLITCAST_PASSES_PLAN_PASSES_TD
#define SPLITCAST_PASSES_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerToExecPass : Pass<"exec-lower", "mlir::ModuleOp"> {
  let summary = "Lowers a rank's program to kernels, library calls, copies and collectives on byte ranges";
  let description = [{
    Every tensor gets a place (BufferAssignment.h), and every place gets an offset (ArenaPlanner.h). Fusions become
    kernels (KernelEmitter.h), and equal fusions share one. The plan is complete: the executor adds no copy and no
    buffer. From tests/passes/plan/lower_example.mlir:
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
  let summary = "Puts storages that all-gathers fill into spaces of which the ranks of a machine may share one copy";
  let description = [{
    The pass does this only on CPUs, and only for storages in which no rank overwrites bytes that another may still read
    (SharedStorages.h): at stages 1 and 2 of ZeRO, those of all buckets that are gathered after their update. From
    tests/passes/plan/share_gathers_example.mlir:
    ```mlir
    exec.storage @w : tensor<8xf32> in <persistent, 0, 32> holds [] at []    // before
    exec.storage @w : tensor<8xf32> in <shared_dp, 0, 32> holds [] at []     // after
    ```
    Ranks differ in what they read of their own blocks, and in which blocks are empty: `storages` must name only those
    that all ranks of a group find that they may share, as a session does.
    - C1: All bytes of the persistent space that the plans use lie in storages, of which no two share a byte.
  }];
  let options = [ListOption<"storages", "storages", "std::string",
                            "The storages to share; if there are none, all that this rank finds that it may share">];
}

def ReportPass : Pass<"exec-report", "mlir::ModuleOp"> {
  let summary = "Prints the memory and communication that each function will need on this rank";
  let description = [{
    The pass prints on standard error and does not change the module. It works for any number of ranks: nothing is
    allocated, and nothing runs. From tests/passes/plan/report.mlir, what one of 4 ranks stores and sends at stage 3:
    ```mlir
    sbp.variable @w : tensor<400x320xf32, #B>                 // before
    parameters 0.128 MB                                       // after: what is printed
    all-gather 1 calls 384000 bytes sent 3 messages
    reduce-scatter 1 calls 384000 bytes sent 3 messages
    ```
    - C1: The module is at the plan level.
  }];
}

#endif // SPLITCAST_PASSES_PLAN_PASSES_TD
