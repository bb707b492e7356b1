#include "runtime/host/JitCompiler.h"

#include "runtime/host/JitKernelSource.h"
#include "runtime/host/JitLowering.h"

#include "absl/strings/str_cat.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

namespace splitcast::runtime {
namespace {

/// Counts changes of this file that alter objects; the pass list itself is part of the description.
constexpr int kRevision = 1;

mlir::DialectRegistry loweringDialects() {
  mlir::DialectRegistry registry;
  registerLoweringDialects(registry);
  return registry;
}

/// `void entryName(void **arguments)`, which hands the kernel its pointers one by one. The kernel is not inlined into
/// it: only on its own arguments does noalias hold everywhere.
void addEntry(llvm::Module &module, const std::string &entryName) {
  llvm::Function *kernel = module.getFunction(kKernelSymbol);
  kernel->setLinkage(llvm::Function::InternalLinkage);
  kernel->addFnAttr(llvm::Attribute::NoInline);
  for (llvm::Argument &argument : kernel->args())
    argument.addAttr(llvm::Attribute::NoAlias);

  llvm::IRBuilder<> builder(module.getContext());
  auto *type = llvm::FunctionType::get(builder.getVoidTy(), {builder.getPtrTy()}, /*isVarArg=*/false);
  auto *entry = llvm::Function::Create(type, llvm::Function::ExternalLinkage, entryName, module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", entry));
  llvm::SmallVector<llvm::Value *> pointers;
  for (size_t i = 0; i < kernel->arg_size(); ++i) {
    llvm::Value *slot = builder.CreateConstInBoundsGEP1_64(builder.getPtrTy(), entry->getArg(0), i);
    pointers.push_back(builder.CreateLoad(builder.getPtrTy(), slot));
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

absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> createMachine(const JitTarget &target) {
  std::string error;
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(target.triple, error);
  if (!found)
    return absl::InternalError(absl::StrCat("LLVM has no code generator for ", target.triple, ": ", error));
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(target.triple, target.cpu, target.features,
                                                                         options, llvm::Reloc::PIC_, std::nullopt,
                                                                         llvm::CodeGenOptLevel::Aggressive));
}

void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = true;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

absl::StatusOr<std::string> emit(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return absl::InternalError("LLVM cannot emit objects for this target");
  passes.run(module);
  return std::string(object.begin(), object.end());
}

/// LLVM's own handler ends the process at an error.
void collectErrors(const llvm::DiagnosticInfo *info, void *errors) {
  if (info->getSeverity() != llvm::DS_Error)
    return;
  llvm::raw_string_ostream stream(*static_cast<std::string *>(errors));
  llvm::DiagnosticPrinterRawOStream printer(stream);
  info->print(printer);
  stream << "\n";
}

} // namespace

JitCompiler::JitCompiler(const JitTarget &target)
    : target(target), context(loweringDialects(), mlir::MLIRContext::Threading::DISABLED) {}

std::string JitCompiler::describe(const JitTarget &target) {
  mlir::OpPassManager passes(mlir::ModuleOp::getOperationName());
  buildLoweringPipeline(passes);
  std::string text = absl::StrCat("LLVM ", LLVM_VERSION_STRING, "; revision ", kRevision, "; ", target.triple, "; ",
                                  target.cpu, "; ", target.features, "; ", target.vectorBits, " bits; ");
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
  llvmContext.setDiagnosticHandlerCallBack(collectErrors, &errors);
  std::unique_ptr<llvm::Module> llvmModule = mlir::translateModuleToLLVMIR(*module, llvmContext);
  if (!llvmModule || !llvmModule->getFunction(kKernelSymbol))
    return absl::InvalidArgumentError(absl::StrCat("MLIR could not translate it to LLVM IR: ", errors));
  absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> machine = createMachine(target);
  if (!machine.ok())
    return machine.status();
  llvmModule->setDataLayout((*machine)->createDataLayout());
  llvmModule->setTargetTriple(target.triple);
  addEntry(*llvmModule, entryName);
  setTargetAttributes(*llvmModule, target);
  optimize(*llvmModule, **machine);
  absl::StatusOr<std::string> object = emit(*llvmModule, **machine);
  if (object.ok() && !errors.empty())
    return absl::InvalidArgumentError(absl::StrCat("LLVM could not compile it: ", errors));
  return object;
}

} // namespace splitcast::runtime
