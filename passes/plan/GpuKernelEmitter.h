//===- GpuKernelEmitter.h - A fusion as kernels of a GPU ---------------------------------===//
//
// The same elements on demand (ElementEvaluator.h), in gpu.launch ops with constant sizes. Nests (KernelForm.h) become:
//   elementwise     a thread per vector of 16 bytes of the widest type; what does not fill a vector, element by element
//   row nest        a warp per row: the lanes stand side by side along the row, in vectors; a row of at most
//                   kRowChunks vectors per lane stays in registers between reductions and elements. Sums along the
//                   row are added per lane in ascending order, then within the vector, then by shuffles, in a fixed
//                   tree. A row of more than 4,096 elements is a block of 16 warps', whose sums are then added one
//                   after the other.
//   column sums     a block for 8 columns: 128 threads of each add every 128th row; then warps add their own sums by
//                   shuffles, and the first warp those of all, in shared memory
//   other sums      along the innermost dimension as in a row nest, a row per result, else a thread per result; what is
//   made of a sum element by
//                   element (it is rounded, say) is made where the sum is
// Nothing here depends on the device. Exponentials and hyperbolic tangents do (runtime/gpu/MathUnits.h): GPUs of one
// kind give the same bits, but not those of the CPU's.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_PLAN_GPUKERNELEMITTER_H
#define SPLITCAST_PASSES_PLAN_GPUKERNELEMITTER_H

#include "dialects/nn/Nn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace splitcast {

/// Threads of a warp, and vectors of a row that one of them keeps in registers.
inline constexpr int64_t kWarp = 32, kRowChunks = 8;

/// See KernelEmitter.h. An argument that is aligned to 16 bytes has the attribute llvm.align = 16: its vectors are then
/// loaded whole.
mlir::FailureOr<mlir::func::FuncOp> emitGpuKernel(mlir::OpBuilder &builder, llvm::StringRef name, nn::FusionOp fusion,
                                                  llvm::ArrayRef<int64_t> tied, llvm::ArrayRef<int64_t> alignments);

} // namespace splitcast

#endif // SPLITCAST_PASSES_PLAN_GPUKERNELEMITTER_H
