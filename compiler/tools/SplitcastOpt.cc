// splitcast-opt: MLIR's opt driver with our dialects, passes and pipelines.
#include "compiler/Pipelines.h"
#include "compiler/tools/KeepNames.h"
#include "compiler/tools/ModuleFile.h"
#include "passes/global/Passes.h"
#include "passes/local/Passes.h"
#include "passes/plan/Passes.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"

/// By default errors do not print the op: the message already says what was
/// found and what to do, and the op may be a function of thousands of lines.
static void printOpsOnlyIfAsked() {
  mlir::registerMLIRContextCLOptions();
  llvm::cl::Option *option = llvm::cl::getRegisteredOptions().lookup("mlir-print-op-on-diagnostic");
  static_cast<llvm::cl::opt<bool> *>(option)->setInitialValue(false);
}

/// Whether the names of values can be kept: this parses the text as one module
/// and prints it again, which drops the comments that the other flags need.
static bool mayKeepNames(const mlir::MlirOptMainConfig &config) {
  if (!config.shouldVerifyDiagnostics() && config.inputSplitMarker().empty())
    return true;
  llvm::errs()
      << "splitcast-opt: error: --keep-names cannot be combined with --split-input-file or --verify-diagnostics; "
         "leave out one or the other\n";
  return false;
}

/// Reads the input, and whatever other file MLIR's driver is going to parse.
static std::unique_ptr<llvm::MemoryBuffer> readInput(const std::string &name, const mlir::MlirOptMainConfig &config,
                                                     bool allowBytecode) {
  auto input = splitcast::readModuleFile(name, allowBytecode);
  absl::Status status = input.status();
  if (!config.getIrdlFile().empty())
    status.Update(splitcast::readModuleFile(config.getIrdlFile().str(), allowBytecode).status());
  if (status.ok())
    return *std::move(input);
  llvm::errs() << "splitcast-opt: error: " << std::string(status.message()) << "\n";
  return nullptr;
}

/// Runs MLIR's driver on the input; if `keepNames`, with the names of its
/// values written into their locations.
static mlir::LogicalResult run(const std::string &inputName, const std::string &outputName,
                               mlir::DialectRegistry &registry, bool keepNames, bool allowBytecode) {
  const mlir::MlirOptMainConfig config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (keepNames && !mayKeepNames(config))
    return mlir::failure();
  std::unique_ptr<llvm::MemoryBuffer> input = readInput(inputName, config, allowBytecode);
  if (!input)
    return mlir::failure();
  std::string error;
  std::unique_ptr<llvm::ToolOutputFile> output = mlir::openOutputFile(outputName, &error);
  if (!output) {
    llvm::errs() << "splitcast-opt: error: " << error << "\n";
    return mlir::failure();
  }
  if (keepNames)
    input = splitcast::withNamesKept(std::move(input), registry);
  if (!input || failed(mlir::MlirOptMain(output->os(), std::move(input), registry, config)))
    return mlir::failure();
  output->keep();
  return mlir::success();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  mlir::registerTransformsPasses();
  splitcast::registerGlobalPasses();
  splitcast::registerLocalPasses();
  splitcast::registerPlanPasses();
  splitcast::registerPipelines();
  printOpsOnlyIfAsked();
  mlir::DialectRegistry registry;
  splitcast::registerDialects(registry);
  llvm::cl::opt<bool> keepNames("keep-names", llvm::cl::desc("Keep the names of values in the input, such as %logits"));
  llvm::cl::opt<bool> allowBytecode(splitcast::kAllowBytecode, llvm::cl::desc(splitcast::kAllowBytecodeHelp));
  auto [input, output] = mlir::registerAndParseCLIOptions(argc, argv, "Splitcast's pass driver\n", registry);
  return mlir::asMainReturnCode(run(input, output, registry, keepNames, allowBytecode));
}
