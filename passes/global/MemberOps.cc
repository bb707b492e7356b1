// From the last op to the first, so that an op comes after all that use it, and what it is made of comes later.
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

class ByMember {
public:
  explicit ByMember(const BucketTable &table) : table(table) {}

  /// Makes the op one for each of the members that take a part of it, if they are few.
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
  /// Of an op that is nothing but such parts, those; of others, none.
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

  /// What the op is of one member. Operands are ranges, as its result is, or scalars.
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
