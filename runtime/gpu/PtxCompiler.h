//===- PtxCompiler.h - From gpu.func to PTX ---------------------------------------------------===//
//
// Upstream's NVVM dialect and LLVM's code generator; no CUDA is needed, unless a kernel needs a function of libdevice
// (sine, cosine, functions of f64), which is then linked from a toolkit.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_GPU_PTXCOMPILER_H
#define SPLITCAST_RUNTIME_GPU_PTXCOMPILER_H

#include "runtime/gpu/GpuProgram.h"

#include "absl/status/statusor.h"
#include "mlir/Pass/PassManager.h"

#include <cstdlib>
#include <string>

namespace splitcast::runtime {

struct PtxTarget {
  std::string chip = "sm_90";
  std::string features = "+ptx80";
  /// The file libdevice.10.bc; empty: none, and kernels that need it are an error.
  std::string libdevice;

  int chipNumber() const { return numberBehind(chip, "sm_"); }
  int ptxNumber() const { return numberBehind(features, "+ptx"); }

private:
  /// 0 when it is not there.
  static int numberBehind(const std::string &text, const std::string &name) {
    const size_t at = text.find(name);
    return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + name.size());
  }
};

/// libdevice of the toolkit in CUDA_HOME or CUDA_PATH, if one of them is set, else of /usr/local/cuda.
///   Errors  NotFound, naming the variable and the file that is missing.
absl::StatusOr<std::string> findLibdevice();

/// Passes on a module that holds a gpu.module; what is in that is then all in the LLVM and NVVM dialects.
void buildNvvmPipeline(mlir::OpPassManager &passes, const PtxTarget &target);

/// PTX of all functions of a program, which is changed. Unless the program says otherwise, pointers are distinct; they
/// are aligned as the functions' llvm.align says.
///   Numerics  no fast math, no contraction, square roots and divisions rounded to nearest; exp and tanh of f32 by the
///             chip's units (MathUnits.h).
///   Errors    InvalidArgument with the compiler's diagnostics; FailedPrecondition: a kernel needs libdevice, and there
///             is none.
absl::StatusOr<std::string> compileToPtx(GpuProgram &program, const PtxTarget &target);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_GPU_PTXCOMPILER_H
