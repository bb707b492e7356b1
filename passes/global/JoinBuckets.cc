// Replaces ops on each member of a bucket by one op on the bucket's range.
//
// JoinPlan decides which ops become one, and in which order; this file writes
// the new ops. A value that is a slot, S(@bucket), is represented by the range
// in which it lies. An elementwise op on slots becomes an op on the range, and
// the same op on the same ranges is created once, so that the updates of all
// members are one op. MemberOps.h computes values that only some members need
// from these members alone.
//
//   before   %0 = sbp.boxing %ga : #P -> S(@l, 0 of 64)     %1 = sbp.boxing %gb : #P -> S(@l, 48 of 64)
//            %2 = nn.neg %0                                  %3 = nn.neg %1
//            sbp.assign @l.a, %2                             sbp.assign @l.b, %3
//   after    %p = sbp.bucket_pack %ga, %gb at [0, 48] of @l  : ... -> tensor<64xf32, #P>
//            %s = sbp.boxing %p : #P -> #S0
//            %n = nn.neg %s
//            sbp.bucket_assign @l, %n
#include "passes/global/JoinPlan.h"
#include "passes/global/MemberOps.h"
#include "passes/global/Passes.h"
#include "passes/global/SplitBoxing.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_JOINBUCKETSPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

/// The key of a pure op: name, attributes, operands and result types. Ops with
/// the same key become one.
using OpKey = std::vector<const void *>;

OpKey keyOf(const OperationState &state) {
  OpKey key = {state.name.getAsOpaquePointer(),
               state.attributes.getDictionary(state.getContext()).getAsOpaquePointer()};
  for (Value operand : state.operands)
    key.push_back(operand.getAsOpaquePointer());
  for (Type type : state.types)
    key.push_back(type.getAsOpaquePointer());
  return key;
}

/// Writes the ops of one block anew, in the order of its JoinPlan.
class FunctionWriter {
public:
  FunctionWriter(Block &block, const BucketTable &table)
      : block(block), table(table), plan(block, table), builder(block.getTerminator()) {}

  LogicalResult run() {
    if (failed(plan.inOrder([&](ArrayRef<Operation *> ops) { return write(ops); })))
      return failure();
    for (Operation *op : llvm::reverse(replaced))
      op->erase();
    return success();
  }

private:
  /// A member of a whole range. Its value is created when an op needs it.
  struct Home {
    Value range;
    sbp::BucketOp bucket;
    int64_t offset = 0;
    Value member;
  };

  LogicalResult write(ArrayRef<Operation *> ops) {
    Operation *op = ops.front();
    if (auto assign = dyn_cast<sbp::AssignOp>(op); assign && table.storageOf(assign.getVariableAttr()))
      return writeAssigns(ops);
    if (auto read = dyn_cast<sbp::ReadOp>(op); read && table.storageOf(read.getVariableAttr()))
      return writeRead(read);
    if (auto boxing = dyn_cast<sbp::BoxingOp>(op)) {
      if (isSlot(boxing.getInput()))
        return ops.size() == 1 ? writeGather(boxing) : writeJoinedGather(ops);
      if (std::optional<sbp::Slot> slot = table.targetSlot(boxing))
        return singleStepOf(boxing).from.isBroadcast() && plan.liesAt(boxing.getInput(), *slot) ? writeSlice(boxing)
                                                                                                : writePack(ops);
    }
    if (llvm::any_of(op->getResults(), isSlot))
      return writeOnRanges(op);
    if (auto fence = dyn_cast<sbp::FenceOp>(op))
      return keepFence(fence);
    return keep(op);
  }

