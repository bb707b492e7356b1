//===- PtxCompiler.h - Compiles gpu.func to PTX -----------------------------------------------===//
//
// The compiler uses MLIR's NVVM dialect and LLVM's code generator. It needs no CUDA, unless a kernel needs a function
// of libdevice (sine, cosine, functions of f64), which is then linked from a CUDA toolkit.
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
  /// The path of the file libdevice.10.bc. If it is empty, kernels that need libdevice fail to compile.
  std::string libdevice;

  int chipNumber() const { return numberBehind(chip, "sm_"); }
  int ptxNumber() const { return numberBehind(features, "+ptx"); }

private:
  /// Returns the number that follows `name` in `text`, or 0 if the name is not there.
  static int numberBehind(const std::string &text, const std::string &name) {
    const size_t at = text.find(name);
    return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + name.size());
  }
};

/// Returns the path of libdevice in the toolkit of CUDA_HOME or CUDA_PATH, if one of them is set, otherwise in
/// /usr/local/cuda.
///   Errors  NotFound, which names the variable and the missing file.
absl::StatusOr<std::string> findLibdevice();

/// Adds the passes that lower the gpu.module of a module to the LLVM and NVVM dialects alone.
void buildNvvmPipeline(mlir::OpPassManager &passes, const PtxTarget &target);

/// Returns PTX of all functions of a program, and changes the program. Pointers never overlap, unless
/// GpuProgram::mayAlias is set. They are aligned as the functions' llvm.align says.
///   Numerics  There is no fast math and no contraction; square roots and divisions are rounded to nearest. exp and
///             tanh of f32 use the chip's units (MathUnits.h).
///   Errors    InvalidArgument: the message has the compiler's diagnostics. FailedPrecondition: a kernel needs
///             libdevice, and there is none, or others may have written it (runtime/io/InstalledFile.h). Unavailable:
///             it cannot be read.
absl::StatusOr<std::string> compileToPtx(GpuProgram &program, const PtxTarget &target);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_GPU_PTXCOMPILER_H
