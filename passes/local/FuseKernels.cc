// Decides what one kernel computes: puts ops into groups, and turns each group
// into an nn.fusion.
//
//   0. Reshapes move out from between ops of a kernel (MoveReshapes.h), and slices
//      before elementwise ops (MoveSlices.h). The last op that reads a tensor along
//      its rows moves behind the previous one, so that one kernel reads the rows for
//      both (ReadRowsOnce.h). Where sums over rows are kernels of their own, ops that
//      only they use become part of them (SumsApart.h). An op that only extends
//      elements (a cast from bf16 to f32) is cloned for each op of a kernel that uses
//      it, so that the smaller tensor lies in memory.
//   1. The loop factors of an op determine its pattern: elementwise, along rows,
//      sums over the rows, or another reduction. Ops that a library computes are in
//      no group.
//   2. The block is walked once. Each op starts a group, and joins to it, one after
//      the other, the groups that made its operands or use them, too, if the loops
//      have the same shape and one walk over the rows can compute both.
//   3. A group is closed when an op outside of it uses one of its results, or when a
//      storage that a member reads is assigned: the fusion, which stands at the
//      place of its last member, would come too late.
//   4. Each group becomes a fusion at the place of its last member. Values that only
//      members use stay inside.
//
// A fence is another name for a value, and a group reaches across it. Fusions
// contain no fences. A value from outside is read by the name that a member has
// for it, so that equal kernels in two scopes stay two.
//
//   before   %0 = nn.tanh %x                    group A
//            %1 = nn.matmul %0, %w              a library's: A is closed
//            %2 = nn.mul %x, %x                 group B: shares %x with A, which takes no more
//            %3 = nn.reduce_sum %2 {dims = 1}   joins B
//   after    %0 = nn.fusion(%x) { nn.tanh }
//            %1 = nn.matmul %0, %w
//            %3 = nn.fusion(%x) { nn.mul, nn.reduce_sum }
//
// Groups are found through the operands of an op, never by a search through all
// groups, so that the time is linear in the number of uses.
#include "passes/local/Aliases.h"
#include "passes/local/DeviceTraits.h"
#include "passes/local/MoveReshapes.h"
#include "passes/local/MoveSlices.h"
#include "passes/local/OpLoops.h"
#include "passes/local/Passes.h"
#include "passes/local/ReadRowsOnce.h"
#include "passes/local/SumsApart.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_FUSEKERNELSPASS
#include "passes/local/Passes.h.inc"
} // namespace splitcast

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Clones ops that only extend elements, one for each op of a kernel that uses
/// them.
void extendWhereUsed(Block &block, const DeviceTraits &traits) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!onlyExtends(&op) || op.hasOneUse())
      continue;
    for (OpOperand &use : llvm::make_early_inc_range(op.getUses()))
      if (isFusible(use.getOwner(), traits))
        use.set(OpBuilder(use.getOwner()).clone(op)->getResult(0));
    if (op.use_empty())
      op.erase();
  }
}

struct Group {
  SmallVector<Operation *> members;               ///< in any order
  sbp::Shape shape;                               ///< the shape of the loops
  LoopPattern pattern = LoopPattern::Elementwise; ///< the pattern of all members together
  bool hasRows = false, hasColumns = false;
  bool isOrderly = true; ///< whether each member reads the others' results where a row nest makes them
  bool isClosed = false; ///< whether no op may join any more
  int64_t last = 0;      ///< the number of the last member
};

/// Walks the block once. An op joins the groups that made its operands or use
/// them, too. These are looked up, so that the number of other groups does not
/// matter. A group is closed as soon as an op outside of it has used the result
/// of a member: the fusion, which stands at the last member, would come too
/// late for that op. So no op outside reads from an open group, and only the
/// operands of an op decide whether it may join one.
class Fuser {
public:
  Fuser(Block &block, DeviceTraits traits)
      : block(block), traits(std::move(traits)), addends(sumsApart(block, this->traits)) {}

  void run() {
    for (Operation &op : block) {
      if (isa<sbp::FenceOp, sbp::ScopeOp>(op))
        continue;
      visit(&op);
      closeUsed(&op);
    }
    llvm::erase_if(groups, [](const Group &group) { return group.members.empty(); });
    llvm::sort(groups, [](const Group &a, const Group &b) { return a.last < b.last; });
    for (Group &group : groups)
      emit(group);
  }

private:
  static constexpr size_t kMaxMembers = 256;
  using GroupId = unsigned;