  /// Moves an op that stays as it is to its new place. It may take a slot only
  /// if its sums are exact: then it takes the part of the member that the rank
  /// has.
  LogicalResult keep(Operation *op) {
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isSlot(operand.get())) {
        operand.set(now(operand.get()));
        continue;
      }
      auto sharded = dyn_cast<sbp::ShardingOpInterface>(op);
      if (!sharded || !sharded.getLoopSpec().exactSums)
        return op->emitOpError() << "uses a slot of a bucket, but is not elementwise; box it to S(dim) or B first";
      operand.set(memberOf(op->getLoc(), operand.get()));
    }
    if (op != block.getTerminator())
      op->moveBefore(block.getTerminator());
    return success();
  }

  /// Moves a fence. A fenced member of a whole range lies there, too.
  LogicalResult keepFence(sbp::FenceOp fence) {
    Value input = fence.getInput();
    if (failed(keep(fence)))
      return failure();
    if (auto home = homes.find(input); home != homes.end()) {
      Home fenced = home->second;
      fenced.member = fence.getOutput();
      homes[fence.getOutput()] = fenced;
    }
    return success();
  }

  /// Returns the value in the new program that stands for a value of the old
  /// one.
  Value now(Value value) {
    auto home = homes.find(value);
    if (home == homes.end())
      return value;
    auto &[range, bucket, offset, member] = home->second;
    if (!member)
      member = builder.create<sbp::BucketMemberOp>(value.getLoc(), value.getType(), range, offset, bucket.getSymName());
    return member;
  }

  /// Returns the slot by itself, as the member at its place in the range.
  Value memberOf(Location loc, Value slot) {
    const sbp::Slot place = *sbp::signatureOf(slot).getFlatSlot();
    return builder.create<sbp::BucketMemberOp>(loc, slot.getType(), ranges.lookup(slot), place.offset, place.bucket);
  }

  sbp::BucketOp bucketOf(const sbp::Slot &slot) const {
    return table.bucket(StringAttr::get(block.getParentOp()->getContext(), slot.bucket));
  }

  /// Returns the type of the range in which a value of this type is a member;
  /// null after an error.
  RankedTensorType rangeType(Operation *op, sbp::BucketOp bucket, Type member) {
    RankedTensorType type =
        bucket ? bucket.getRangeType(getElementTypeOrSelf(member), sbp::signatureOf(member)) : RankedTensorType();
    if (!type)
      op->emitOpError() << "has a slot of type " << member << ", but no sbp.bucket has a range for it; "
                        << "box it to the signature of the bucket's members first";
    return type;
  }

  /// Returns the pure op with this key, which is created if there is none yet.
  Operation *makeOnce(const OperationState &state) {
    Operation *&known = made[keyOf(state)];
    if (!known)
      known = builder.create(state);
    return known;
  }

  Value boxOnce(Location loc, Value range, RankedTensorType to, sbp::BucketOp bucket) {
    if (range.getType() == to)
      return range;
    OperationState state(loc, sbp::BoxingOp::getOperationName());
    auto all = sbp::SlotAttr::fromAlgebra(builder.getContext(), bucket.getSlotAt(0));
    sbp::BoxingOp::build(builder, state, to, range, all);
    return makeOnce(state)->getResult(0);
  }

  /// Notes that `value` is the member from `offset` on in a whole range.
  void setMember(Value value, Value range, sbp::BucketOp bucket, int64_t offset) {
    homes[value] = {range, bucket, offset, {}};
  }

  //===--------------------------------------------------------------------===//
  // Variables
  //===--------------------------------------------------------------------===//

  LogicalResult writeRead(sbp::ReadOp read) {
    RangeStorage *storage = table.storageOf(read.getVariableAttr());
    RankedTensorType type = rangeType(read, storage->bucket, read.getType());
    if (!type)
      return failure();
    Value &range = current[storage];
    if (!range)
      range = builder.create<sbp::BucketReadOp>(read.getLoc(), type, storage->bucket.getSymName(),
                                                storage->role.getValue());
    if (isSlot(read.getResult()))
      ranges[read.getResult()] = range;
    else
      setMember(read.getResult(), range, storage->bucket,
                table.variable(read.getVariableAttr()).getSlotAttr().getOffset());
    replaced.push_back(read);
    return success();
  }

  /// Writes one assignment of the range if all members of the bucket are
  /// assigned their own places in one range. Otherwise each member is assigned
  /// by itself, so that elements of no variable stay zero.
  LogicalResult writeAssigns(ArrayRef<Operation *> ops) {
    RangeStorage *storage = table.storageOf(cast<sbp::AssignOp>(ops.front()).getVariableAttr());
    Value range = rangeOfMember(cast<sbp::AssignOp>(ops.front()));
    int64_t members = storage->bucket.getMembers().size();
    bool isWhole = range && storage->variables == members && static_cast<int64_t>(ops.size()) == members &&
                   llvm::all_of(ops, [&](auto *op) { return rangeOfMember(cast<sbp::AssignOp>(op)) == range; });
    if (isWhole)
      builder.create<sbp::BucketAssignOp>(ops.front()->getLoc(), storage->bucket.getSymName(), range,
                                          storage->role.getValue());
    else
      for (Operation *op : ops)
        writeAssign(cast<sbp::AssignOp>(op));
    current.erase(storage);
    llvm::append_range(replaced, ops);
    return success();
  }

  /// Returns the range in which the assigned value lies at the place of the
  /// variable, or null.
  Value rangeOfMember(sbp::AssignOp assign) {
    Value value = assign.getValue();
    if (isSlot(value))
      return ranges.lookup(value);
    sbp::SlotAttr slot = table.variable(assign.getVariableAttr()).getSlotAttr();
    bool isThere = plan.liesAt(value, slot.toAlgebra());
    return isThere ? homes.lookup(value).range : Value();
  }

  void writeAssign(sbp::AssignOp assign) {
    Value value = now(assign.getValue());
    if (isSlot(value))
      value = memberOf(assign.getLoc(), value);
    builder.create<sbp::AssignOp>(assign.getLoc(), assign.getVariableAttr(), value);
  }

  //===--------------------------------------------------------------------===//
  // Boxings
  //===--------------------------------------------------------------------===//

  /// Writes a boxing from S(@bucket) to B: the first member that is needed
  /// gathers the whole range.
  LogicalResult writeGather(sbp::BoxingOp op) {
    sbp::Slot slot = *sbp::signatureOf(op.getInput()).getFlatSlot();
    sbp::BucketOp bucket = bucketOf(slot);
    RankedTensorType whole = rangeType(op, bucket, op.getType());
    if (!whole)
      return failure();
    Value range = boxOnce(op.getLoc(), ranges.lookup(op.getInput()), whole, bucket);
    if (isSlot(op.getOutput())) // a step along another axis, which has one rank
      ranges[op.getOutput()] = range;
    else
      setMember(op.getOutput(), range, bucket, slot.offset);
    replaced.push_back(op);
    return success();
  }

  /// Writes the gather of members that are parts of several ranges: the parts
  /// that each rank has of them are packed into one range first.
  LogicalResult writeJoinedGather(ArrayRef<Operation *> ops) {
    SmallVector<sbp::BoxingOp> sorted = llvm::map_to_vector(ops, [](auto *op) { return cast<sbp::BoxingOp>(op); });
    auto offsetOf = [](sbp::BoxingOp op) { return sbp::signatureOf(op.getInput()).getFlatSlot()->offset; };
    llvm::sort(sorted, [&](sbp::BoxingOp a, sbp::BoxingOp b) { return offsetOf(a) < offsetOf(b); });
    const Location loc = sorted.front().getLoc();
    sbp::BucketOp bucket = bucketOf(*sbp::signatureOf(sorted.front().getInput()).getFlatSlot());
    Value range = ranges.lookup(sorted.front().getInput());
    if (!llvm::all_of(sorted, [&](sbp::BoxingOp op) { return ranges.lookup(op.getInput()) == range; })) {
      SmallVector<Value> parts;
      SmallVector<int64_t> offsets;
      for (sbp::BoxingOp op : sorted) {
        parts.push_back(memberOf(loc, op.getInput()));
        offsets.push_back(offsetOf(op));
      }
      range = builder.create<sbp::BucketPackOp>(loc, range.getType(), parts, offsets, bucket.getSymName());
    }
    RankedTensorType whole = rangeType(sorted.front(), bucket, sorted.front().getType());
    if (!whole)
      return failure();
    range = boxOnce(loc, range, whole, bucket);
    for (sbp::BoxingOp op : sorted)
      setMember(op.getOutput(), range, bucket, offsetOf(op));
    llvm::append_range(replaced, ops);
    return success();
  }

  /// Writes a boxing from B to S(@bucket) of a value that already lies in a
  /// range of the bucket.
  LogicalResult writeSlice(sbp::BoxingOp op) {
    sbp::BucketOp bucket = bucketOf(*table.targetSlot(op));
    RankedTensorType chunks = rangeType(op, bucket, op.getType());
    if (!chunks)
      return failure();
    ranges[op.getOutput()] = boxOnce(op.getLoc(), homes.lookup(op.getInput()).range, chunks, bucket);
    replaced.push_back(op);
    return success();
  }

  /// Packs the members into one range, and boxes it once.
  LogicalResult writePack(ArrayRef<Operation *> ops) {
    SmallVector<Operation *> sorted(ops);
    auto offsetOf = [&](Operation *op) { return table.targetSlot(cast<sbp::BoxingOp>(op))->offset; };
    llvm::sort(sorted, [&](Operation *a, Operation *b) { return offsetOf(a) < offsetOf(b); });
    auto first = cast<sbp::BoxingOp>(sorted.front());
    sbp::BucketOp bucket = bucketOf(*table.targetSlot(first));
    SmallVector<Value> inputs;
    SmallVector<int64_t> offsets;
    RankedTensorType from = rangeType(first, bucket, first.getInput().getType());
    RankedTensorType to = from ? rangeType(first, bucket, first.getType()) : from;
    if (!to)
      return failure();
    for (Operation *op : sorted) {
      if (rangeType(op, bucket, op->getOperand(0).getType()) != from)
        return failure();
      inputs.push_back(now(op->getOperand(0)));
      offsets.push_back(offsetOf(op));
    }
    Value packed = builder.create<sbp::BucketPackOp>(first.getLoc(), from, inputs, offsets, bucket.getSymName());
    Value range = boxOnce(first.getLoc(), packed, to, bucket);
    for (Operation *op : sorted) {
      if (isSlot(op->getResult(0)))
        ranges[op->getResult(0)] = range;
      else
        setMember(op->getResult(0), range, bucket, offsetOf(op));
    }
    llvm::append_range(replaced, ops);
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Elementwise
  //===--------------------------------------------------------------------===//

  LogicalResult writeOnRanges(Operation *op) {
    OperationState state(op->getLoc(), op->getName());
    state.addAttributes(op->getAttrs());
    for (Value operand : op->getOperands())
      state.operands.push_back(isSlot(operand) ? ranges.lookup(operand) : now(operand));
    for (Value result : op->getResults()) {
      std::optional<sbp::Slot> slot = sbp::signatureOf(result).getFlatSlot();
      RankedTensorType type = rangeType(op, slot ? bucketOf(*slot) : sbp::BucketOp(), result.getType());
      if (!type)
        return failure();
      state.addTypes(type);
    }
    if (isa<sbp::FenceOp>(op))
      state.operands[1] = bucketScope(state.operands[1], sbp::signatureOf(op->getResult(0)).getFlatSlot()->bucket);
    for (auto [old, range] : llvm::zip(op->getResults(), makeOnce(state)->getResults()))
      ranges[old] = range;
    replaced.push_back(op);
    return success();
  }

  /// Returns the scope of a bucket: the updates of its members share one.
  Value bucketScope(Value token, const std::string &bucket) {
    auto scope = token.getDefiningOp<sbp::ScopeOp>();
    if (!scope || !scope.getVariable())
      return token;
    Value &joined = scopes[{scope.getPhase().getValue(), bucket}];
    if (!joined)
      joined = builder.create<sbp::ScopeOp>(scope.getLoc(), scope.getPhaseAttr(), builder.getStringAttr(bucket),
                                            FlatSymbolRefAttr());
    return joined;
  }

  Block &block;
  const BucketTable &table;
  JoinPlan plan;
  OpBuilder builder;                             ///< at the end of the block
  DenseMap<Value, Value> ranges;                 ///< by slot: the range in which it lies
  DenseMap<Value, Home> homes;                   ///< by member of a whole range
  DenseMap<const RangeStorage *, Value> current; ///< by storage: its value, until it is assigned
  std::map<OpKey, Operation *> made;
  std::map<std::pair<sbp::Phase, std::string>, Value> scopes; ///< by phase and bucket
  SmallVector<Operation *> replaced;
};

