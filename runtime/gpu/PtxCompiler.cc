#include "runtime/gpu/PtxCompiler.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/codegen/LlvmCodegen.h"
#include "runtime/io/InstalledFile.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBufferRef.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"

#include <cstdlib>
#include <mutex>
#include <unistd.h>

namespace splitcast::runtime {
namespace {

constexpr char kTriple[] = "nvptx64-nvidia-cuda";

void initializeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

/// Returns the functions of libdevice that the module calls but does not
/// define. (LLVM itself resolves __nvvm_reflect.)
std::vector<std::string> missingFunctions(const llvm::Module &module) {
  std::vector<std::string> names;
  for (const llvm::Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic() && !function.use_empty() &&
        function.getName() != "__nvvm_reflect")
      names.push_back(function.getName().str());
  return names;
}

/// Links the functions of libdevice that the module needs, and makes them
/// internal.
absl::Status linkLibdevice(llvm::Module &module, const std::string &path) {
  std::vector<std::string> missing = missingFunctions(module);
  if (missing.empty())
    return absl::OkStatus();
  if (path.empty())
    return absl::FailedPreconditionError(absl::StrCat("kernels need libdevice for ", absl::StrJoin(missing, ", "),
                                                      ", but no CUDA toolkit was found; set CUDA_HOME to one"));
  constexpr int64_t kMostBytes = 64 << 20; // toolkits have half a megabyte
  absl::StatusOr<std::string> contents = readInstalledFile(path, kMostBytes);
  if (!contents.ok())
    return absl::Status(
        contents.status().code(),
        absl::StrCat("libdevice is not linked, since its code would be executed in kernels: ",
                     std::string(contents.status().message()),
                     "; install the CUDA toolkit again as this user or as root, or set CUDA_HOME to your "
                     "own"));
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> library =
      llvm::parseIR(llvm::MemoryBufferRef(*contents, path), error, module.getContext());
  if (!library)
    return absl::InvalidArgumentError(absl::StrCat("'", path, "' cannot be read: ", error.getMessage().str()));
  library->setDataLayout(module.getDataLayout());
  library->setTargetTriple(module.getTargetTriple());
  // Denormals are kept: this is the answer to __nvvm_reflect("__CUDA_FTZ").
  module.addModuleFlag(llvm::Module::ModFlagBehavior::Override, "nvvm-reflect-ftz", uint32_t{0});
  if (llvm::Linker::linkModules(module, std::move(library), llvm::Linker::Flags::LinkOnlyNeeded))
    return absl::InvalidArgumentError(absl::StrCat("'", path, "' cannot be linked"));
  missing = missingFunctions(module);
  if (!missing.empty())
    return absl::InvalidArgumentError(absl::StrCat("'", path, "' lacks ", absl::StrJoin(missing, ", "),
                                                   "; use the libdevice of another CUDA toolkit"));
  for (llvm::Function &function : module)
    if (absl::StartsWith(std::string(function.getName()), "__nv_"))
      function.setLinkage(llvm::Function::InternalLinkage);
  return absl::OkStatus();
}

/// Tells LLVM that all threads of a warp make a product of tiles together: it must not move into a branch that only
/// some take. (LLVM 19 knows this of shuffles, but not of these.)
void markConvergent(llvm::Module &module) {
  for (llvm::Function &function : module)
    if (function.getName().starts_with("llvm.nvvm.mma."))
      function.addFnAttr(llvm::Attribute::Convergent);
}

/// Tells LLVM that the arguments of a kernel never overlap.
void addNoAlias(llvm::Module &module) {
  for (llvm::Function &function : module)
    if (function.getCallingConv() == llvm::CallingConv::PTX_Kernel || function.hasExternalLinkage())
      for (llvm::Argument &argument : function.args())
        if (argument.getType()->isPointerTy() && !function.isDeclaration())
          argument.addAttr(llvm::Attribute::NoAlias);
}

} // namespace

absl::StatusOr<std::string> findLibdevice() {
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *home = std::getenv(variable); home && *home) {
      std::string path = absl::StrCat(home, "/nvvm/libdevice/libdevice.10.bc");
      if (access(path.c_str(), R_OK) == 0)
        return path;
      return absl::NotFoundError(absl::StrCat(variable, " is '", home, "', but there is no '", path,
                                              "'; set it to a CUDA toolkit, or unset it"));
    }
  std::string path = "/usr/local/cuda/nvvm/libdevice/libdevice.10.bc";
  if (access(path.c_str(), R_OK) == 0)
    return path;
  return absl::NotFoundError(absl::StrCat("CUDA_HOME is not set, and there is no '", path, "'"));
}

absl::StatusOr<std::string> compileToPtx(GpuProgram &program, const PtxTarget &target) {
  constexpr int kLeastChip = 70;
  if (target.chipNumber() < kLeastChip)
    return absl::InvalidArgumentError(absl::StrCat("kernels cannot be compiled for '", target.chip,
                                                   "'; name a chip from sm_", kLeastChip, " on, as sm_90"));
  initializeTarget();
  SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine,
                             createTargetMachine({kTriple, target.chip, target.features}));
  mlir::MLIRContext *context = program.module->getContext();
  mlir::DialectRegistry registry;
  mlir::registerAllToLLVMIRTranslations(registry);
  context->appendDialectRegistry(registry);
  std::string errors;
  mlir::ScopedDiagnosticHandler handler(context, [&](mlir::Diagnostic &diagnostic) {
    absl::StrAppend(&errors, diagnostic.str(), "\n");
    return mlir::success();
  });
  mlir::PassManager passes(context, mlir::ModuleOp::getOperationName());
  buildNvvmPipeline(passes, target);
  if (mlir::failed(passes.run(*program.module)))
    return absl::InvalidArgumentError(absl::StrCat("MLIR could not lower kernels for ", target.chip, ": ", errors));
  llvm::LLVMContext llvmContext;
  collectErrors(llvmContext, errors);
  std::unique_ptr<llvm::Module> module = mlir::translateModuleToLLVMIR(program.functions(), llvmContext);
  if (!module)
    return absl::InvalidArgumentError(absl::StrCat("MLIR could not translate kernels to LLVM IR: ", errors));
  module->setDataLayout(machine->createDataLayout());
  module->setTargetTriple(kTriple);
  markConvergent(*module);
  if (!program.mayAlias)
    addNoAlias(*module);
  SPLITCAST_RETURN_IF_ERROR(linkLibdevice(*module, target.libdevice));
  optimize(*module, *machine);
  absl::StatusOr<std::string> ptx = emit(*module, *machine, llvm::CodeGenFileType::AssemblyFile);
  if (ptx.ok() && !errors.empty())
    return absl::InvalidArgumentError(absl::StrCat("LLVM could not compile kernels for ", target.chip, ": ", errors));
  return ptx;
}

} // namespace splitcast::runtime
