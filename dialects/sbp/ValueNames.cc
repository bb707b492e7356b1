#include "dialects/sbp/ValueNames.h"

using namespace mlir;

namespace splitcast::sbp {

namespace {

struct NamesFromLocations : OpAsmOpInterface::FallbackModel<NamesFromLocations> {
  // MLIR calls these by their names.
  // NOLINTBEGIN(readability-convert-member-functions-to-static)
  void getAsmResultNames(Operation *op, OpAsmSetValueNameFn setName) const {
    if (op->getNumResults() == 0)
      return;
    if (StringAttr name = valueNameOf(op->getLoc()))
      setName(op->getResult(0), name);
  }
  void getAsmBlockArgumentNames(Operation *, Region &region, OpAsmSetValueNameFn setName) const {
    if (region.empty())
      return;
    for (BlockArgument argument : region.getArguments())
      if (StringAttr name = valueNameOf(argument.getLoc()))
        setName(argument, name);
  }
  void getAsmBlockNames(Operation *, OpAsmSetBlockNameFn) const {}
  static StringRef getDefaultDialect() { return ""; }
  // NOLINTEND(readability-convert-member-functions-to-static)
};

} // namespace

Location withValueName(Location location, StringRef name) {
  return FusedLoc::get(location.getContext(), {withoutValueName(location)},
                       StringAttr::get(location.getContext(), name));
}

Location withoutValueName(Location location) {
  auto fused = dyn_cast<FusedLoc>(location);
  if (!fused)
    return location;
  if (isa_and_nonnull<StringAttr>(fused.getMetadata()))
    return withoutValueName(fused.getLocations().front());
  SmallVector<Location> places = llvm::map_to_vector(fused.getLocations(), withoutValueName);
  return FusedLoc::get(location.getContext(), places, fused.getMetadata());
}

StringAttr valueNameOf(Location location) {
  auto named = location->findInstanceOf<FusedLocWith<StringAttr>>();
  return named ? named.getMetadata() : StringAttr();
}

void *namesFromLocations(TypeID interface) {
  static NamesFromLocations names;
  return interface == OpAsmOpInterface::getInterfaceID() ? static_cast<OpAsmOpInterface::Concept *>(&names) : nullptr;
}

} // namespace splitcast::sbp
