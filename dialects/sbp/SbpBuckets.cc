// Verifies sbp.bucket and the ops on its ranges, and says in which range a
// member lies.
#include "dialects/sbp/Sbp.h"

using namespace mlir;
using namespace splitcast::sbp;

int64_t BucketOp::getAxisIndex() {
  return signatureOf(getType()).getPlacement().toAlgebra().axisIndex(getAxis().str());
}

Slot BucketOp::getSlotAt(int64_t offset) {
  return {getSymName().str(), offset, getElements(), getEnds() ? getEnds()->vec() : Ends()};
}

Sbp BucketOp::getChunks() { return Sbp::splitTo(getTensorType().getRank() - 1, getEnds() ? getEnds()->vec() : Ends()); }

RankedTensorType BucketOp::getRangeType(Type element, NdAttr member) {
  NdAttr whole = signatureOf(getType());
  if (member.getPlacement() != whole.getPlacement())
    return {};
  NdSbp entries = whole.toAlgebra(), ofMember = member.toAlgebra();
  int64_t axis = getAxisIndex();
  SmallVector<int64_t> shape;
  for (int64_t other = 0; other < static_cast<int64_t>(entries.size()); ++other) {
    if (other == axis)
      continue;
    bool hasDimension = entries[other].isSplit();
    if (ofMember[other].isFlat() || (ofMember[other].isSplit() && !hasDimension) ||
        ((ofMember[other].isAt() || entries[other].isAt()) && ofMember[other] != entries[other]))
      return {};
    if (ofMember[other].isPartial())
      entries[other] = Sbp::partial();
    else if (hasDimension) {
      entries[other] = Sbp::split(shape.size());
      shape.push_back(whole.getPlacement().getAxisSizes()[other]);
    }
  }
  if (ofMember[axis].isSplit() || ofMember[axis].isAt())
    return {};
  entries[axis] = ofMember[axis].isFlat() ? getChunks() : ofMember[axis];
  shape.push_back(getElements());
  return RankedTensorType::get(shape, element, NdAttr::get(whole.getPlacement(), entries));
}

//===----------------------------------------------------------------------===//
// The bucket
//===----------------------------------------------------------------------===//

LogicalResult BucketOp::verify() {
  RankedTensorType type = getTensorType();
  NdAttr signature = signatureOf(type);
  if (!signature || signature.getPlacement().toAlgebra().axisIndex(getAxis().str()) < 0)
    return emitOpError() << "has type " << type << " and axis \"" << getAxis()
                         << "\"; the type must have a signature, on a placement with this axis";
  int64_t dimensions = 0;
  for (auto [index, entry] : llvm::enumerate(signature.toAlgebra())) {
    bool isOwn = static_cast<int64_t>(index) == getAxisIndex();
    bool leads = !isOwn && entry == Sbp::split(dimensions) && dimensions + 1 < type.getRank() &&
                 type.getDimSize(dimensions) == signature.getPlacement().getAxisSizes()[index];
    if (!leads && !entry.isBroadcast() && (isOwn || !entry.isAt()))
      return emitOpError() << "is " << toString(entry) << " on axis \""
                           << signature.getPlacement().getAxisNames()[index].getValue()
                           << "\"; along its own axis it must be B, and along another one B, at a coordinate, or "
                              "split along a leading dimension of the axis's size";
    dimensions += leads;
  }
  if (type.getRank() != dimensions + 1)
    return emitOpError() << "has " << type.getRank() << " dimensions, of which its signature splits " << dimensions
                         << "; it must have one dimension more than that";
  int64_t ranks = signature.getPlacement().getAxisSizes()[getAxisIndex()];
  if (!getEnds() && getElements() % ranks != 0)
    return emitOpError() << "has " << getElements() << " elements, which axis \"" << getAxis() << "\" of size " << ranks
                         << " does not divide; pad it, or say where each rank's chunk ends";
  if (getEnds())
    if (std::string fault = faultOfEnds(getEnds()->vec(), getElements(), ranks); !fault.empty())
      return emitOpError() << "@" << getSymName() << " " << fault;
  if (getMembers().size() != getOffsets().size())
    return emitOpError() << "has " << getMembers().size() << " members and " << getOffsets().size()
                         << " offsets; give one for each";
  for (int64_t offset : getOffsets())
    if (offset < 0 || offset > getElements())
      return emitOpError() << "@" << getSymName() << " holds a variable at " << offset << ", but has " << getElements()
                           << " elements; offsets lie within";
  if (getMembers().empty())
    return emitOpError() << "@" << getSymName()
                         << " holds no variable; name the variables that lie in it, or remove the bucket";
  return success();
}