  void visit(Operation *op) {
    if (auto assign = dyn_cast<ccl::AssignOp>(op))
      return closeReadersOf(assign.getStorage());
    if (!isFusible(op, traits))
      return;
    OpLoops loops(op);
    GroupId joined = newGroup(op, loops);
    for (GroupId id : candidates(op, loops)) {
      const Group &group = groups[id];
      if (suitsDevice(group, groups[joined]) && !needsSum(id, op) && isOrderly(id, joined, op, loops) &&
          groups[joined].members.size() + group.members.size() < kMaxMembers)
        joined = merge(id, joined, op, loops);
    }
    if (loops.pattern == LoopPattern::Columns)
      columnSums.insert(op);
    remember(op, joined);
  }

  //===--------------------------------------------------------------------===//
  // Groups
  //===--------------------------------------------------------------------===//

  GroupId newGroup(Operation *op, const OpLoops &loops) {
    Group group;
    group.members = {op};
    group.shape = loops.shape;
    group.pattern = loops.pattern;
    group.hasRows = loops.pattern == LoopPattern::Rows;
    group.hasColumns = loops.pattern == LoopPattern::Columns || addends.contains(op);
    group.last = groups.size();
    groups.push_back(std::move(group));
    mergedInto.push_back(mergedInto.size());
    return groups.size() - 1;
  }

  /// Returns the group into which `id` has been merged, or `id` itself.
  GroupId groupOf(GroupId id) {
    while (mergedInto[id] != id)
      id = mergedInto[id] = mergedInto[mergedInto[id]];
    return id;
  }

  /// Returns the group of the op that made `value`, if it is in one.
  std::optional<GroupId> makerOf(Value value) {
    auto known = ids.find(behindFences(value).getDefiningOp());
    return known == ids.end() ? std::nullopt : std::optional<GroupId>(groupOf(known->second));
  }

  /// Merges two groups: appends the members of the smaller one to those of the
  /// larger. `op` is the op that joins `id` to `joined`.
  GroupId merge(GroupId id, GroupId joined, Operation *op, const OpLoops &loops) {
    bool isOrderly = readsOrderly(id, op, loops);
    if (groups[id].members.size() > groups[joined].members.size())
      std::swap(id, joined);
    Group &into = groups[joined], &from = groups[id];
    llvm::append_range(into.members, from.members);
    from.members.clear();
    into.pattern = std::max(into.pattern, from.pattern);
    into.hasRows |= from.hasRows;
    into.hasColumns |= from.hasColumns;
    into.isOrderly &= from.isOrderly && isOrderly;
    into.last = std::max(into.last, from.last);
    mergedInto[id] = joined;
    return joined;
  }

  void remember(Operation *op, GroupId group) {
    ids[op] = group;
    for (Value operand : op->getOperands()) {
      if (typeOf(operand).getRank() > 0)
        users[behindFences(operand)].push_back(group);
      if (auto read = sourceOf(operand).getDefiningOp<ccl::ReadOp>())
        readers[read.getStorage()].push_back(group);
    }
  }

  //===--------------------------------------------------------------------===//
  // Joining
  //===--------------------------------------------------------------------===//

  /// Returns the open groups with the same loops that made an operand of `op`
  /// or use one, too, in the order of their last members.
  SmallVector<GroupId> candidates(Operation *op, const OpLoops &loops) {
    SmallVector<GroupId> result;
    for (Value operand : op->getOperands()) {
      if (std::optional<GroupId> maker = makerOf(operand); maker && mayJoin(groups[*maker], loops))
        result.push_back(*maker);
      auto known = users.find(behindFences(operand));
      if (known == users.end())
        continue;
      forgetClosed(known->second);
      for (GroupId id : known->second)
        if (mayJoin(groups[id], loops) && mayShare(groups[id], operand, loops))
          result.push_back(id);
    }
    llvm::sort(result, [&](GroupId a, GroupId b) { return groups[a].last < groups[b].last; });
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
  }

