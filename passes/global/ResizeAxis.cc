// Changes the number of ranks by replacing attributes.
//
// Global types do not contain the pieces of ranks, so it is enough to give the
// placement another size, except for units and ends. A unit must divide the
// length that it splits on the new number of ranks, too (else it is an error),
// and is left out if the pieces are equal without it there. Ends belong to one
// number of ranks (another one is an error). Storages of variables are
// attributes and no types, so they are set one by one.
//
//   before   #p = #sbp.placement<"cpu", [dp = 4]>       sbp.variable @w : tensor<10x4xf32, #B> storage #S0
//   after    #p = #sbp.placement<"cpu", [dp = 1024]>    sbp.variable @w : tensor<10x4xf32, #B> storage #S0
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
    if (failed(verifyUnits(module, placement)))
      return signalPassFailure();
    auto to = sbp::PlacementAttr::fromAlgebra(&getContext(), placement);
    // Leave out units that make no difference on the new number of ranks, as
    // the verifier requires.
    auto resized = [&](RankedTensorType type, sbp::NdAttr signature) {
      return sbp::NdAttr::get(to, sbp::withoutIdleUnits(sbp::shapeOf(type), signature.toAlgebra(), placement));
    };
    for (auto variable : module.getOps<sbp::VariableOp>()) {
      if (std::optional<sbp::NdAttr> storage = variable.getStorage())
        variable.setStorageAttr(resized(variable.getTensorType(), *storage));
      if (std::optional<sbp::NdAttr> update = variable.getUpdate())
        variable.setUpdateAttr(resized(variable.getTensorType(), *update));
    }
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](RankedTensorType type) -> std::optional<std::pair<Type, WalkResult>> {
      sbp::NdAttr signature = sbp::signatureOf(type);
      if (!signature || signature.getPlacement() != from)
        return std::nullopt;
      return std::pair(Type(sbp::withSignature(type, resized(type, signature))), WalkResult::skip());
    });
    replacer.addReplacement([&](sbp::PlacementAttr attr) -> std::optional<Attribute> {
      return attr == from ? Attribute(to) : Attribute(attr);
    });
    replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
  }

  /// Verifies that there are no slots yet: buckets are padded to the size of
  /// the axis.
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

  /// Verifies that units, ends and coordinates fit the new size.
  static LogicalResult verifyUnits(ModuleOp module, const sbp::Placement &placement) {
    RankedTensorType misfit;
    auto check = [&](RankedTensorType type, sbp::NdAttr signature) {
      if (signature && !sbp::unitsFit(sbp::shapeOf(type), signature.toAlgebra(), placement))
        misfit = sbp::withSignature(type, signature);
    };
    AttrTypeWalker walker;
    walker.addWalk([&](RankedTensorType type) { check(type, sbp::signatureOf(type)); });
    WalkResult walk = module.walk([&](Operation *op) {
      walker.walk(op->getAttrDictionary());
      for (Type type : op->getResultTypes())
        walker.walk(type);
      if (auto variable = dyn_cast<sbp::VariableOp>(op)) {
        check(variable.getTensorType(), variable.getStorage().value_or(sbp::NdAttr()));
        check(variable.getTensorType(), variable.getUpdate().value_or(sbp::NdAttr()));
      }
      if (!misfit)
        return WalkResult::advance();
      op->emitError() << "'sbp-resize-axis' found " << misfit
                      << ", whose units, ends or coordinates do not fit the new size; give another size";
      return WalkResult::interrupt();
    });
    return failure(walk.wasInterrupted());
  }
};

} // namespace
