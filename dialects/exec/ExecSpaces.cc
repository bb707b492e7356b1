// Verifies that ranges lie within the spaces that a module declares.
#include "dialects/exec/Exec.h"
#include "dialects/exec/SharedStorages.h"
#include "dialects/sbp/StorageMembers.h"
#include "dialects/sbp/algebra/Sizes.h"

using namespace mlir;
using namespace splitcast;
using namespace splitcast::exec;

Spaces::Spaces(ModuleOp module) {
  if (module)
    for (auto space : module.getOps<SpaceOp>())
      byName[space.getSymNameAttr()] = space;
}

/// Returns all ranges that a plan names.
static SmallVector<RangeAttr> allRangesOf(PlanOp plan) {
  SmallVector<RangeAttr> ranges;
  for (ArrayAttr ofPlan : {plan.getInputs(), plan.getOutputs()})
    llvm::append_range(ranges, ofPlan.getAsRange<RangeAttr>());
  if (ArrayAttr buffers = plan.getBuffersAttr())
    for (auto buffer : buffers.getAsRange<BufferAttr>())
      ranges.push_back(buffer.getRange());
  for (Operation &op : plan.getBody().front())
    rangesOf(&op, ranges, ranges);
  return ranges;
}

Spaces::Spaces(PlanOp plan, SymbolTableCollection &symbols) {
  for (RangeAttr range : allRangesOf(plan))
    if (auto [space, isNew] = byName.try_emplace(range.getSpace()); isNew)
      space->second = symbols.lookupNearestSymbolFrom<SpaceOp>(plan, range.getSpace());
}

LogicalResult splitcast::exec::verifyWithin(const Spaces &spaces, Operation *op, ArrayRef<RangeAttr> ranges) {
  for (RangeAttr range : ranges) {
    SpaceOp space = spaces.of(range);
    if (!space)
      return op->emitOpError() << "uses " << range << ", but the module has no exec.space @"
                               << range.getSpace().getValue() << "; declare it";
    if (range.getEnd() > static_cast<int64_t>(space.getBytes()))
      return op->emitOpError() << "uses " << range << ", but the space has " << space.getBytes() << " bytes";
  }
  return success();
}

RankedTensorType splitcast::exec::pieceOf(Operation *op, RankedTensorType type) {
  auto module = op->getParentOfType<ModuleOp>();
  auto rank = module ? module->getAttrOfType<IntegerAttr>("ccl.rank") : IntegerAttr();
  sbp::NdAttr signature = sbp::signatureOf(type);
  if (!rank || !signature || !type.hasStaticShape())
    return {};
  const sbp::Placement placement = signature.getPlacement().toAlgebra();
  int64_t position = rank.getInt();
  if (!placement.ranks.empty())
    position = llvm::find(placement.ranks, position) - placement.ranks.begin();
  if (position < 0 || position >= placement.numPositions())
    return {};
  return sbp::localType(type, placement.coordinates(position));
}

int64_t splitcast::exec::bytesOfRun(PlanOp plan, const Spaces &spaces) {
  llvm::DenseMap<StringAttr, int64_t> ends;
  for (RangeAttr range : allRangesOf(plan))
    if (int64_t &end = ends[range.getSpace()]; !spaces.keeps(range))
      end = std::max(end, range.getEnd());
  int64_t bytes = 0;
  for (auto [space, end] : ends)
    bytes = sbp::cappedSum(bytes, end);
  return bytes;
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

LogicalResult SpaceOp::verify() {
  if (static_cast<int64_t>(getBytes()) < 0)
    return emitOpError() << "@" << getSymName() << " has " << static_cast<int64_t>(getBytes())
                         << " bytes; a space must have at least 0";
  if (getGroup() && !getKept())
    return emitOpError() << "@" << getSymName() << " is shared by @" << *getGroup()
                         << ", but not kept; only a kept space can be shared";
  return success();
}

LogicalResult SpaceOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!getGroup())
    return success();
  if (!symbols.lookupNearestSymbolFrom<GroupOp>(*this, getGroupAttr()))
    return emitOpError() << "@" << getSymName() << " is shared by @" << *getGroup()
                         << ", but the module has no such exec.group; declare it";
  auto module = dyn_cast_or_null<ModuleOp>((*this)->getParentOp());
  return module ? verifySharedSpace(*this, module) : success();
}

/// Verifies C4: each member's piece has elements of its own in the storage.
static LogicalResult verifyRoomOf(StorageOp op, SymbolTableCollection &symbols) {
  auto type = cast<RankedTensorType>(op.getType());
  const int64_t elements = sbp::numElements(sbp::shapeOf(type));
  SmallVector<std::pair<sbp::Interval, StringAttr>> rooms;
  for (auto [member, offset] : llvm::zip(op.getMembers().getAsRange<FlatSymbolRefAttr>(), op.getOffsets())) {
    auto variable = symbols.lookupNearestSymbolFrom<sbp::VariableOp>(op, member);
    RankedTensorType piece = variable ? pieceOf(op, variable.getStorageType()) : RankedTensorType();
    if (!piece)
      continue;
    const int64_t count = sbp::numElements(sbp::shapeOf(piece));
    if (piece.getElementType() != type.getElementType() || count > elements - offset)
      return op.emitOpError() << "@" << op.getSymName() << " of " << type << " has " << member << " from element "
                              << offset << " on, of which this rank's piece is " << piece
                              << "; a storage must have room for the pieces of its members, and their element type";
    if (count > 0)
      rooms.push_back({{offset, count}, member.getAttr()});
  }
  llvm::sort(rooms, [](const auto &a, const auto &b) { return a.first.begin < b.first.begin; });
  for (size_t i = 1; i < rooms.size(); ++i)
    if (const auto &[before, other] = rooms[i - 1]; before.begin + before.count > rooms[i].first.begin)
      return op.emitOpError() << "@" << op.getSymName() << " has @" << rooms[i].second.getValue() << " from element "
                              << rooms[i].first.begin << " on, where @" << other.getValue() << " lies, from "
                              << before.begin << " to " << before.begin + before.count - 1
                              << "; give each member elements of its own";
  return success();
}

LogicalResult StorageOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto space = symbols.lookupNearestSymbolFrom<SpaceOp>(*this, getRange().getSpace());
  if (!space || getRange().getEnd() > static_cast<int64_t>(space.getBytes()))
    return emitOpError() << "lies in " << getRange()
                         << ", which is not within an exec.space; declare one that is large enough";
  for (auto member : getMembers().getAsRange<FlatSymbolRefAttr>())
    if (auto variable = symbols.lookupNearestSymbolFrom<sbp::VariableOp>(*this, member);
        !space.getKept() && !(variable && variable.getCarried()))
      return emitOpError() << "has @" << member.getValue() << ", which is not carried, in @" << space.getSymName()
                           << ", a space that is not kept; put it into one that is";
  if (!space.getKept() && getMembers().empty())
    return emitOpError() << "has no carried variable, and lies in @" << space.getSymName()
                         << ", a space that is not kept; put it into one that is";
  if (failed(verifyRoomOf(*this, symbols)))
    return failure();
  return sbp::verifyMembersAcross(*this);
}
