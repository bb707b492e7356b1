// The program of one rank.
#include "passes/global/Passes.h"
#include "passes/local/LocalStorages.h"
#include "passes/local/LocalizeBoxing.h"
#include "passes/local/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_LOCALIZEPASS
#include "passes/local/Passes.h.inc"
} // namespace splitcast

namespace {

/// A rank's piece of a global value. A member of a bucket is known by the bucket's range, of which `tensor` is a view
/// that is made when something needs it.
struct LocalValue {
  Value tensor;
  Value range;        ///< the chunk of a flat split, or the whole bucket; null when the value is in no bucket
  int64_t offset = 0; ///< of the tensor in a whole bucket
  bool isChunk = false;
};

/// The one step that a boxing is, once longer ones have been cut up. `collective` is nothing on an axis of size 1.
struct BoxingKind {
  int64_t axis = -1;
  sbp::Sbp from, to;
  sbp::BoxingStep step;
};

class FunctionLocalizer {
public:
  FunctionLocalizer(func::FuncOp source, Storages &storages, const RankView &rank, OpBuilder &builder)
      : source(source), storages(storages), rank(rank), builder(builder) {}

  LogicalResult run() {
    if (failed(createFunction()))
      return failure();
    countMembers();
    SmallVector<Operation *> pending;
    for (Operation &op : source.getBody().front()) {
      pending.push_back(&op);
      // What waits for the rest of its bucket goes on as soon as that is there, in the old order.
      for (bool progress = true; progress;) {
        progress = false;
        SmallVector<Operation *> blocked;
        llvm::StringSet<> assigned; // by assignments that wait
        for (Operation *next : pending) {
          FailureOr<bool> done = assigned.contains(variableOf(next)) ? FailureOr<bool>(false) : translate(next);
          if (failed(done))
            return failure();
          progress |= *done;
          if (*done)
            continue;
          blocked.push_back(next);
          if (isa<sbp::AssignOp>(next))
            assigned.insert(variableOf(next));
        }
        pending = blocked;
      }
    }
    if (pending.empty())
      return success();
    return pending.front()->emitOpError()
           << "waits for a member of its bucket that depends on it; put its variable into "
              "a bucket of its own";
  }

private:
  //===--------------------------------------------------------------------===//
  // The function
  //===--------------------------------------------------------------------===//

  LogicalResult createFunction() {
    SmallVector<Type> inputs, results;
    for (Type type : source.getArgumentTypes())
      inputs.push_back(sbp::localType(cast<RankedTensorType>(type), rank.coordinates));
    for (Type type : source.getResultTypes())
      results.push_back(sbp::localType(cast<RankedTensorType>(type), rank.coordinates));
    for (Type type : llvm::concat<const Type>(source.getArgumentTypes(), source.getResultTypes()))
      if (sbp::signatureOf(type).getFlatSlot())
        return source.emitOpError() << "takes or returns a slot of a bucket; use S(dim) or B there";
    auto function =
        builder.create<func::FuncOp>(source.getLoc(), source.getName(), builder.getFunctionType(inputs, results));
    for (unsigned i = 0; i < source.getNumArguments(); ++i) {
      if (DictionaryAttr attributes = source.getArgAttrDict(i))
        function.setArgAttrs(i, attributes);
      function.setArgAttr(i, "ccl.global", TypeAttr::get(source.getArgumentTypes()[i]));
    }
    for (unsigned i = 0; i < source.getNumResults(); ++i) {
      if (DictionaryAttr attributes = source.getResultAttrDict(i))
        function.setResultAttrs(i, attributes);
      function.setResultAttr(i, "ccl.global", TypeAttr::get(source.getResultTypes()[i]));
    }
    if (source->hasAttr("sbp.hold_gathers"))
      function->setAttr("ccl.hold_gathers", builder.getUnitAttr());
    Block *body = function.addEntryBlock();
    for (auto [from, to] : llvm::zip(source.getArguments(), body->getArguments()))
      values[from] = {to, {}, 0, false};
    builder.setInsertionPointToEnd(body);
    return success();
  }

