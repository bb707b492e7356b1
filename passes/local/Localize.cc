// Makes the program of one rank: translates op by op, in the order of the
// global program.
//
//   a value                       the rank's piece of it (sbp::localType)
//   sbp.boxing                    a collective for each step, or a slice (LocalizeBoxing.h)
//   sbp.bucket_read, .._assign    ccl.read, ccl.assign of the storage of that bucket and role
//   sbp.bucket_pack, .._member    ccl.pack, ccl.view
//   sbp.fence, sbp.scope          the same, on pieces, so that equal ops in two
//                                 scopes stay two until the plan
//   ops that compute              the same op on pieces
//   values at other ranks (At)    nothing, except for their boxings, in which all
//                                 ranks of the axis take part
#include "passes/global/Passes.h"
#include "passes/local/Aliases.h"
#include "passes/local/LocalStorages.h"
#include "passes/local/LocalizeBoxing.h"
#include "passes/local/Passes.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_LOCALIZEPASS
#include "passes/local/Passes.h.inc"
} // namespace splitcast

namespace {

/// Translates one function.
class FunctionLocalizer {
public:
  FunctionLocalizer(func::FuncOp source, const SymbolTable &symbols, Storages &storages, const RankView &rank,
                    OpBuilder &builder)
      : source(source), symbols(symbols), storages(storages), rank(rank), builder(builder) {}

  LogicalResult run() {
    if (failed(createFunction()))
      return failure();
    for (Operation &op : source.getBody().front())
      if (failed(translate(&op)))
        return failure();
    return success();
  }

private:
  //===--------------------------------------------------------------------===//
  // The function
  //===--------------------------------------------------------------------===//

  DictionaryAttr withGlobal(DictionaryAttr attributes, Type type) {
    NamedAttrList all(attributes);
    all.set("ccl.global", TypeAttr::get(type));
    return all.getDictionary(builder.getContext());
  }

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
    SmallVector<DictionaryAttr> ofArguments, ofResults; // all at once: each change makes a list of all of them
    for (unsigned i = 0; i < source.getNumArguments(); ++i)
      ofArguments.push_back(withGlobal(source.getArgAttrDict(i), source.getArgumentTypes()[i]));
    for (unsigned i = 0; i < source.getNumResults(); ++i)
      ofResults.push_back(withGlobal(source.getResultAttrDict(i), source.getResultTypes()[i]));
    function.setAllArgAttrs(ofArguments);
    function.setAllResultAttrs(ofResults);
    Block *body = function.addEntryBlock();
    for (auto [from, to] : llvm::zip(source.getArguments(), body->getArguments()))
      values[from] = to;
    builder.setInsertionPointToEnd(body);
    return success();
  }

  /// Whether all operands and results of the op are at other ranks.
  bool isElsewhere(Operation *op) const {
    auto isHeld = [&](Type type) {
      sbp::NdAttr signature = sbp::signatureOf(type);
      return signature && sbp::isHeld(signature.toAlgebra(), rank.coordinates);
    };
    auto isTensor = [](Type type) { return sbp::signatureOf(type) != nullptr; };
    return (llvm::any_of(op->getOperandTypes(), isTensor) || llvm::any_of(op->getResultTypes(), isTensor)) &&
           llvm::none_of(op->getOperandTypes(), isHeld) && llvm::none_of(op->getResultTypes(), isHeld);
  }

  LogicalResult translate(Operation *op) {
    if (!isa<func::ReturnOp, sbp::BoxingOp>(op) && isElsewhere(op))
      return success();
    if (isa<func::ReturnOp>(op)) {
      builder.create<func::ReturnOp>(op->getLoc(), operandsOf(op));
      return success();
    }
    if (isa<nn::ComputeOpInterface>(op))
      return translateCompute(op);
    if (translateAs<sbp::ScopeOp, sbp::FenceOp, sbp::ReadOp, sbp::AssignOp, sbp::BoxingOp, sbp::BucketReadOp,
                    sbp::BucketAssignOp, sbp::BucketPackOp, sbp::BucketMemberOp>(op))
      return success();
    return op->emitOpError()
           << "has no meaning on one rank's piece; 'sbp-localize' takes ops that compute, boxings, reads "
              "and assigns";
  }

