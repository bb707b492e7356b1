// splitcast-opt: upstream's opt driver with our dialects, passes and pipelines.
#include "compiler/Pipelines.h"
#include "passes/global/Passes.h"
#include "passes/local/Passes.h"
#include "passes/plan/Passes.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

/// An error says what was found and what to do; the op that it names may be a function of thousands of lines.
static void printOpsOnlyIfAsked() {
  mlir::registerMLIRContextCLOptions();
  llvm::cl::Option *option = llvm::cl::getRegisteredOptions().lookup("mlir-print-op-on-diagnostic");
  static_cast<llvm::cl::opt<bool> *>(option)->setInitialValue(false);
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
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Splitcast's pass driver\n", registry));
}