  /// The variable that an op reads or assigns; "" for others.
  static StringRef variableOf(Operation *op) {
    if (auto read = dyn_cast<sbp::ReadOp>(op))
      return read.getVariable();
    if (auto assign = dyn_cast<sbp::AssignOp>(op))
      return assign.getVariable();
    return "";
  }

  /// True when done, false when an operand is not there yet.
  FailureOr<bool> translate(Operation *op) {
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()) && !values.count(operand))
        return false;
    if (isa<sbp::ScopeOp>(op))
      return true;
    if (auto fence = dyn_cast<sbp::FenceOp>(op)) {
      sameValue(fence.getInput(), fence.getOutput());
      return true;
    }
    if (auto read = dyn_cast<sbp::ReadOp>(op))
      return translateRead(read);
    if (auto assign = dyn_cast<sbp::AssignOp>(op))
      return translateAssign(assign);
    if (auto boxing = dyn_cast<sbp::BoxingOp>(op))
      return translateBoxing(boxing);
    if (isa<func::ReturnOp>(op)) {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(tensorOf(operand));
      builder.create<func::ReturnOp>(op->getLoc(), operands);
      return true;
    }
    if (isa<nn::ComputeOpInterface>(op))
      return translateCompute(op);
    return op->emitOpError()
           << "has no meaning on one rank's piece; 'sbp-localize' takes ops that compute, boxings, reads "
              "and assigns";
  }

  void sameValue(Value from, Value to) {
    LocalValue value = values.lookup(from);
    values[to] = value;
  }

  Value tensorOf(Value global) {
    LocalValue &value = values[global];
    if (!value.tensor) {
      RankedTensorType type = sbp::localType(cast<RankedTensorType>(global.getType()), rank.coordinates);
      value.tensor = hashed("view " + std::to_string(value.offset) + printed(type), value.range, [&]() -> Value {
        return builder.create<ccl::ViewOp>(global.getLoc(), type, value.range, value.offset);
      });
    }
    return value.tensor;
  }

  static std::string printed(Type type) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return text;
  }

  /// The value made before under the same name from the same operands, or a new one.
  Value hashed(const std::string &name, ValueRange operands, function_ref<Value()> make) {
    std::string key = name;
    for (Value operand : operands)
      key += " " + std::to_string(reinterpret_cast<uintptr_t>(operand.getAsOpaquePointer()));
    Value &known = made[key];
    if (!known)
      known = make();
    return known;
  }

  //===--------------------------------------------------------------------===//
  // Compute
  //===--------------------------------------------------------------------===//

  bool translateCompute(Operation *op) {
    bool isFlat = llvm::any_of(op->getResults(), [](Value v) { return sbp::signatureOf(v).getFlatSlot().has_value(); });
    if (isFlat)
      return translateFlat(op);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(tensorOf(operand));
    SmallVector<Type> types;
    for (Type type : op->getResultTypes())
      types.push_back(sbp::localType(cast<RankedTensorType>(type), rank.coordinates));
    Operation *local = create(op, operands, types);
    if (auto placed = dyn_cast<nn::PlacedOpInterface>(local))
      place(placed, op->getResult(0));
    for (auto [from, to] : llvm::zip(op->getResults(), local->getResults()))
      values[from] = {to, {}, 0, false};
    return true;
  }

  void place(nn::PlacedOpInterface op, Value global) {
    sbp::Shape shape = sbp::shapeOf(global.getType());
    SmallVector<int64_t> offsets;
    for (const sbp::Interval &interval :
         sbp::localBox(shape, sbp::signatureOf(global).toAlgebra(), rank.placement, rank.coordinates))
      offsets.push_back(interval.begin);
    op.setPlace(offsets, shape);
  }

  Operation *create(Operation *op, ArrayRef<Value> operands, ArrayRef<Type> types) {
    OperationState state(op->getLoc(), op->getName(), operands, types, op->getAttrs());
    return builder.create(state);
  }

  /// An elementwise op on slots is one on the whole chunk: all members that do the same share it.
  bool translateFlat(Operation *op) {
    SmallVector<Value> operands;
    int64_t elements = chunkElements(op->getResult(0));
    for (Value operand : op->getOperands())
      operands.push_back(sbp::signatureOf(operand).getFlatSlot() ? values[operand].range : tensorOf(operand));
    SmallVector<Type> types;
    for (Type type : op->getResultTypes())
      types.push_back(RankedTensorType::get({elements}, getElementTypeOrSelf(type)));
    std::string name;
    llvm::raw_string_ostream(name) << op->getName() << op->getAttrDictionary() << types.front()
                                   << sbp::signatureOf(op->getResult(0)).getFlatSlot()->bucket;
    for (unsigned i = 0; i < op->getNumResults(); ++i) {
      Value chunk = hashed(name + "#" + std::to_string(i), operands, [&]() -> Value {
        if (i > 0) // the first result's op made this one too
          return values[op->getResult(0)].range.getDefiningOp()->getResult(i);
        return create(op, operands, types)->getResult(0);
      });
      values[op->getResult(i)] = {{}, chunk, 0, true};
    }
    return true;
  }

  /// Elements of a chunk of the bucket that `value` is a slot of.
  int64_t chunkElements(Value value) {
    sbp::NdSbp signature = sbp::signatureOf(value).toAlgebra();
    for (size_t axis = 0; axis < signature.size(); ++axis)
      if (signature[axis].isFlat())
        return signature[axis].slot.total / rank.placement.axes[axis].size;
    return 0;
  }

  //===--------------------------------------------------------------------===//
  // Variables
  //===--------------------------------------------------------------------===//

  sbp::VariableOp variable(StringRef name) {
    return source->getParentOfType<ModuleOp>().lookupSymbol<sbp::VariableOp>(name);
  }

  bool translateRead(sbp::ReadOp read) {
    sbp::VariableOp from = variable(read.getVariable());
    const std::string &name = storages.names[read.getVariable()];
    auto isAssigned = [&](sbp::AssignOp assign) { return assign.getVariable() == read.getVariable(); };
    if (llvm::any_of(readyAssigns[name], isAssigned)) // what was assigned is to be seen
      emitAssigns(name);
    Value whole = hashed("read " + name + " " + std::to_string(versions[name]), {}, [&]() -> Value {
      return builder.create<ccl::ReadOp>(read.getLoc(), storages.types[name], name);
    });
    if (from.getSlotAttr())
      values[read.getResult()] = {{}, whole, Storages::offsetOf(from, rank), Storages::isChunk(from)};
    else
      values[read.getResult()] = {whole, {}, 0, false};
    return true;
  }

  bool translateAssign(sbp::AssignOp assign) {
    const std::string &name = storages.names[assign.getVariable()];
    std::vector<sbp::AssignOp> &ready = readyAssigns[name];
    ready.push_back(assign);
    if (static_cast<int64_t>(ready.size()) == assignCounts[name]) // the last one assigns them all
      emitAssigns(name);
    return true;
  }

  void emitAssigns(const std::string &name) {
    std::vector<sbp::AssignOp> &ready = readyAssigns[name];
    assignCounts[name] -= ready.size();
    if (Value whole = commonRange(ready, name)) {
      builder.create<ccl::AssignOp>(ready.front().getLoc(), name, whole);
    } else {
      for (sbp::AssignOp member : ready)
        assignMember(member, name);
    }
    ready.clear();
    ++versions[name];
  }

  /// The range of which all members of the storage are assigned their own part, or null.
  Value commonRange(std::vector<sbp::AssignOp> &assigns, const std::string &name) {
    if (assigns.size() != storages.members[name].size())
      return {};
    llvm::StringSet<> assigned;
    for (sbp::AssignOp assign : assigns)
      if (!assigned.insert(assign.getVariable()).second)
        return {};
    Value range = values[assigns.front().getValue()].range;
    for (sbp::AssignOp assign : assigns) {
      LocalValue &value = values[assign.getValue()];
      bool isAtItsPlace = value.isChunk || value.offset == Storages::offsetOf(variable(assign.getVariable()), rank);
      if (!value.range || value.range != range || !isAtItsPlace || range.getType() != storages.types[name])
        return {};
    }
    return range;
  }

  void assignMember(sbp::AssignOp assign, const std::string &name) {
    sbp::VariableOp to = variable(assign.getVariable());
    LocalValue value = values[assign.getValue()];
    int64_t offset = Storages::offsetOf(to, rank);
    Value tensor;
    if (value.isChunk) {
      int64_t count = Storages::pieceOf(to, rank).count;
      auto type = RankedTensorType::get({count}, to.getTensorType().getElementType());
      tensor = builder.create<ccl::ViewOp>(assign.getLoc(), type, value.range, offset);
    } else {
      tensor = tensorOf(assign.getValue());
    }
    builder.create<ccl::AssignOp>(assign.getLoc(), FlatSymbolRefAttr::get(builder.getContext(), name), tensor,
                                  builder.getI64IntegerAttr(offset));
  }

  //===--------------------------------------------------------------------===//
  // Boxing
  //===--------------------------------------------------------------------===//

  BoxingKind kindOf(sbp::BoxingOp op) {
    sbp::NdSbp from = sbp::signatureOf(op.getInput()).toAlgebra(), to = sbp::signatureOf(op.getOutput()).toAlgebra();
    BoxingKind kind;
    for (size_t axis = 0; axis < from.size(); ++axis)
      if (from[axis] != to[axis])
        kind = {static_cast<int64_t>(axis),
                from[axis],
                to[axis],
                {static_cast<int64_t>(axis), sbp::singleStep(from[axis], to[axis]).value_or(sbp::Collective::Slice),
                 from, to}};
    return kind;
  }

  /// The slot through which a boxing belongs to a bucket, if any.
  static std::optional<sbp::Slot> slotOf(sbp::BoxingOp op, const BoxingKind &kind) {
    if (kind.to.isFlat())
      return kind.to.slot;
    if (kind.from.isFlat())
      return kind.from.slot;
    if (sbp::SlotAttr slot = op.getBucketAttr(); slot && kind.from.isPartial() && kind.to.isBroadcast())
      return sbp::Slot{slot.getBucket().str(), slot.getOffset(), slot.getTotal()};
    return std::nullopt;
  }

  /// What the boxings of one bucket that belong together have in common: bucket, step, phase and group.
  std::string bucketKey(sbp::BoxingOp op, const BoxingKind &kind, const sbp::Slot &slot) {
    std::string key = slot.bucket + "|" + std::to_string(slot.total) + "|" + std::to_string(kind.axis) + "|" +
                      sbp::toString(kind.step.collective) + (kind.to.isFlat() ? "F" : "");
    if (auto fence = op.getInput().getDefiningOp<sbp::FenceOp>())
      if (auto scope = fence.getScope().getDefiningOp<sbp::ScopeOp>())
        key += "|" + (scope.getPhase() + "|" + scope.getGroup().value_or("")).str();
    // A boxing of several steps may take the bucket's more than once.
    int64_t earlier = 0;
    for (auto before = op.getInput().getDefiningOp<sbp::BoxingOp>(); before;
         before = before.getInput().getDefiningOp<sbp::BoxingOp>())
      earlier += slotOf(before, kindOf(before)).has_value();
    return key + "|" + std::to_string(earlier);
  }

  void countMembers() {
    llvm::StringMap<int64_t> repeats;
    for (Operation &op : source.getBody().front()) {
      if (auto assign = dyn_cast<sbp::AssignOp>(op))
        ++assignCounts[storages.names[assign.getVariable()]];
      auto boxing = dyn_cast<sbp::BoxingOp>(op);
      if (!boxing)
        continue;
      BoxingKind kind = kindOf(boxing);
      std::optional<sbp::Slot> slot = kind.axis < 0 ? std::nullopt : slotOf(boxing, kind);
      if (!slot)
        continue;
      // The n-th time that a slot is boxed so goes with the n-th time of the others.
      std::string key = bucketKey(boxing, kind, *slot);
      key += "|" + std::to_string(repeats[key + "@" + std::to_string(slot->offset)]++);
      bucketKeys[&op] = key;
      ++memberCounts[key];
    }
  }

  bool translateBoxing(sbp::BoxingOp op) {
    BoxingKind kind = kindOf(op);
    if (kind.axis < 0) {
      sameValue(op.getInput(), op.getOutput());
      return true;
    }
    AxisGroup group = rank.group(kind.axis);
    if (std::optional<sbp::Slot> slot = slotOf(op, kind))
      return translateBucket(op, kind, *slot, group);
    if (group.size() == 1) { // another name for the same bytes
      sameValue(op.getInput(), op.getOutput());
      return true;
    }
    CollectiveBuilder build(builder, op.getLoc(), group, describe(op));
    values[op.getOutput()] = {localizeStep(build, tensorOf(op.getInput()), kind.step,
                                           sbp::shapeOf(op.getInput().getType()), rank.placement, group),
                              {},
                              0,
                              false};
    return true;
  }

  /// What is boxed, for messages: the variable, or the op that made it.
  static std::string describe(sbp::BoxingOp op) {
    Value value = op.getInput();
    std::string scope;
    while (auto fence = value.getDefiningOp<sbp::FenceOp>()) {
      if (auto of = fence.getScope().getDefiningOp<sbp::ScopeOp>())
        scope = (" " + of.getPhase()).str();
      value = fence.getInput();
    }
    if (auto read = value.getDefiningOp<sbp::ReadOp>())
      return read.getVariable().str() + scope;
    if (Operation *producer = value.getDefiningOp())
      return "result of " + producer->getName().getStringRef().str() + scope;
    return "argument " + std::to_string(cast<BlockArgument>(value).getArgNumber()) + scope;
  }

  bool translateBucket(sbp::BoxingOp op, const BoxingKind &kind, const sbp::Slot &slot, const AxisGroup &group) {
    std::string key = bucketKeys[op];
    std::string what = "bucket " + slot.bucket;
    if (auto fence = op.getInput().getDefiningOp<sbp::FenceOp>())
      if (auto scope = fence.getScope().getDefiningOp<sbp::ScopeOp>())
        what += (" " + scope.getPhase()).str();
    CollectiveBuilder build(builder, op.getLoc(), group, what);
    if (kind.from.isFlat()) { // what is stored: the first that is wanted gathers all
      Value chunk = values[op.getInput()].range;
      Value whole = hashed("gather " + key, chunk, [&] { return gather(build, chunk, group); });
      values[op.getOutput()] = {{}, whole, slot.offset, false};
      return true;
    }
    if (kind.from.isBroadcast() && values[op.getInput()].range && values[op.getInput()].offset == slot.offset) {
      Value whole = values[op.getInput()].range; // lies in the bucket already
      Value chunk = hashed("chunk", whole, [&] { return chunkOf(build, whole, group); });
      values[op.getOutput()] = {{}, chunk, 0, true};
      --memberCounts[key]; // the others need not wait for it
      packIfComplete(kind, slot, group, build, key);
      return true;
    }
    return collectMember(op, kind, slot, group, build, key);
  }

  Value gather(CollectiveBuilder &build, Value chunk, const AxisGroup &group) {
    if (group.size() == 1)
      return chunk;
    int64_t elements = cast<RankedTensorType>(chunk.getType()).getNumElements();
    return build.allGather(chunk, std::vector<int64_t>(group.size(), elements));
  }

  Value chunkOf(CollectiveBuilder &build, Value whole, const AxisGroup &group) {
    int64_t elements = cast<RankedTensorType>(whole.getType()).getNumElements() / group.size();
    return build.view(whole, group.index * elements, {elements});
  }

  /// Gathers the members of a bucket; when the last is there, lays them side by side and communicates once.
  bool collectMember(sbp::BoxingOp op, const BoxingKind &kind, const sbp::Slot &slot, const AxisGroup &group,
                     CollectiveBuilder &build, const std::string &key) {
    bucketMembers[key].emplace_back(slot.offset, op);
    packIfComplete(kind, slot, group, build, key);
    return true;
  }

  void packIfComplete(const BoxingKind &kind, const sbp::Slot &slot, const AxisGroup &group, CollectiveBuilder &build,
                      const std::string &key) {
    auto &members = bucketMembers[key];
    if (members.empty() || static_cast<int64_t>(members.size()) < memberCounts[key])
      return;
    llvm::sort(members, [](const auto &a, const auto &b) { return a.first < b.first; });
    SmallVector<Value> inputs;
    SmallVector<int64_t> offsets;
    for (auto &[offset, member] : members) {
      inputs.push_back(tensorOf(member.getInput()));
      offsets.push_back(offset);
    }
    Value whole = build.pack(inputs, offsets, slot.total), result = whole;
    bool isChunk = kind.to.isFlat();
    if (kind.from.isPartial() && group.size() > 1)
      result = isChunk ? build.reduceScatter(whole, std::vector<int64_t>(group.size(), slot.total / group.size()))
                       : build.allReduce(whole);
    else if (isChunk)
      result = chunkOf(build, whole, group);
    for (auto &[offset, member] : members)
      values[member.getOutput()] = {{}, result, isChunk ? 0 : offset, isChunk};
  }

  func::FuncOp source;
  Storages &storages;
  const RankView &rank;
  OpBuilder &builder;
  DenseMap<Value, LocalValue> values;
  llvm::StringMap<Value> made;
  llvm::StringMap<int64_t> versions, assignCounts, memberCounts;
  llvm::StringMap<std::vector<sbp::AssignOp>> readyAssigns;
  DenseMap<Operation *, std::string> bucketKeys;
  llvm::StringMap<std::vector<std::pair<int64_t, sbp::BoxingOp>>> bucketMembers;
};