  /// Calls `localize` for the one of these kinds that the op is, if any.
  template <typename... Kinds> bool translateAs(Operation *op) {
    return ((isa<Kinds>(op) && (localize(cast<Kinds>(op)), true)) || ...);
  }

  SmallVector<Value> operandsOf(Operation *op) {
    return llvm::map_to_vector(op->getOperands(), [&](Value operand) { return values.lookup(operand); });
  }

  RankedTensorType localType(Value global) {
    return sbp::localType(cast<RankedTensorType>(global.getType()), rank.coordinates);
  }

  //===--------------------------------------------------------------------===//
  // Compute
  //===--------------------------------------------------------------------===//

  LogicalResult translateCompute(Operation *op) {
    OperationState state(op->getLoc(), op->getName(), operandsOf(op),
                         llvm::map_to_vector(op->getResults(), [&](Value v) -> Type { return localType(v); }),
                         op->getAttrs());
    Operation *local = builder.create(state);
    if (auto placed = dyn_cast<nn::PlacedOpInterface>(local))
      place(placed, cast<nn::PlacedOpInterface>(op).getPlaced());
    for (auto [from, to] : llvm::zip(op->getResults(), local->getResults()))
      values[from] = to;
    return success();
  }

  void place(nn::PlacedOpInterface op, Value global) {
    sbp::Shape shape = sbp::shapeOf(global.getType());
    SmallVector<int64_t> offsets;
    for (const sbp::Interval &interval :
         sbp::localBox(shape, sbp::signatureOf(global).toAlgebra(), rank.placement, rank.coordinates))
      offsets.push_back(interval.begin);
    op.setPlace(offsets, shape);
  }

  //===--------------------------------------------------------------------===//
  // Scopes
  //===--------------------------------------------------------------------===//

  void localize(sbp::ScopeOp scope) { values[scope.getToken()] = cast<sbp::ScopeOp>(builder.clone(*scope)).getToken(); }

  void localize(sbp::FenceOp fence) {
    values[fence.getOutput()] =
        builder.create<sbp::FenceOp>(fence.getLoc(), values.lookup(fence.getInput()), values.lookup(fence.getScope()));
  }

  //===--------------------------------------------------------------------===//
  // Variables
  //===--------------------------------------------------------------------===//

  void localize(sbp::ReadOp read) {
    const std::string &name = storages.names[read.getVariable()];
    auto variable = symbols.lookup<sbp::VariableOp>(read.getVariable());
    Value whole = builder.create<ccl::ReadOp>(read.getLoc(), storages.types[name], name);
    values[read.getResult()] =
        view(read.getLoc(), whole, Storages::offsetOf(variable, rank), localType(read.getResult()));
  }

  void localize(sbp::AssignOp assign) {
    const std::string &name = storages.names[assign.getVariable()];
    auto variable = symbols.lookup<sbp::VariableOp>(assign.getVariable());
    builder.create<ccl::AssignOp>(assign.getLoc(), FlatSymbolRefAttr::get(builder.getContext(), name),
                                  values.lookup(assign.getValue()),
                                  builder.getI64IntegerAttr(Storages::offsetOf(variable, rank)));
  }

  //===--------------------------------------------------------------------===//
  // Buckets
  //===--------------------------------------------------------------------===//

  // A rank's piece of a range has extent 1 in the dimensions before the last.
  // In its storage it is flat.

  void localize(sbp::BucketReadOp read) {
    std::string name = Storages::nameOf(read.getBucket(), read.getRole());
    Value flat = builder.create<ccl::ReadOp>(read.getLoc(), storages.types[name], name);
    values[read.getResult()] = view(read.getLoc(), flat, 0, localType(read.getResult()));
  }