  /// Removes groups that are closed or full from a list, and renumbers merged
  /// groups, so that each is there once.
  void forgetClosed(SmallVector<GroupId, 2> &list) {
    for (GroupId &id : list)
      id = groupOf(id);
    llvm::sort(list);
    list.erase(std::unique(list.begin(), list.end()), list.end());
    llvm::erase_if(list,
                   [&](GroupId id) { return groups[id].isClosed || groups[id].members.size() + 1 >= kMaxMembers; });
  }

  static bool mayJoin(const Group &group, const OpLoops &loops) {
    bool isRowNest = group.pattern != LoopPattern::Elementwise;
    return !group.isClosed && group.pattern != LoopPattern::Reduction && loops.shape == group.shape &&
           !(isRowNest && loops.pattern == LoopPattern::Reduction);
  }

  /// Whether a common operand is reason enough to join a group. A row nest must
  /// read it row by row; otherwise the op must be elementwise.
  static bool mayShare(const Group &group, Value operand, const OpLoops &loops) {
    bool isRowNest = group.pattern != LoopPattern::Elementwise;
    bool isWide = sbp::shapeOf(operand.getType()) == group.shape;
    return isRowNest ? isWide : loops.pattern == LoopPattern::Elementwise;
  }

  /// Whether the device can sum over the rows in the same walk that computes
  /// along them.
  bool suitsDevice(const Group &a, const Group &b) const {
    bool mixes = (a.hasColumns || b.hasColumns) && (a.hasRows || b.hasRows);
    return traits.sumsBesideRows || !mixes;
  }