/// Cuts boxings of several steps up, so that each changes one axis.
void splitBoxings(ModuleOp module, const sbp::Placement &placement) {
  module.walk([&](sbp::BoxingOp op) {
    sbp::NdSbp from = sbp::signatureOf(op.getInput()).toAlgebra(), to = sbp::signatureOf(op.getOutput()).toAlgebra();
    std::vector<sbp::NdSbp> states;
    sbp::NdSbp last = from;
    // On axes of size 1 every entry means the same bytes: they are B while the others change. A slot comes last: what
    // lies there is no member's alone any more.
    auto relabel = [&](const sbp::NdSbp &target, bool isTarget) {
      for (bool isFlat : {false, true})
        for (size_t axis = 0; axis < to.size(); ++axis) {
          sbp::Sbp entry = isTarget ? target[axis] : sbp::Sbp::broadcast();
          if (placement.axes[axis].size > 1 || entry.isFlat() != isFlat || last[axis] == entry)
            continue;
          last[axis] = entry;
          states.push_back(last);
        }
    };
    std::vector<sbp::BoxingStep> steps = sbp::planBoxing(sbp::shapeOf(op.getInput().getType()), from, to, placement);
    if (!steps.empty())
      relabel(from, false);
    for (const sbp::BoxingStep &step : steps)
      states.push_back(last = step.to);
    relabel(to, true);
    if (states.size() < 2)
      return;
    OpBuilder builder(op);
    Value value = op.getInput();
    for (const sbp::NdSbp &state : states) {
      auto signature = sbp::NdAttr::get(sbp::signatureOf(op.getOutput()).getPlacement(), state);
      bool fitsSlot = true; // the slot is one of the piece that there is in the end
      for (size_t axis = 0; axis < to.size(); ++axis)
        fitsSlot &= state[axis] == to[axis] || (state[axis].isPartial() && to[axis].isBroadcast());
      value = builder.create<sbp::BoxingOp>(op.getLoc(), sbp::withSignature(op.getType(), signature), value,
                                            fitsSlot ? op.getBucketAttr() : sbp::SlotAttr());
    }
    op.replaceAllUsesWith(value);
    op.erase();
  });
}