struct JoinBuckets : splitcast::impl::JoinBucketsPassBase<JoinBuckets> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<BucketTable> table = BucketTable::create(module);
    if (failed(table))
      return signalPassFailure();
    for (auto function : module.getOps<func::FuncOp>()) {
      if (failed(check(function)))
        return signalPassFailure();
      splitBucketBoxings(function.getBody().front());
      if (failed(FunctionWriter(function.getBody().front(), *table).run()))
        return signalPassFailure();
      computeByMember(function.getBody().front(), *table);
    }
  }

  static LogicalResult check(func::FuncOp function) {
    if (!function.getBody().hasOneBlock())
      return function.emitOpError() << "must have a body of one block";
    for (Type type : llvm::concat<const Type>(function.getArgumentTypes(), function.getResultTypes()))
      if (sbp::NdAttr signature = sbp::signatureOf(type); signature && signature.getFlatSlot())
        return function.emitOpError() << "takes or returns a slot of a bucket; use S(dim) or B there";
    auto isUndecided = [](Type type) { return isa<RankedTensorType>(type) && !sbp::signatureOf(type); };
    for (Operation &op : function.getBody().front())
      if (llvm::any_of(op.getOperandTypes(), isUndecided) || llvm::any_of(op.getResultTypes(), isUndecided))
        return op.emitOpError() << "has a tensor without a signature; run 'sbp-propagate' first";
    return success();
  }
};

} // namespace
