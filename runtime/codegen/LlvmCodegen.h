//===- LlvmCodegen.h - From LLVM IR to a target's code -----------------------------------------------===//
//
// What kernels of CPUs and of GPUs have in common: products and sums are never contracted, and an error of LLVM's is a
// status instead of the process's end.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_CODEGEN_LLVMCODEGEN_H
#define SPLITCAST_RUNTIME_CODEGEN_LLVMCODEGEN_H

#include "absl/status/statusor.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <string>

namespace splitcast::runtime {

struct CodegenTarget {
  std::string triple, cpu, features; ///< as LLVM names them
  std::optional<llvm::Reloc::Model> relocation = std::nullopt;
};

/// The target must have been initialized.
///   Errors  Internal: LLVM has no code generator for the triple.
absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(const CodegenTarget &target);

/// LLVM's errors about modules of `context` are appended to `errors`, which outlives the context.
void collectErrors(llvm::LLVMContext &context, std::string &errors);

/// -O3, with the machine's data layout. `joinsScalars`: equal operations side by side become vectors (SLP).
void optimize(llvm::Module &module, llvm::TargetMachine &machine, bool joinsScalars);

/// Assembly text or an object file, as bytes.
///   Errors  Internal: the target has no such output.
absl::StatusOr<std::string> emit(llvm::Module &module, llvm::TargetMachine &machine, llvm::CodeGenFileType type);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CODEGEN_LLVMCODEGEN_H
