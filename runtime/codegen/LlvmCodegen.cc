#include "runtime/codegen/LlvmCodegen.h"

#include "absl/strings/str_cat.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetOptions.h"

namespace splitcast::runtime {

absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(const CodegenTarget &target) {
  std::string error;
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(target.triple, error);
  if (!found)
    return absl::InternalError(absl::StrCat("LLVM has no code generator for ", target.triple, ": ", error));
  if (std::unique_ptr<llvm::MCSubtargetInfo> known(found->createMCSubtargetInfo(target.triple, "", ""));
      !known->isCPUStringValid(target.cpu))
    return absl::InvalidArgumentError(
        absl::StrCat("LLVM knows no processor '", target.cpu, "' for ", target.triple, "; name another one"));
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(target.triple, target.cpu, target.features,
                                                                         options, target.relocation, std::nullopt,
                                                                         llvm::CodeGenOptLevel::Aggressive));
}

void collectErrors(llvm::LLVMContext &context, std::string &errors) {
  context.setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo *info, void *to) {
        if (info->getSeverity() != llvm::DS_Error)
          return;
        llvm::raw_string_ostream stream(*static_cast<std::string *>(to));
        llvm::DiagnosticPrinterRawOStream printer(stream);
        info->print(printer);
        stream << "\n";
      },
      &errors);
}

void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

absl::StatusOr<std::string> emit(llvm::Module &module, llvm::TargetMachine &machine, llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type))
    return absl::InternalError(absl::StrCat("LLVM cannot emit this kind of output for ", machine.getTargetCPU().str()));
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}

} // namespace splitcast::runtime
