//===- JitCompiler.h - From a kernel's source to an object file --------------===//
#ifndef SPLITCAST_RUNTIME_HOST_JIT_JITCOMPILER_H
#define SPLITCAST_RUNTIME_HOST_JIT_JITCOMPILER_H

#include "runtime/host/jit/JitTarget.h"

#include "absl/status/statusor.h"
#include "mlir/IR/MLIRContext.h"

#include <string>

namespace splitcast::runtime {

/// Compiles one source at a time; each thread has its own.
class JitCompiler {
public:
  explicit JitCompiler(const JitTarget &target);

  /// An ELF object for the target. Its one public symbol is `void entryName(void **arguments)`, which calls the kernel
  /// with one pointer per memref.
  ///   Numerics  no fast math and no contraction: a value does not depend on where in a vector it was computed.
  ///   Aliasing  arguments never overlap; pointers are aligned to their elements and no more.
  ///   Errors    InvalidArgument with the compiler's diagnostics.
  absl::StatusOr<std::string> compile(const std::string &source, const std::string &entryName);

  /// Everything besides source and entry name that an object depends on.
  static std::string describe(const JitTarget &target);

private:
  const JitTarget &target;
  mlir::MLIRContext context;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_JIT_JITCOMPILER_H