  /// Whether `op` needs a sum over the rows that a member computes: the sum
  /// exists only after all rows are done.
  bool needsSum(GroupId group, Operation *op) {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      return columnSums.contains(behindFences(operand).getDefiningOp()) && makerOf(operand) == group;
    });
  }

  /// Whether members of a row nest read each other's results at the place where
  /// these are made.
  bool isOrderly(GroupId group, GroupId joined, Operation *op, const OpLoops &loops) {
    const Group &a = groups[group], &b = groups[joined];
    if (a.pattern == LoopPattern::Elementwise && b.pattern == LoopPattern::Elementwise)
      return true;
    return a.isOrderly && b.isOrderly && readsOrderly(group, op, loops);
  }

  bool readsOrderly(GroupId group, Operation *op, const OpLoops &loops) {
    return llvm::all_of(llvm::enumerate(op->getOperands()), [&](auto operand) {
      return loops.isOrderly[operand.index()] || makerOf(operand.value()) != group;
    });
  }

  //===--------------------------------------------------------------------===//
  // Closing
  //===--------------------------------------------------------------------===//

  /// Closes the groups whose results `op` uses from outside.
  void closeUsed(Operation *op) {
    auto own = ids.find(op);
    for (Value operand : op->getOperands())
      if (std::optional<GroupId> maker = makerOf(operand))
        if (own == ids.end() || groupOf(own->second) != *maker)
          groups[*maker].isClosed = true;
  }

  /// Closes the groups that read a storage, since they must not move behind its
  /// assignment.
  void closeReadersOf(StringRef storage) {
    for (GroupId id : readers[storage])
      groups[groupOf(id)].isClosed = true;
    readers[storage].clear();
  }

  /// Returns the value of which this one is a view or another name.
  static Value sourceOf(Value value) {
    while (Value aliased = aliasedBy(value.getDefiningOp()))
      value = aliased;
    return value;
  }

  //===--------------------------------------------------------------------===//
  // Fusions
  //===--------------------------------------------------------------------===//

  using Members = SmallPtrSet<Operation *, 16>;

  static void emit(Group &group) {
    llvm::sort(group.members, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    const Members members(group.members.begin(), group.members.end());
    SmallVector<Value> outputs;
    for (Operation *member : group.members)
      for (Value result : member->getResults())
        if (isUsedOutside(result, members))
          outputs.push_back(result);
    if (outputs.empty())
      return;
    DenseMap<Value, Value> names;
    const SmallVector<Value> inputs = inputsOf(group, members, names);
    OpBuilder builder(group.members.back());
    SmallVector<Location> locations;
    for (Operation *member : group.members)
      locations.push_back(member->getLoc());
    auto fusion = builder.create<nn::FusionOp>(FusedLoc::get(builder.getContext(), locations),
                                               ValueRange(outputs).getTypes(), inputs);
    Block *body = builder.createBlock(&fusion.getBody());
    IRMapping map;
    for (Value input : inputs)
      map.map(input, body->addArgument(input.getType(), input.getLoc()));
    for (Operation *member : group.members) {
      for (Value operand : member->getOperands()) {
        Value value = behindFences(operand);
        map.map(operand, map.lookup(names.contains(value) ? names.lookup(value) : value));
      }
      builder.clone(*member, map);
    }
    SmallVector<Value> yielded;
    for (Value output : outputs)
      yielded.push_back(map.lookup(output));
    builder.create<nn::YieldOp>(fusion.getLoc(), yielded);
    replace(group, members, outputs, fusion);
  }

  /// Returns the values that members use and none makes, each once. `names`
  /// gets the name by which the fusion reads each of them.
  static SmallVector<Value> inputsOf(const Group &group, const Members &members, DenseMap<Value, Value> &names) {
    SmallVector<Value> inputs;
    for (Operation *member : group.members)
      for (Value operand : member->getOperands())
        if (Value value = behindFences(operand);
            !members.contains(value.getDefiningOp()) && names.try_emplace(value, operand).second)
          inputs.push_back(operand);
    return inputs;
  }

  static bool isUsedOutside(Value result, const Members &members) {
    SmallVector<Value> open = {result};
    while (!open.empty())
      for (Operation *user : open.pop_back_val().getUsers()) {
        if (isa<sbp::FenceOp>(user))
          open.push_back(user->getResult(0));
        else if (!members.contains(user))
          return true;
      }
    return false;
  }

  /// Moves an op behind another one. Operation::moveAfter would make MLIR number all ops of the block anew for the next
  /// group; this leaves the numbers of the others.
  static void placeBehind(Operation *op, Operation *other) {
    op->remove();
    other->getBlock()->getOperations().insertAfter(other->getIterator(), op);
  }

  /// Replaces the members by the fusion. Fences of its results move behind it,
  /// and fences between members are erased.
  static void replace(const Group &group, const Members &members, MutableArrayRef<Value> outputs, nn::FusionOp fusion) {
    SmallVector<Operation *> gone = group.members;
    for (size_t i = 0; i < gone.size(); ++i)
      for (Operation *user : gone[i]->getUsers())
        if (isa<sbp::FenceOp>(user) && !members.contains(user))
          gone.push_back(user);
    llvm::sort(gone, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    gone.erase(std::unique(gone.begin(), gone.end()), gone.end());
    for (auto [output, result] : llvm::zip(outputs, fusion.getOutputs()))
      output.replaceUsesWithIf(result, [&](OpOperand &use) { return !members.contains(use.getOwner()); });
    for (Operation *op : llvm::reverse(gone)) {
      if (members.contains(op) || op->use_empty())
        op->erase();
      else if (op->isBeforeInBlock(fusion))
        placeBehind(op, fusion); // the last one first, so that they keep their order
    }
  }

  Block &block;
  const DeviceTraits traits;
  const DenseSet<Operation *> addends; ///< ops that are computed in the kernels of sums over rows
  std::vector<Group> groups;
  std::vector<GroupId> mergedInto;                  ///< per group: the group into which it was merged, or itself
  DenseMap<Operation *, GroupId> ids;               ///< by visited op
  DenseMap<Value, SmallVector<GroupId, 2>> users;   ///< by value that is no scalar
  llvm::StringMap<SmallVector<GroupId, 2>> readers; ///< by storage
  DenseSet<Operation *> columnSums;
};

struct FuseKernels : splitcast::impl::FuseKernelsPassBase<FuseKernels> {
  void runOnOperation() override {
    if (failed(verifyStraightLine(getOperation())))
      return signalPassFailure();
    Block &block = getOperation().getBody().front();
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op)) // no kernel would compute it
        op.erase();
    const DeviceTraits traits = deviceTraitsOf(getOperation()->getParentOfType<ModuleOp>());
    moveReshapes(block, traits);
    moveSlices(block, traits);
    readRowsOnce(block, traits);
    extendWhereUsed(block, traits);
    Fuser(block, traits).run();
  }
};

} // namespace
