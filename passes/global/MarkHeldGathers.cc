// Functions that keep what they gather between their runs.
//
// One that assigns nothing, and reads variables that lie otherwise than it reads them, is marked when these
// variables, whole and each counted once, have limit-bytes or less together. 'ccl-hold-gathers' does what the mark
// says.
//
//   before   func.func @predict(...) { %0 = sbp.read @w ... }     @w : #B, 160 bytes, storage #S0
//   after    func.func @predict(...) attributes {sbp.hold_gathers} { ... }
#include "passes/global/Passes.h"

#include "dialects/sbp/algebra/Sizes.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_MARKHELDGATHERSPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

struct MarkHeldGathers : splitcast::impl::MarkHeldGathersPassBase<MarkHeldGathers> {
  using MarkHeldGathersPassBase::MarkHeldGathersPassBase;

  void runOnOperation() override {
    if (limitBytes < 0) {
      getOperation().emitError() << "'sbp-hold-gathers' got limit-bytes=" << limitBytes.getValue()
                                 << "; it is at least 0";
      return signalPassFailure();
    }
    SymbolTable symbols(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      bool assigns = !function.getBody().empty() && !function.getBody().front().getOps<sbp::AssignOp>().empty();
      std::optional<int64_t> bytes = assigns ? 0 : gatheredBytes(function, symbols);
      if (bytes && *bytes > 0 && *bytes <= limitBytes)
        function->setAttr("sbp.hold_gathers", UnitAttr::get(&getContext()));
    }
  }

  /// Of the whole variables that the function reads as other than they are stored; nothing when they are too many.
  static std::optional<int64_t> gatheredBytes(func::FuncOp function, SymbolTable &symbols) {
    std::optional<int64_t> bytes = 0;
    llvm::StringSet<> counted;
    for (auto read : function.getOps<sbp::ReadOp>()) {
      auto variable = symbols.lookup<sbp::VariableOp>(read.getVariable());
      bool isGathered = variable && variable.getStorage() && variable.getStorageOrLogical() != variable.getLogical();
      if (bytes && isGathered && counted.insert(variable.getSymName()).second)
        bytes = sbp::checkedSum(*bytes, sbp::numElements(sbp::shapeOf(variable.getType())) *
                                            sbp::elementBytes(variable.getType()));
    }
    return bytes;
  }
};

} // namespace
