// splitcast-opt: upstream's opt driver with our dialects, passes and pipelines.
#include "compiler/Pipelines.h"
#include "passes/global/Passes.h"
#include "passes/local/Passes.h"
#include "passes/plan/Passes.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::registerTransformsPasses();
  splitcast::registerGlobalPasses();
  splitcast::registerLocalPasses();
  splitcast::registerPlanPasses();
  splitcast::registerPipelines();
  mlir::DialectRegistry registry;
  splitcast::registerDialects(registry);
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Splitcast's pass driver\n", registry));
}
