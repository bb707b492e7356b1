#include "dialects/sbp/ValueNames.h"

using namespace mlir;

namespace splitcast::sbp {

namespace {

/// Names results and block arguments as their locations say.
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
  if (auto name = dyn_cast<NameLoc>(location))
    return NameLoc::get(name.getName(), withoutValueName(name.getChildLoc()));
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return CallSiteLoc::get(withoutValueName(call.getCallee()), call.getCaller());
  auto fused = dyn_cast<FusedLoc>(location);
  if (!fused)
    return location;
  const bool isName = isa_and_nonnull<StringAttr>(fused.getMetadata());
  SmallVector<Location> places = llvm::map_to_vector(fused.getLocations(), withoutValueName);
  return FusedLoc::get(location.getContext(), places, isName ? Attribute() : fused.getMetadata());
}

StringAttr valueNameOf(Location location) {
  for (;;) {
    if (auto name = dyn_cast<NameLoc>(location)) {
      location = name.getChildLoc();
    } else if (auto call = dyn_cast<CallSiteLoc>(location)) {
      location = call.getCallee();
    } else if (auto fused = dyn_cast<FusedLoc>(location)) {
      if (auto name = dyn_cast_or_null<StringAttr>(fused.getMetadata()))
        return name;
      if (fused.getLocations().size() != 1) // several ops were merged, and none of them names the value
        return {};
      location = fused.getLocations().front();
    } else {
      return {};
    }
  }
}

void *namesFromLocations(TypeID interface) {
  static NamesFromLocations names;
  return interface == OpAsmOpInterface::getInterfaceID() ? static_cast<OpAsmOpInterface::Concept *>(&names) : nullptr;
}

} // namespace splitcast::sbp
