// splitcast-opt: MLIR's opt driver with our dialects, passes and pipelines.
#include "compiler/Pipelines.h"
#include "compiler/tools/KeepNames.h"
#include "passes/global/Passes.h"
#include "passes/local/Passes.h"
#include "passes/plan/Passes.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"

/// By default errors do not print the op: the message already says what was
/// found and what to do, and the op may be a function of thousands of lines.
static void printOpsOnlyIfAsked() {
  mlir::registerMLIRContextCLOptions();
  llvm::cl::Option *option = llvm::cl::getRegisteredOptions().lookup("mlir-print-op-on-diagnostic");
  static_cast<llvm::cl::opt<bool> *>(option)->setInitialValue(false);
}

/// Runs MLIR's driver on the input with the names of its values written into
/// their locations.
static mlir::LogicalResult runWithNames(const std::string &inputName, const std::string &outputName,
                                        mlir::DialectRegistry &registry) {
  const mlir::MlirOptMainConfig config = mlir::MlirOptMainConfig::createFromCLOptions();
  std::string error;
  // Keeping the names parses the text as one module and prints it again, which
  // drops the comments that these flags need.
  if (config.shouldVerifyDiagnostics() || !config.inputSplitMarker().empty()) {
    llvm::errs()
        << "splitcast-opt: error: --keep-names cannot be combined with --split-input-file or --verify-diagnostics; "
           "leave out one or the other\n";
    return mlir::failure();
  }
  std::unique_ptr<llvm::MemoryBuffer> input = mlir::openInputFile(inputName, &error);
  std::unique_ptr<llvm::ToolOutputFile> output = input ? mlir::openOutputFile(outputName, &error) : nullptr;
  if (!output) {
    llvm::errs() << "splitcast-opt: error: " << error << "\n";
    return mlir::failure();
  }
  input = splitcast::withNamesKept(std::move(input), registry);
  if (!input || failed(mlir::MlirOptMain(output->os(), std::move(input), registry, config)))
    return mlir::failure();
  output->keep();
  return mlir::success();
}

int main(int argc, char **argv) {
  mlir::registerTransformsPasses();
  splitcast::registerGlobalPasses();
  splitcast::registerLocalPasses();
  splitcast::registerPlanPasses();
  splitcast::registerPipelines();
  printOpsOnlyIfAsked();
  mlir::DialectRegistry registry;
  splitcast::registerDialects(registry);
  llvm::cl::opt<bool> keepNames("keep-names", llvm::cl::desc("Keep the names of values in the input, such as %logits"));
  auto [input, output] = mlir::registerAndParseCLIOptions(argc, argv, "Splitcast's pass driver\n", registry);
  return mlir::asMainReturnCode(keepNames ? runWithNames(input, output, registry)
                                          : mlir::MlirOptMain(argc, argv, input, output, registry));
}
