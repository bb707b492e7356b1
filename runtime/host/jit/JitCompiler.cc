#include "runtime/host/jit/JitCompiler.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/codegen/LlvmCodegen.h"
#include "runtime/host/jit/JitKernelSource.h"
#include "runtime/host/jit/JitLowering.h"
#include "runtime/host/jit/JitRevision.h"

#include "absl/strings/str_cat.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

namespace splitcast::runtime {
namespace {

mlir::DialectRegistry loweringDialects() {
  mlir::DialectRegistry registry;
  registerLoweringDialects(registry);
  return registry;
}

/// Adds `void entryName(void **arguments)`, which passes the pointers, and the
/// bounds behind them, to the kernel one by one. The kernel is not inlined:
/// noalias holds everywhere only for the arguments of a function.
void addEntry(llvm::Module &module, const std::string &entryName) {
  llvm::Function *kernel = module.getFunction(kKernelSymbol);
  kernel->setLinkage(llvm::Function::InternalLinkage);
  kernel->addFnAttr(llvm::Attribute::NoInline);
  for (llvm::Argument &argument : kernel->args())
    if (argument.getType()->isPointerTy())
      argument.addAttr(llvm::Attribute::NoAlias);

  llvm::IRBuilder<> builder(module.getContext());
  auto *type = llvm::FunctionType::get(builder.getVoidTy(), {builder.getPtrTy()}, /*isVarArg=*/false);
  auto *entry = llvm::Function::Create(type, llvm::Function::ExternalLinkage, entryName, module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", entry));
  llvm::SmallVector<llvm::Value *> pointers;
  for (size_t i = 0; i < kernel->arg_size(); ++i) {
    llvm::Value *slot = builder.CreateConstInBoundsGEP1_64(builder.getPtrTy(), entry->getArg(0), i);
    pointers.push_back(builder.CreateLoad(kernel->getArg(i)->getType(), slot));
  }
  builder.CreateCall(kernel, pointers);
  builder.CreateRetVoid();
}

void setTargetAttributes(llvm::Module &module, const JitTarget &target) {
  std::string width = std::to_string(target.vectorBits);
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", target.cpu);
    function.addFnAttr("target-features", target.features);
    function.addFnAttr("prefer-vector-width", width);
    function.addFnAttr("min-legal-vector-width", width);
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

void allowAnyOrder(llvm::Module &module) {
  llvm::FastMathFlags flags;
  flags.setAllowReassoc();
  flags.setAllowContract();
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (llvm::isa<llvm::FPMathOperator>(instruction))
        instruction.setFastMathFlags(flags);
}

} // namespace

JitCompiler::JitCompiler(const JitTarget &target)
    : target(target), context(loweringDialects(), mlir::MLIRContext::Threading::DISABLED) {}

std::string JitCompiler::describe(const JitTarget &target) {
  mlir::OpPassManager passes(mlir::ModuleOp::getOperationName());
  buildLoweringPipeline(passes);
  std::string text = absl::StrCat("LLVM ", LLVM_VERSION_STRING, "; revision ", SPLITCAST_JIT_REVISION, "; ",
                                  target.triple, "; ", target.cpu, "; ", target.features, "; ", target.vectorBits,
                                  " bits; ", target.anyOrder ? "any order; " : "");
  llvm::raw_string_ostream stream(text);
  passes.printAsTextualPipeline(stream);
  return text;
}

absl::StatusOr<std::string> JitCompiler::compile(const std::string &source, const std::string &entryName) {
  std::string errors;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    absl::StrAppend(&errors, diagnostic.str(), "\n");
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(source, mlir::ParserConfig(&context));
  mlir::PassManager passes(&context, mlir::ModuleOp::getOperationName());
  buildLoweringPipeline(passes);
  if (!module || mlir::failed(passes.run(*module)))
    return absl::InvalidArgumentError(absl::StrCat("MLIR could not lower it: ", errors));

  llvm::LLVMContext llvmContext;
  collectErrors(llvmContext, errors);
  std::unique_ptr<llvm::Module> llvmModule = mlir::translateModuleToLLVMIR(*module, llvmContext);
  if (!llvmModule || !llvmModule->getFunction(kKernelSymbol))
    return absl::InvalidArgumentError(absl::StrCat("MLIR could not translate it to LLVM IR: ", errors));
  SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine,
                             createTargetMachine({target.triple, target.cpu, target.features, llvm::Reloc::PIC_}));
  llvmModule->setDataLayout(machine->createDataLayout());
  llvmModule->setTargetTriple(target.triple);
  addEntry(*llvmModule, entryName);
  setTargetAttributes(*llvmModule, target);
  if (target.anyOrder)
    allowAnyOrder(*llvmModule);
  optimize(*llvmModule, *machine);
  absl::StatusOr<std::string> object = emit(*llvmModule, *machine, llvm::CodeGenFileType::ObjectFile);
  if (object.ok() && !errors.empty())
    return absl::InvalidArgumentError(absl::StrCat("LLVM could not compile it: ", errors));
  return object;
}

} // namespace splitcast::runtime
