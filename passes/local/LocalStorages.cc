// What a rank stores: buckets, and variables that are in none.
#include "passes/local/LocalStorages.h"

using namespace mlir;

namespace splitcast {

AxisGroup RankView::group(int64_t axis) const {
  AxisGroup result;
  result.axis = axis;
  result.positions = placement.groupAlong(axis, position);
  result.index = coordinates[axis];
  for (int64_t member : result.positions)
    result.ranks.push_back(placement.ranks.empty() ? member : placement.ranks[member]);
  return result;
}

static std::string nameOf(sbp::VariableOp variable) {
  sbp::SlotAttr slot = variable.getSlotAttr();
  if (!slot)
    return "storage." + variable.getSymName().str();
  return "bucket." + slot.getBucket().str() + "." + variable.getRole().value_or("parameter").str();
}

Storages::Storages(ModuleOp module, const RankView &rank) {
  for (auto variable : module.getOps<sbp::VariableOp>()) {
    std::string name = nameOf(variable);
    members[name].push_back(variable);
    names[variable.getSymName()] = name;
  }
  for (auto variable : module.getOps<sbp::VariableOp>())
    if (!types.count(names[variable.getSymName()]))
      define(variable, rank);
}

void Storages::emit(OpBuilder &builder, const RankView &rank) {
  for (const std::string &name : order) {
    SmallVector<Attribute> symbols;
    SmallVector<int64_t> offsets;
    for (sbp::VariableOp member : members[name]) {
      symbols.push_back(FlatSymbolRefAttr::get(member.getSymNameAttr()));
      offsets.push_back(offsetOf(member, rank));
    }
    builder.create<ccl::StorageOp>(members[name].front().getLoc(), builder.getStringAttr(name), nullptr,
                                   TypeAttr::get(types.at(name)), builder.getArrayAttr(symbols),
                                   builder.getDenseI64ArrayAttr(offsets));
  }
}

int64_t Storages::offsetOf(sbp::VariableOp variable, const RankView &rank) {
  sbp::SlotAttr slot = variable.getSlotAttr();
  if (!slot)
    return 0;
  return isChunk(variable) ? pieceOf(variable, rank).chunkBegin : slot.getOffset();
}

sbp::SlotPiece Storages::pieceOf(sbp::VariableOp variable, const RankView &rank) {
  sbp::NdSbp storage = variable.getStorageOrLogical().toAlgebra();
  for (size_t axis = 0; axis < storage.size(); ++axis)
    if (storage[axis].isFlat()) {
      sbp::NdSbp box = storage;
      box[axis] = sbp::Sbp::broadcast();
      int64_t elements =
          sbp::numElements(sbp::localShape(sbp::shapeOf(variable.getType()), box, rank.placement, rank.coordinates));
      return sbp::slotPiece(storage[axis].slot, elements, rank.placement.axes[axis].size, rank.coordinates[axis]);
    }
  return {};
}

void Storages::define(sbp::VariableOp variable, const RankView &rank) {
  std::string name = names[variable.getSymName()];
  RankedTensorType type = sbp::localType(variable.getStorageType(), rank.coordinates);
  if (sbp::SlotAttr slot = variable.getSlotAttr()) {
    int64_t elements = slot.getTotal();
    sbp::NdSbp storage = variable.getStorageOrLogical().toAlgebra();
    for (size_t axis = 0; axis < storage.size(); ++axis)
      if (storage[axis].isFlat())
        elements /= rank.placement.axes[axis].size;
    type = RankedTensorType::get({elements}, type.getElementType());
  }
  types[name] = type;
  order.push_back(name);
}

} // namespace splitcast
