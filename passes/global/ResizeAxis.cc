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
    for (auto variable : module.getOps<sbp::VariableOp>())
      if (std::optional<sbp::Slot> slot = bucketOf(variable)) {
        variable.emitError() << "'sbp-resize-axis' found @" << variable.getSymName() << " in bucket '" << slot->bucket
                             << "', which is padded to the old size; run it before 'sbp-zero-storage'";
        return signalPassFailure();
      }
    placement.axes[index].size = size;
    auto to = sbp::PlacementAttr::fromAlgebra(&getContext(), placement);
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](sbp::PlacementAttr attr) -> std::optional<Attribute> {
      return attr == from ? Attribute(to) : Attribute(attr);
    });
    replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
  }

  static std::optional<sbp::Slot> bucketOf(sbp::VariableOp variable) {
    if (sbp::SlotAttr slot = variable.getSlotAttr())
      return sbp::Slot{slot.getBucket().str(), slot.getOffset(), slot.getTotal()};
    sbp::NdAttr storage = variable.getStorageOrLogical();
    return storage ? storage.getFlatSlot() : std::nullopt;
  }
};

} // namespace
