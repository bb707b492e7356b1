// Prints the reports.
#include "passes/plan/Passes.h"
#include "passes/plan/Reports.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_REPORTPASS
#include "passes/plan/Passes.h.inc"
} // namespace splitcast

namespace {

struct Report : splitcast::impl::ReportPassBase<Report> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (module.getOps<exec::PlanOp>().empty()) {
      module.emitError() << "'exec-report' found no exec.plan; run 'exec-lower' first";
      return signalPassFailure();
    }
    for (const exec::EntryPoint &point : exec::entryPointsOf(module)) {
      llvm::errs() << "@" << point.name;
      if (auto rank = module->getAttrOfType<IntegerAttr>("ccl.rank"))
        llvm::errs() << ", rank " << rank.getInt() << " of "
                     << module->getAttrOfType<IntegerAttr>("ccl.ranks").getInt();
      llvm::errs() << "\n";
      print(reportMemory(module, point), llvm::errs());
      print(reportCommunication(point), llvm::errs());
    }
  }
};

} // namespace
