// Visits ops from the last to the first, so that an op comes after all its
// users and before the ops that make its operands.
//
//   before   %u = nn.mul %a, %range         %v = nn.mul %b, %range           of two scalars
//            %x = sbp.bucket_member %u at 0 of @l                            of three members
//            %y = sbp.bucket_member %v at 48 of @l
//   after    %m = sbp.bucket_member %range at 0 of @l                         %x = nn.mul %a, %m
//            %n = sbp.bucket_member %range at 48 of @l                        %y = nn.mul %b, %n
#include "passes/global/MemberOps.h"

#include "dialects/nn/Nn.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace splitcast {

namespace {

/// Replaces ops on a range, of which only some members are used, by ops on
/// these members.
class ByMember {
public:
  explicit ByMember(const BucketTable &table) : table(table) {}

  /// Replaces the op by one for each member that is taken from its result, if
  /// these are not all members of the bucket.
  void visit(Operation *op) {
    SmallVector<sbp::BucketMemberOp> parts = partsOf(op);
    if (parts.empty())
      return;
    llvm::MapVector<std::pair<int64_t, Type>, Value> made; // by offset and type
    for (sbp::BucketMemberOp part : parts) {
      Value &value = made[{part.getOffset(), part.getType()}];
      if (!value)
        value = computed(op, part);
      part.getResult().replaceAllUsesWith(value);
      part.erase();
    }
    op->erase();
  }

private:
  /// Returns the members that are taken from an elementwise op, if all its
  /// users take slots and not all members are taken; else nothing.
  SmallVector<sbp::BucketMemberOp> partsOf(Operation *op) {
    const bool isElementwise = isa<nn::ComputeOpInterface>(op) && op->getNumResults() == 1 && !op->use_empty();
    if (!isElementwise)
      return {};
    SmallVector<sbp::BucketMemberOp> parts;
    DenseSet<int64_t> offsets;
    for (Operation *user : op->getUsers()) {
      auto part = dyn_cast<sbp::BucketMemberOp>(user);
      if (!part || !sbp::signatureOf(part.getResult()).getFlatSlot())
        return {};
      parts.push_back(part);
      offsets.insert(part.getOffset());
    }
    sbp::BucketOp bucket = table.bucket(parts.front().getBucketAttr().getAttr());
    if (offsets.size() == bucket.getMembers().size())
      return {};
    return parts;
  }

  /// Computes the op for one member. Operands are ranges, as the result is, or
  /// scalars.
  Value computed(Operation *op, sbp::BucketMemberOp part) {
    OpBuilder b(op);
    Operation *ofMember = b.clone(*op);
    b.setInsertionPoint(ofMember);
    for (OpOperand &operand : ofMember->getOpOperands())
      if (cast<RankedTensorType>(operand.get().getType()).getRank() != 0)
        operand.set(memberOf(b, operand.get(), part));
    ofMember->getResult(0).setType(part.getType());
    return ofMember->getResult(0);
  }

  Value memberOf(OpBuilder &b, Value range, sbp::BucketMemberOp part) {
    const RankedTensorType like = part.getType();
    const auto type = RankedTensorType::get(like.getShape(), getElementTypeOrSelf(range.getType()), like.getEncoding());
    return b.create<sbp::BucketMemberOp>(part.getLoc(), type, range, part.getOffset(), part.getBucket());
  }

  const BucketTable &table;
};

} // namespace

void computeByMember(Block &block, const BucketTable &table) {
  ByMember byMember(table);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    byMember.visit(&op);
}

} // namespace splitcast
