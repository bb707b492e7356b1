#include "passes/plan/Passes.h"
#include "passes/plan/Reports.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

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
    if (auto functions = module.getOps<func::FuncOp>(); !functions.empty()) {
      (*functions.begin()).emitOpError() << "is not lowered to a plan; run 'exec-lower' first";
      return signalPassFailure();
    }
    auto rank = module->getAttrOfType<IntegerAttr>("ccl.rank"), ranks = module->getAttrOfType<IntegerAttr>("ccl.ranks");
    const MemoryReports memory(module);
    SymbolTableCollection symbols;
    for (const exec::EntryPoint &point : exec::entryPointsOf(module)) {
      llvm::errs() << "@" << point.name;
      if (rank && ranks)
        llvm::errs() << ", rank " << rank.getInt() << " of " << ranks.getInt();
      llvm::errs() << "\n";
      print(memory.of(point), llvm::errs());
      print(reportCommunication(point, symbols), llvm::errs());
    }
  }
};

} // namespace