FailureOr<RankView> findRank(ModuleOp module, int64_t rank) {
  sbp::PlacementAttr placement = sbp::placementOf(module);
  if (!placement)
    return module.emitError() << "'sbp-localize' found no placement in the module; run 'sbp-propagate' first";
  RankView view{placement.toAlgebra(), -1, {}};
  for (int64_t position = 0; position < view.placement.numPositions(); ++position)
    if ((view.placement.ranks.empty() ? position : view.placement.ranks[position]) == rank)
      view.position = position;
  if (view.position < 0)
    return module.emitError() << "'sbp-localize' got rank " << rank << ", but the placement has "
                              << view.placement.numPositions() << " ranks"
                              << (view.placement.ranks.empty() ? ", counted from 0" : ", and that is none of them");
  view.coordinates = view.placement.coordinates(view.position);
  return view;
}

/// Builds into `target` the program of a rank of `global`, whose boxings are cut up.
LogicalResult localizeInto(ModuleOp target, ModuleOp global, const RankView &rank, int64_t rankNumber) {
  OpBuilder builder = OpBuilder::atBlockEnd(target.getBody());
  target->setAttrs(global->getAttrDictionary());
  target->setAttr("ccl.device", builder.getStringAttr(rank.placement.deviceKind));
  target->setAttr("ccl.rank", builder.getI64IntegerAttr(rankNumber));
  target->setAttr("ccl.ranks", builder.getI64IntegerAttr(rank.placement.numPositions()));
  Storages storages(global, rank);
  for (auto variable : global.getOps<sbp::VariableOp>())
    builder.clone(*variable);
  storages.emit(builder, rank);
  for (auto function : global.getOps<func::FuncOp>()) {
    OpBuilder::InsertionGuard guard(builder);
    if (failed(FunctionLocalizer(function, storages, rank, builder).run()))
      return failure();
  }
  return success();
}

struct Localize : splitcast::impl::LocalizePassBase<Localize> {
  using LocalizePassBase::LocalizePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<OwningOpRef<ModuleOp>> local = localize(module, rank);
    if (failed(local))
      return signalPassFailure();
    module->setAttrs((*local)->getOperation()->getAttrDictionary());
    module.getBodyRegion().takeBody((*local)->getBodyRegion());
  }
};

} // namespace

FailureOr<OwningOpRef<ModuleOp>> splitcast::localize(ModuleOp global, int64_t rank) {
  FailureOr<RankView> view = findRank(global, rank);
  if (failed(view) || failed(verifyGlobal(global)))
    return failure();
  global.getContext()->loadDialect<ccl::CclDialect, nn::NnDialect>();
  OwningOpRef<ModuleOp> prepared = cast<ModuleOp>(global->clone());
  splitBoxings(*prepared, view->placement);
  OwningOpRef<ModuleOp> local = ModuleOp::create(global.getLoc());
  if (failed(localizeInto(*local, *prepared, *view, rank)))
    return failure();
  return local;
}
