//===- LlvmCodegen.h - Compiles LLVM IR to a target's code -------------------------------------------===//
//
// Kernels of CPUs and of GPUs share this. Multiplications and additions are never contracted, and an error of LLVM
// becomes a status instead of ending the process.
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

/// Creates the target machine. The caller must have initialized LLVM's target.
///   Errors  Internal: LLVM has no code generator for the triple.
absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(const CodegenTarget &target);

/// Makes LLVM append its errors about modules of `context` to `errors`, which must outlive the context.
void collectErrors(llvm::LLVMContext &context, std::string &errors);

/// Optimizes the module as -O3 does, but does not make vectors of equal operations side by side (SLP): at 512 bits,
/// LLVM 19.1.7 joins wrong elements of f64 (tests/python/tensor_test.py). Kernels have vectors of their own.
void optimize(llvm::Module &module, llvm::TargetMachine &machine);

/// Returns assembly text or an object file, as bytes.
///   Errors  Internal: the target has no such output.
absl::StatusOr<std::string> emit(llvm::Module &module, llvm::TargetMachine &machine, llvm::CodeGenFileType type);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CODEGEN_LLVMCODEGEN_H