/// Verifies that the slot and the element type of a member agree with the
/// bucket, and that it does not overlap the member before it.
static LogicalResult verifyMember(BucketOp bucket, VariableOp variable, int64_t offset, int64_t end) {
  SlotAttr slot = variable.getSlotAttr();
  if (!slot || !(slot.toAlgebra() == bucket.getSlotAt(offset)))
    return bucket.emitOpError() << "holds @" << variable.getSymName() << " at "
                                << SlotAttr::fromAlgebra(bucket.getContext(), bucket.getSlotAt(offset))
                                << ", but that variable's slot is another; make them agree";
  Type element = bucket.getTensorType().getElementType();
  if (variable.getTensorType().getElementType() != element)
    return bucket.emitOpError() << "has elements of " << element << ", but its member @" << variable.getSymName()
                                << " has " << variable.getTensorType() << "; a bucket has one element type";
  if (offset < end)
    return bucket.emitOpError()
           << "holds @" << variable.getSymName() << " at " << offset
           << ", where the member before it has not ended; members must ascend and must not overlap";
  return success();
}

LogicalResult BucketOp::verifySymbolUses(SymbolTableCollection &symbols) {
  NdSbp whole = signatureOf(getType()).toAlgebra();
  Placement placement = signatureOf(getType()).getPlacement().toAlgebra();
  std::vector<bool> splits(whole.size(), false);
  int64_t end = 0;
  for (auto [symbol, offset] : llvm::zip(getMembers().getAsRange<FlatSymbolRefAttr>(), getOffsets())) {
    auto variable = symbols.lookupNearestSymbolFrom<VariableOp>(*this, symbol);
    if (!variable)
      return emitOpError() << "holds " << symbol << ", but the module has no such sbp.variable";
    if (failed(verifyMember(*this, variable, offset, end)))
      return failure();
    if (!variable.getLogical())
      return emitOpError() << "holds " << symbol << ", whose signature is undecided; give its type one";
    NdSbp logical = variable.getLogical().toAlgebra();
    logical[getAxisIndex()] = Sbp::broadcast();
    for (size_t axis = 0; axis < logical.size(); ++axis) {
      splits[axis] = splits[axis] || logical[axis].isSplit();
      if ((logical[axis].isAt() || whole[axis].isAt()) && logical[axis] != whole[axis])
        return emitOpError() << "is " << toString(whole[axis]) << " on axis \"" << placement.axes[axis].name
                             << "\", where its member " << symbol << " is " << toString(logical[axis])
                             << "; all members of a bucket must be at one coordinate";
    }
    end = offset + maxBoxElements(shapeOf(variable.getType()), logical, placement);
  }
  for (size_t axis = 0; axis < whole.size(); ++axis)
    if (splits[axis] != whole[axis].isSplit())
      return emitOpError()
             << "has " << (splits[axis] ? "no" : "a") << " dimension for axis \"" << placement.axes[axis].name
             << "\", which splits " << (splits[axis] ? "a" : "no")
             << " member; a bucket must have one leading dimension for each axis that splits a member, and no other";
  return success();
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

template <typename OpTy> static BucketOp bucketOf(OpTy op, SymbolTableCollection &symbols) {
  auto bucket = symbols.lookupNearestSymbolFrom<BucketOp>(op, op.getBucketAttr());
  if (!bucket)
    op.emitOpError() << "names @" << op.getBucket() << ", but the module has no such sbp.bucket";
  return bucket;
}

/// Verifies the type of a range that is stored: it is whole, or each rank has a
/// chunk. The members themselves have the element type of the bucket.
/// 'sbp-verify-global' verifies the element type of states, and whether ranges
/// are stored whole.
template <typename OpTy>
static LogicalResult verifyAtRest(OpTy op, SymbolTableCollection &symbols, RankedTensorType type) {
  BucketOp bucket = bucketOf(op, symbols);
  if (!bucket)
    return failure();
  Type element = bucket.getTensorType().getElementType();
  if (op.getRole() == kParameterRole && type.getElementType() != element)
    return op.emitOpError() << "has type " << type << ", but the members of @" << op.getBucket() << " have elements of "
                            << element
                            << "; read or assign that type, and cast after the read or before the assignment";
  auto whole = bucket.getTensorType();
  NdSbp chunks = signatureOf(whole).toAlgebra();
  chunks[bucket.getAxisIndex()] = bucket.getChunks();
  auto split = RankedTensorType::get(whole.getShape(), type.getElementType(),
                                     NdAttr::get(signatureOf(whole).getPlacement(), chunks));
  if (type == split || type == withSignature(whole.clone(type.getElementType()), signatureOf(whole)))
    return success();
  return op.emitOpError() << "has type " << type << ", which is no range of @" << op.getBucket()
                          << "; a stored range must be B or S along \"" << bucket.getAxis() << "\"";
}

LogicalResult BucketReadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyAtRest(*this, symbols, getResult().getType());
}

