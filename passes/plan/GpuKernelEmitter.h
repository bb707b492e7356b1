//===- GpuKernelEmitter.h - Emits a fusion as kernels for a GPU ---------------------------------===//
// Emits elements on demand (ElementEvaluator.h), in gpu.launch ops with constant sizes. Nests (KernelForm.h) become:
//   elementwise     a thread per vector of 16 bytes of the widest type; the rest that fills no vector is computed
//                   element by element
//   row nest        a warp per row: its threads read consecutive vectors of the row; a thread keeps up to kRowChunks
//                   vectors in registers between reductions and elements. Sums along the row are added per thread in
//                   ascending order, then within the vector, then by shuffles, in a fixed tree. A row of more than
//                   4,096 elements takes a block of 16 warps, whose sums are then added one after the other.
//   sums over rows  see GpuColumnSums.h
//   sums over several dimensions to the last, of many addends: see GpuTailSums.h
//   exact sums      of many addends (sbp::LoopSpec::exactSums): blocks of the whole device, which add to the result in
//                   any order
//   other sums      along the innermost dimension as in a row nest, a row per result, else a thread per result;
//                   elementwise ops on a sum (it is rounded, say) are computed by the same threads
// These kernels do not depend on the device. Exponentials and hyperbolic tangents do (runtime/gpu/MathUnits.h): GPUs of
// one kind give the same bits, but not those of the CPU.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_PLAN_GPUKERNELEMITTER_H
#define SPLITCAST_PASSES_PLAN_GPUKERNELEMITTER_H

#include "dialects/nn/Nn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace splitcast {

/// The vectors of a row that one thread keeps in registers.
inline constexpr int64_t kRowChunks = 4;

/// See KernelEmitter.h. An argument that is aligned to 16 bytes gets the attribute llvm.align = 16: its vectors are
/// then loaded whole.
mlir::FailureOr<mlir::func::FuncOp> emitGpuKernel(mlir::OpBuilder &builder, llvm::StringRef name, nn::FusionOp fusion,
                                                  llvm::ArrayRef<int64_t> tied, llvm::ArrayRef<int64_t> alignments);
int64_t gpuKernelWorkspace(nn::FusionOp fusion);

} // namespace splitcast

#endif // SPLITCAST_PASSES_PLAN_GPUKERNELEMITTER_H