  void localize(sbp::BucketAssignOp assign) {
    std::string name = Storages::nameOf(assign.getBucket(), assign.getRole());
    Value flat = view(assign.getLoc(), values.lookup(assign.getValue()), 0, storages.types[name]);
    builder.create<ccl::AssignOp>(assign.getLoc(), name, flat);
  }

  void localize(sbp::BucketPackOp pack) {
    RankedTensorType type = localType(pack.getResult());
    auto flat = RankedTensorType::get({type.getNumElements()}, type.getElementType());
    SmallVector<Value> parts;
    SmallVector<int64_t> offsets;
    for (auto [input, offset] : llvm::zip(pack.getInputs(), pack.getOffsets()))
      if (localType(input).getNumElements() > 0) { // an empty part has no place
        parts.push_back(values.lookup(input));
        offsets.push_back(placeOf(cast<RankedTensorType>(input.getType()), offset));
      }
    Value packed = builder.create<ccl::PackOp>(pack.getLoc(), flat, parts, offsets);
    values[pack.getResult()] = view(pack.getLoc(), packed, 0, type);
  }

  void localize(sbp::BucketMemberOp member) {
    values[member.getResult()] =
        view(member.getLoc(), values.lookup(member.getRange()),
             placeOf(member.getResult().getType(), member.getOffset()), localType(member.getResult()));
  }

  /// Returns where a member at this offset of a range begins on this rank: at
  /// the offset, or, if it is a slot, where its part of the chunk begins.
  int64_t placeOf(RankedTensorType member, int64_t offset) {
    const sbp::NdAttr signature = sbp::signatureOf(member);
    return signature.getFlatSlot() ? flatPiece(sbp::shapeOf(member), signature.toAlgebra(), rank).chunkBegin : offset;
  }

  Value view(Location loc, Value input, int64_t offset, RankedTensorType type) {
    return input.getType() == type ? input : builder.create<ccl::ViewOp>(loc, type, input, offset).getResult();
  }

  //===--------------------------------------------------------------------===//
  // Boxing
  //===--------------------------------------------------------------------===//

  void localize(sbp::BoxingOp op) {
    sbp::NdSbp from = sbp::signatureOf(op.getInput()).toAlgebra(), to = sbp::signatureOf(op.getOutput()).toAlgebra();
    sbp::Shape shape = sbp::shapeOf(op.getInput().getType());
    Value piece = values.lookup(op.getInput());
    bool isStored = isa_and_nonnull<sbp::ReadOp, sbp::BucketReadOp>(behindCasts(op.getInput()).getDefiningOp());
    for (const sbp::BoxingStep &step : sbp::planBoxing(shape, from, to, rank.placement)) {
      if (!isOfGroup(step))
        continue;
      AxisGroup group = rank.group(step.axes());
      const bool moves = step.from[step.axis].isAt() || step.to[step.axis].isAt();
      CollectiveBuilder build(builder, op.getLoc(), group, describe(op), isStored && !moves);
      if (!piece)
        piece = build.pack({}, {}, RankedTensorType::get({0}, op.getInput().getType().getElementType()));
      piece = localizeStep(build, piece, step, shape, rank.placement, group);
      isStored = false; // the result is a part of the stored value, or holds more than it
    }
    values[op.getOutput()] = piece; // without a step it is another name for the same bytes; null if this rank has none
  }

  /// Whether this rank takes part in the step: it, or a rank that differs from
  /// it only along the axes of the step, holds the tensor before or after.
  bool isOfGroup(const sbp::BoxingStep &step) const {
    sbp::NdSbp others = step.from;
    for (int64_t axis : step.axes())
      others[axis] = sbp::Sbp::broadcast();
    return sbp::isHeld(others, rank.coordinates);
  }

  /// Returns the value before all fences and casts, which has the same numbers,
  /// except for rounding.
  static Value behindCasts(Value value) {
    while (auto cast = behindFences(value).getDefiningOp<nn::CastOp>())
      value = cast.getInput();
    return behindFences(value);
  }