LogicalResult BucketAssignOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyAtRest(*this, symbols, getValue().getType());
}

void BucketReadOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), getBucketAttr(), VariableResource::get());
}

void BucketAssignOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), getBucketAttr(), VariableResource::get());
}

/// Verifies that `member` lies in a range of type `range`. Returns how many
/// elements it takes on the rank that has the most.
static FailureOr<int64_t> verifyLiesIn(Operation *op, BucketOp bucket, RankedTensorType member,
                                       RankedTensorType range) {
  NdAttr signature = signatureOf(member);
  RankedTensorType wanted = signature ? bucket.getRangeType(member.getElementType(), signature) : RankedTensorType();
  if (wanted != range)
    return op->emitOpError() << "has a member of type " << member << " and a range of type " << range
                             << ", which does not hold it in bucket @" << bucket.getSymName()
                             << "; box the member to the signature of the bucket's members";
  NdSbp others = signature.toAlgebra();
  others[bucket.getAxisIndex()] = Sbp::broadcast();
  return maxBoxElements(shapeOf(member), others, signature.getPlacement().toAlgebra());
}

/// Verifies that a member that is a slot is the slot at this offset.
static LogicalResult verifySlotAt(Operation *op, BucketOp bucket, RankedTensorType member, int64_t offset) {
  std::optional<Slot> slot = signatureOf(member).getFlatSlot();
  if (!slot || *slot == bucket.getSlotAt(offset))
    return success();
  return op->emitOpError() << "is at " << offset << " of @" << bucket.getSymName() << ", but its member is the slot at "
                           << slot->offset << " of '" << slot->bucket << "'; they must be the same";
}

LogicalResult BucketPackOp::verifySymbolUses(SymbolTableCollection &symbols) {
  BucketOp bucket = bucketOf(*this, symbols);
  if (!bucket)
    return failure();
  if (getInputs().empty())
    return emitOpError() << "has no operand for a range of @" << getBucket() << "; give it the members that lie there";
  if (getInputs().size() != getOffsets().size())
    return emitOpError() << "has " << getInputs().size() << " operands and " << getOffsets().size()
                         << " offsets; give one for each";
  int64_t end = 0;
  for (auto [input, offset] : llvm::zip(getInputs(), getOffsets())) {
    auto type = cast<RankedTensorType>(input.getType());
    FailureOr<int64_t> elements = verifyLiesIn(*this, bucket, type, getResult().getType());
    if (failed(elements))
      return failure();
    if (failed(verifySlotAt(*this, bucket, type, offset)))
      return failure();
    if (offset < end)
      return emitOpError() << "packs an operand at " << offset << ", where the one before it ends at " << end
                           << "; operands must ascend and must not overlap";
    end = offset + *elements;
  }
  if (end > bucket.getElements())
    return emitOpError() << "has operands that end at " << end << " in a range of " << bucket.getElements()
                         << " elements; they must lie within it";
  return success();
}

LogicalResult BucketMemberOp::verifySymbolUses(SymbolTableCollection &symbols) {
  BucketOp bucket = bucketOf(*this, symbols);
  if (!bucket)
    return failure();
  RankedTensorType type = getResult().getType();
  int64_t offset = getOffset();
  FailureOr<int64_t> elements = verifyLiesIn(*this, bucket, type, getRange().getType());
  if (failed(elements))
    return failure();
  if (offset < 0 || offset > bucket.getElements() - *elements)
    return emitOpError() << "takes " << *elements << " elements from " << offset << " on, of " << bucket.getElements()
                         << "; they must lie within the range";
  return verifySlotAt(*this, bucket, type, offset);
}
