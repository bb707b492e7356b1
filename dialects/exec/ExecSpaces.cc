// Where ranges lie: the spaces that a module declares.
#include "dialects/exec/Exec.h"
#include "dialects/sbp/algebra/Sizes.h"

using namespace mlir;
using namespace splitcast;
using namespace splitcast::exec;

Spaces::Spaces(ModuleOp module) {
  if (module)
    for (auto space : module.getOps<SpaceOp>())
      byName[space.getSymNameAttr()] = space;
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

int64_t splitcast::exec::bytesOfRun(PlanOp plan, const Spaces &spaces) {
  llvm::DenseMap<StringAttr, int64_t> ends;
  auto add = [&](RangeAttr range) {
    if (int64_t &end = ends[range.getSpace()]; !spaces.keeps(range))
      end = std::max(end, range.getEnd());
  };
  for (ArrayAttr ranges : {plan.getInputs(), plan.getOutputs()})
    llvm::for_each(ranges.getAsRange<RangeAttr>(), add);
  if (ArrayAttr buffers = plan.getBuffersAttr())
    for (auto buffer : buffers.getAsRange<BufferAttr>())
      add(buffer.getRange());
  SmallVector<RangeAttr> used;
  for (Operation &op : plan.getBody().front())
    rangesOf(&op, used, used);
  llvm::for_each(used, add);
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
                         << " bytes; no space has fewer than 0";
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
  return success();
}