  /// Describes what is boxed, for messages: the bucket, the variable, or the op
  /// that made it.
  static std::string describe(sbp::BoxingOp op) {
    Value value = op.getInput();
    if (auto pack = value.getDefiningOp<sbp::BucketPackOp>())
      value = pack.getInputs().front();
    if (auto cast = value.getDefiningOp<nn::CastOp>();
        cast && isa_and_nonnull<sbp::ReadOp, sbp::BucketReadOp>(behindCasts(value).getDefiningOp()))
      value = cast.getInput();
    std::string phase;
    while (auto fence = value.getDefiningOp<sbp::FenceOp>()) {
      if (auto of = fence.getScope().getDefiningOp<sbp::ScopeOp>())
        phase = (" " + nameOf(of.getPhase().getValue())).str();
      value = fence.getInput();
    }
    if (sbp::SlotAttr slot = op.getBucketAttr())
      return "bucket " + slot.getBucket().str() + phase;
    if (auto read = value.getDefiningOp<sbp::ReadOp>())
      return read.getVariable().str() + phase;
    if (Operation *producer = value.getDefiningOp())
      return "result of " + producer->getName().getStringRef().str() + phase;
    return "argument " + std::to_string(cast<BlockArgument>(value).getArgNumber()) + phase;
  }

  func::FuncOp source;
  const SymbolTable &symbols;
  Storages &storages;
  const RankView &rank;
  OpBuilder &builder;
  DenseMap<Value, Value> values;
};

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

/// Returns the axes along which some tensor is at one coordinate. Ranks along
/// these axes have different programs.
SmallVector<Attribute> axesApart(ModuleOp global) {
  llvm::SetVector<Attribute> names;
  auto note = [&](Type type) {
    if (sbp::NdAttr signature = sbp::signatureOf(type))
      for (auto [entry, name] : llvm::zip(signature.getEntries(), signature.getPlacement().getAxisNames()))
        if (entry.getKind() == sbp::Sbp::Kind::At)
          names.insert(name);
  };
  global.walk([&](Operation *op) {
    if (auto variable = dyn_cast<sbp::VariableOp>(op))
      note(variable.getType());
    for (Type type : op->getResultTypes())
      note(type);
  });
  return names.takeVector();
}

/// Builds the program of one rank of `global` in `target`.
LogicalResult localizeInto(ModuleOp target, ModuleOp global, const RankView &rank, int64_t rankNumber) {
  OpBuilder builder = OpBuilder::atBlockEnd(target.getBody());
  target->setAttrs(global->getAttrDictionary());
  target->setAttr("ccl.device", builder.getStringAttr(rank.placement.deviceKind));
  target->setAttr("ccl.rank", builder.getI64IntegerAttr(rankNumber));
  target->setAttr("ccl.ranks", builder.getI64IntegerAttr(rank.placement.numPositions()));
  if (SmallVector<Attribute> axes = axesApart(global); !axes.empty())
    target->setAttr("ccl.apart", builder.getArrayAttr(axes));
  Storages storages(global, rank);
  for (Operation &op : global.getOps())
    if (isa<sbp::VariableOp, sbp::BucketOp, sbp::ScheduleOp>(op))
      builder.clone(op);
  storages.emit(builder, rank);
  const SymbolTable symbols(global);
  for (auto function : global.getOps<func::FuncOp>()) {
    OpBuilder::InsertionGuard guard(builder);
    if (failed(FunctionLocalizer(function, symbols, storages, rank, builder).run()))
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
  return failed(verifyGlobal(global)) ? FailureOr<OwningOpRef<ModuleOp>>() : localizeVerified(global, rank);
}

FailureOr<OwningOpRef<ModuleOp>> splitcast::localizeVerified(ModuleOp global, int64_t rank) {
  FailureOr<RankView> view = findRank(global, rank);
  if (failed(view))
    return failure();
  global.getContext()->loadDialect<ccl::CclDialect, nn::NnDialect>();
  OwningOpRef<ModuleOp> local = ModuleOp::create(global.getLoc());
  if (failed(localizeInto(*local, global, *view, rank)))
    return failure();
  return local;
}
