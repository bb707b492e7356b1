// Another number of ranks, by replacing attributes.
#include "passes/global/Passes.h"

#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_RESIZEAXISPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

struct ResizeAxis : splitcast::impl::ResizeAxisPassBase<ResizeAxis> {
  using ResizeAxisPassBase::ResizeAxisPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(verifyModule(module)))
      return signalPassFailure();
    sbp::PlacementAttr from = sbp::placementOf(module);
    if (!from)
      return;
    sbp::Placement placement = from.toAlgebra();
    int64_t index = axis.empty() ? 0 : placement.axisIndex(axis);
    if (index < 0 || index >= from.getNumAxes() || size < 1 || !placement.ranks.empty()) {
      module.emitError() << "'sbp-resize-axis' got axis=" << axis.getValue() << " size=" << size.getValue() << " for "
                         << from
                         << "; give one of its axes and a size of at least 1, and a placement that lists no ranks";
      return signalPassFailure();
    }
    if (failed(verifyNoSlots(module)))
      return signalPassFailure();
    SmallVector<int64_t> sizes(from.getAxisSizes());
    sizes[index] = size;
    auto emitError = [&] {
      return module.emitError() << "'sbp-resize-axis' got axis=" << axis.getValue() << " size=" << size.getValue()
                                << ": ";
    };
    if (failed(sbp::PlacementAttr::verify(emitError, from.getDeviceKind(), from.getAxisNames(), sizes, {})))
      return signalPassFailure();
    placement.axes[index].size = size;
    auto to = sbp::PlacementAttr::fromAlgebra(&getContext(), placement);
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](sbp::PlacementAttr attr) -> std::optional<Attribute> {
      return attr == from ? Attribute(to) : Attribute(attr);
    });
    replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
  }

  /// Buckets are padded to the size of the axis.
  static LogicalResult verifyNoSlots(ModuleOp module) {
    sbp::SlotAttr slot;
    AttrTypeWalker walker;
    walker.addWalk([&](sbp::SlotAttr found) { slot = found; });
    WalkResult walk = module.walk([&](Operation *op) {
      walker.walk(op->getAttrDictionary());
      for (Type type : op->getResultTypes())
        walker.walk(type);
      if (!slot)
        return WalkResult::advance();
      InFlightDiagnostic diag = op->emitError() << "'sbp-resize-axis' found ";
      if (auto symbol = dyn_cast<SymbolOpInterface>(op))
        diag << "@" << symbol.getName();
      else
        diag << "'" << op->getName() << "'";
      diag << " in bucket '" << slot.getBucket().getValue()
           << "', which is padded to the old size; run it before 'sbp-zero-storage'";
      return WalkResult::interrupt();
    });
    return failure(walk.wasInterrupted());
  }
};

} // namespace
