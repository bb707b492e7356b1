//===- JitCompiler.h - From a kernel's source to an object file --------------===//
#ifndef SPLITCAST_RUNTIME_HOST_JIT_JITCOMPILER_H
#define SPLITCAST_RUNTIME_HOST_JIT_JITCOMPILER_H

#include "runtime/host/jit/JitTarget.h"

#include "absl/status/statusor.h"
#include "mlir/IR/MLIRContext.h"

#include <string>

namespace splitcast::runtime {

/// Compiles one source at a time. Each thread needs a compiler of its own. It borrows the target.
class JitCompiler {
public:
  explicit JitCompiler(const JitTarget &target);

  /// Returns an ELF object for the target. Its one public symbol is `void entryName(void **arguments)`, which calls the
  /// kernel with one pointer per memref, and with the bounds of its divisible loops (KernelSource::loops).
  ///   Numerics  There is no fast math and no contraction (unless JitTarget::anyOrder is set): a value does not depend
  ///             on its place in a vector.
  ///   Aliasing  Arguments never overlap. Pointers are aligned to their elements and no more.
  ///   Errors    InvalidArgument: the message has the compiler's diagnostics.
  absl::StatusOr<std::string> compile(const std::string &source, const std::string &entryName);

  /// Describes everything that an object depends on besides source and entry name.
  static std::string describe(const JitTarget &target);

private:
  const JitTarget &target;
  mlir::MLIRContext context;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_JIT_JITCOMPILER_H
