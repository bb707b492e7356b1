// Decides what a rank stores: buckets, and variables that are in none.
//
// The members of a bucket, and their states of each role, are one storage,
// which has the rank's share of the bucket's elements if they are split. Every
// other variable is a storage of its own, with the shape of the rank's piece. A
// storage lists its members and where the rank's piece of each begins.
// Variables that only other ranks hold (At) have no elements here.
//
//   before   sbp.bucket @l : tensor<64xf32> holds [@w, @b] at [0, 48]    both with storage S(@l), on 2 ranks
//            sbp.variable @v : tensor<10x4xf32> storage S(0)
//   after    ccl.storage @bucket.l.parameter : tensor<32xf32> holds [@w, @b] at [...]
//            ccl.storage @storage.v : tensor<5x4xf32> holds [@v] at [0]
#include "passes/local/LocalStorages.h"

using namespace mlir;

namespace splitcast {

AxisGroup RankView::group(ArrayRef<int64_t> axes) const {
  AxisGroup result;
  for (int64_t axis : axes)
    result.axis += (result.axis.empty() ? "" : "_") + placement.axes[axis].name;
  result.positions = placement.groupAlong(axes.vec(), position);
  result.index = llvm::find(result.positions, position) - result.positions.begin();
  for (int64_t member : result.positions)
    result.ranks.push_back(placement.ranks.empty() ? member : placement.ranks[member]);
  return result;
}

std::string Storages::nameOf(StringRef bucket, StringRef role) { return ("bucket." + bucket + "." + role).str(); }

static std::string storageOf(sbp::VariableOp variable) {
  sbp::SlotAttr slot = variable.getSlotAttr();
  if (!slot)
    return "storage." + variable.getSymName().str();
  return Storages::nameOf(slot.getBucket().getValue(), variable.getRole().value_or(sbp::kParameterRole));
}

Storages::Storages(ModuleOp module, const RankView &rank) {
  for (auto variable : module.getOps<sbp::VariableOp>()) {
    std::string name = storageOf(variable);
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
  sbp::NdAttr storage = variable.getStorageOrLogical();
  if (!sbp::isHeld(storage.toAlgebra(), rank.coordinates))
    return 0;
  return storage.getFlatSlot() ? flatPiece(sbp::shapeOf(variable.getType()), storage.toAlgebra(), rank).chunkBegin
                               : slot.getOffset();
}

sbp::SlotPiece flatPiece(const sbp::Shape &shape, const sbp::NdSbp &signature, const RankView &rank) {
  for (size_t axis = 0; axis < signature.size(); ++axis)
    if (signature[axis].isFlat()) {
      sbp::NdSbp box = signature;
      box[axis] = sbp::Sbp::broadcast();
      int64_t elements = sbp::numElements(sbp::localShape(shape, box, rank.placement, rank.coordinates));
      return sbp::slotPiece(signature[axis].slot, elements, rank.placement.axes[axis].size, rank.coordinates[axis]);
    }
  return {};
}

void Storages::define(sbp::VariableOp variable, const RankView &rank) {
  std::string name = names[variable.getSymName()];
  RankedTensorType type = sbp::localType(variable.getStorageType(), rank.coordinates);
  if (sbp::SlotAttr slot = variable.getSlotAttr()) {
    sbp::NdSbp storage = variable.getStorageOrLogical().toAlgebra();
    int64_t elements = sbp::isHeld(storage, rank.coordinates) ? slot.getTotal() : 0;
    for (size_t axis = 0; axis < storage.size(); ++axis)
      if (elements > 0 && storage[axis].isFlat())
        elements =
            sbp::pieceTo(storage[axis].slot.ends, elements, rank.placement.axes[axis].size, rank.coordinates[axis])
                .count;
    type = RankedTensorType::get({elements}, type.getElementType());
  }
  types[name] = type;
  order.push_back(name);
}

} // namespace splitcast
