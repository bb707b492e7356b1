// The dialects that a module may have. They have a file of their own, since it
// depends on all of them.
#include "compiler/Pipelines.h"

#include "dialects/ccl/Ccl.h"
#include "dialects/exec/Exec.h"
#include "dialects/nn/Nn.h"
#include "dialects/sbp/Sbp.h"

#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

void splitcast::registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<sbp::SbpDialect, nn::NnDialect, ccl::CclDialect, exec::ExecDialect, mlir::func::FuncDialect,
                  mlir::arith::ArithDialect, mlir::gpu::GPUDialect, mlir::linalg::LinalgDialect,
                  mlir::math::MathDialect, mlir::memref::MemRefDialect, mlir::scf::SCFDialect,
                  mlir::tensor::TensorDialect, mlir::vector::VectorDialect>();
  mlir::func::registerInlinerExtension(registry);
}
