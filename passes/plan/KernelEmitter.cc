#include "passes/plan/KernelEmitter.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

#include <map>

using namespace mlir;

namespace splitcast {

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

bool isReduction(linalg::GenericOp generic) { return generic.getNumReductionLoops() > 0; }

/// Where in a tensor: `base`, plus the lane's number when `isLane`.
struct Index {
  Value base;
  bool isLane = false;
};

/// The linalg of a fusion, in a scratch module.
class LinalgBody {
public:
  explicit LinalgBody(nn::FusionOp fusion) : module(ModuleOp::create(fusion.getLoc())) {
    OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
    SmallVector<Type> inputs(fusion.getInputs().getTypes());
    auto function = builder.create<func::FuncOp>(fusion.getLoc(), "body", builder.getFunctionType(inputs, {}));
    Block *block = function.addEntryBlock();
    builder.setInsertionPointToEnd(block);
    arguments.assign(block->args_begin(), block->args_end());
    IRMapping map;
    map.map(fusion.getBody().front().getArguments(), block->getArguments());
    for (Operation &op : fusion.getBody().front().without_terminator()) {
      SmallVector<Value> operands;
      for (Value operand : op.getOperands())
        operands.push_back(map.lookup(operand));
      SmallVector<Value> results = cast<nn::ComputeOpInterface>(op).lowerToLinalg(builder, operands);
      map.map(op.getResults(), results);
    }
    for (Value result : fusion.getBody().front().getTerminator()->getOperands())
      results.push_back(map.lookup(result));
  }

  OwningOpRef<ModuleOp> module;
  SmallVector<Value> arguments, results;
};

/// Whether a generic reads each operand at its own loop indices, or a scalar.
bool isPointwise(linalg::GenericOp generic) {
  if (isReduction(generic))
    return false;
  for (AffineMap map : generic.getIndexingMapsArray())
    if (!map.isIdentity() && map.getNumResults() != 0)
      return false;
  WalkResult places = generic.getBody()->walk([](Operation *op) {
    return isa<linalg::IndexOp, tensor::ExtractOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return !places.wasInterrupted();
}

/// Values made at one place in the code, by what they are.
using Key = std::pair<void *, std::vector<std::pair<void *, bool>>>;

class KernelEmitter {
public:
  KernelEmitter(OpBuilder &builder, nn::FusionOp fusion, ArrayRef<int64_t> tied)
      : builder(builder), loc(fusion.getLoc()), fusion(fusion), tied(tied), body(fusion) {
    isFlat = isElementwise(fusion);
  }

  FailureOr<func::FuncOp> emit(StringRef name) {
    SmallVector<Type> types;
    for (auto [index, argument] : llvm::enumerate(body.arguments))
      if (!llvm::is_contained(tied, static_cast<int64_t>(index)))
        types.push_back(memrefOf(argument));
    for (Value result : body.results)
      types.push_back(memrefOf(result));
    auto function = builder.create<func::FuncOp>(loc, name, builder.getFunctionType(types, {}));
    OpBuilder::InsertionGuard guard(builder);
    Block *block = function.addEntryBlock();
    builder.setInsertionPointToEnd(block);
    bindArguments(block);
    scopes.emplace_back();
    emitNests();
    builder.create<func::ReturnOp>(loc);
    if (failed)
      return failure();
    return function;
  }

private:
  //===--------------------------------------------------------------------===//
  // Arguments
  //===--------------------------------------------------------------------===//

  MemRefType memrefOf(Value tensor) {
    RankedTensorType type = typeOf(tensor);
    if (isFlat && type.getRank() > 0)
      return MemRefType::get({type.getNumElements()}, type.getElementType());
    if (type.getNumElements() == 0) { // never touched; strides of 0 would not lower
      SmallVector<int64_t> shape(type.getRank(), 1);
      shape.front() = 0;
      return MemRefType::get(shape, type.getElementType());
    }
    return MemRefType::get(type.getShape(), type.getElementType());
  }

  void bindArguments(Block *block) {
    unsigned next = 0;
    for (auto [index, argument] : llvm::enumerate(body.arguments))
      if (!llvm::is_contained(tied, static_cast<int64_t>(index)))
        memory[argument] = block->getArgument(next++);
    for (auto [index, result] : llvm::enumerate(body.results)) {
      Value target = block->getArgument(next++);
      targets.push_back(target);
      if (tied[index] >= 0)
        memory[body.arguments[tied[index]]] = target;
    }
  }

  //===--------------------------------------------------------------------===//
  // Nests: one per shape of results
  //===--------------------------------------------------------------------===//

  void emitNests() {
    std::vector<bool> done(body.results.size(), false);
    // Elementwise results first: reductions then load what these stored.
    for (bool reductions : {false, true})
      for (size_t first = 0; first < body.results.size(); ++first) {
        if (done[first] || reductionOf(body.results[first]) != reductions)
          continue;
        SmallVector<size_t> members;
        for (size_t other = first; other < body.results.size(); ++other)
          if (!done[other] && reductionOf(body.results[other]) == reductions &&
              typeOf(body.results[other]).getShape() == typeOf(body.results[first]).getShape() &&
              (!reductions || other == first)) {
            members.push_back(other);
            done[other] = true;
          }
        emitNest(members, reductions);
        for (size_t member : members)
          memory[body.results[member]] = targets[member];
      }
  }

  static bool reductionOf(Value result) {
    auto generic = result.getDefiningOp<linalg::GenericOp>();
    return generic && isReduction(generic);
  }

  /// Columns are computed side by side when the reduction's innermost loop is one of the result's.
  static bool isColumnReduction(Value result) {
    auto generic = result.getDefiningOp<linalg::GenericOp>();
    return generic && isReduction(generic) && typeOf(result).getRank() > 0 &&
           generic.getIteratorTypesArray().back() == utils::IteratorType::parallel && !usesPlaces(result);
  }

  void emitNest(ArrayRef<size_t> members, bool reductions) {
    RankedTensorType type = typeOf(body.results[members.front()]);
    SmallVector<int64_t> extents(type.getShape());
    if (isFlat && type.getRank() > 0)
      extents = {type.getNumElements()};
    if (reductions && isColumnReduction(body.results[members.front()])) {
      emitColumns(members.front(), extents);
      return;
    }
    SmallVector<Index> indices;
    emitLoops(extents, 0, indices, members);
  }

  void emitLoops(ArrayRef<int64_t> extents, size_t depth, SmallVector<Index> &indices, ArrayRef<size_t> members) {
    if (depth + 1 >= extents.size()) // what does not change in the innermost loop is computed before it
      for (size_t member : members)
        hoist(body.results[member], symbolic(indices, extents.size()));
    if (depth == extents.size()) {
      SmallVector<Value> values;
      for (size_t member : members)
        values.push_back(evaluate(body.results[member], indices));
      for (auto [member, value] : llvm::zip(members, values)) // after all loads: a target may be an operand's memory
        builder.create<memref::StoreOp>(loc, value, targets[member], bases(indices));
      return;
    }
    loop(0, extents[depth], 1, {}, [&](Value iv, ValueRange) {
      indices.push_back({iv, false});
      emitLoops(extents, depth + 1, indices, members);
      indices.pop_back();
      return SmallVector<Value>();
    });
  }

  void emitColumns(size_t member, ArrayRef<int64_t> extents) {
    SmallVector<Index> indices;
    std::function<void(size_t)> outer = [&](size_t depth) {
      if (depth + 1 < extents.size()) {
        loop(0, extents[depth], 1, {}, [&](Value iv, ValueRange) {
          indices.push_back({iv, false});
          outer(depth + 1);
          indices.pop_back();
          return SmallVector<Value>();
        });
        return;
      }
      forLanes(extents[depth], {}, [&](Index column, ValueRange) {
        indices.push_back(column);
        Value value = evaluate(body.results[member], indices);
        if (mask)
          builder.create<vector::MaskedStoreOp>(loc, targets[member], bases(indices), mask, value);
        else
          builder.create<vector::StoreOp>(loc, value, targets[member], bases(indices));
        indices.pop_back();
        return SmallVector<Value>();
      });
    };
    outer(0);
  }

  //===--------------------------------------------------------------------===//
  // Loops
  //===--------------------------------------------------------------------===//

  Value indexConstant(int64_t value) { return builder.create<arith::ConstantIndexOp>(loc, value); }

  using Body = function_ref<SmallVector<Value>(Value, ValueRange)>;

  /// for (iv = begin; iv < end; iv += step); what the body gives is carried. Values made inside are known inside only.
  SmallVector<Value> loop(int64_t begin, int64_t end, int64_t step, ValueRange carried, Body body) {
    auto op = builder.create<scf::ForOp>(loc, indexConstant(begin), indexConstant(end), indexConstant(step), carried);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(op.getBody());
    scopes.emplace_back();
    SmallVector<Value> next = body(op.getInductionVar(), op.getRegionIterArgs());
    scopes.pop_back();
    if (!carried.empty())
      builder.create<scf::YieldOp>(loc, next);
    return op.getResults();
  }

  using LaneBody = function_ref<SmallVector<Value>(Index, ValueRange)>;

  /// [0, extent) by kLanes; the rest under a mask.
  SmallVector<Value> forLanes(int64_t extent, ValueRange carried, LaneBody body) {
    int64_t whole = extent / kLanes * kLanes;
    SmallVector<Value> values(carried);
    lanes = true;
    if (whole > 0)
      values = loop(0, whole, kLanes, values, [&](Value iv, ValueRange args) { return body({iv, true}, args); });
    if (whole < extent) {
      auto maskType = VectorType::get({kLanes}, builder.getI1Type());
      SmallVector<bool> active(kLanes);
      for (int64_t lane = 0; lane < kLanes; ++lane)
        active[lane] = lane < extent - whole;
      mask = builder.create<arith::ConstantOp>(loc, DenseElementsAttr::get(maskType, active));
      scopes.emplace_back();
      values = body({indexConstant(whole), true}, values);
      scopes.pop_back();
      mask = {};
    }
    lanes = false;
    return values;
  }

  static SmallVector<Value> bases(ArrayRef<Index> indices) {
    return llvm::to_vector(llvm::map_range(indices, [](const Index &index) { return index.base; }));
  }

  //===--------------------------------------------------------------------===//
  // Elements
  //===--------------------------------------------------------------------===//

  Type laneType(Type element) { return lanes ? VectorType::get({kLanes}, element) : element; }

  Value splat(Value scalar) {
    if (!lanes || isa<VectorType>(scalar.getType()))
      return scalar;
    return builder.create<vector::BroadcastOp>(loc, VectorType::get({kLanes}, scalar.getType()), scalar);
  }

  /// The element of `tensor` at `indices`; in lanes, kLanes of them.
  Value evaluate(Value tensor, ArrayRef<Index> indices) {
    Key key{tensor.getAsOpaquePointer(), {}};
    bool varies = false;
    for (const Index &index : indices) {
      key.second.emplace_back(keyOf(index.base), index.isLane);
      varies |= index.isLane;
    }
    key.second.emplace_back(nullptr, lanes && varies && mask);
    for (auto &scope : llvm::reverse(scopes))
      if (auto known = scope.find(key); known != scope.end())
        return splat(known->second);
    Value value = compute(tensor, indices);
    scopes.back()[key] = value;
    return splat(value);
  }

  /// Constants of one value are one index.
  void *keyOf(Value index) {
    if (auto constant = index.getDefiningOp<arith::ConstantIndexOp>())
      return constant.getValueAttr().getAsOpaquePointer()
                 ? const_cast<void *>(constant.getValueAttr().getAsOpaquePointer())
                 : nullptr;
    return index.getAsOpaquePointer();
  }

  Value compute(Value tensor, ArrayRef<Index> indices) {
    if (Value source = memory.lookup(tensor))
      return load(source, indices);
    Operation *producer = tensor.getDefiningOp();
    if (auto fill = dyn_cast_or_null<linalg::FillOp>(producer))
      return constantOf(fill.getInputs().front());
    auto generic = dyn_cast_or_null<linalg::GenericOp>(producer);
    if (!generic) {
      fusion.emitOpError() << "holds an op whose linalg definition is neither linalg.generic nor linalg.fill";
      failed = true;
      return constantOf({}, typeOf(tensor).getElementType());
    }
    return isReduction(generic) ? reduce(generic, indices) : computeParallel(generic, indices);
  }

  Value load(Value source, ArrayRef<Index> indices) {
    auto element = cast<MemRefType>(source.getType()).getElementType();
    bool isLane = llvm::any_of(indices, [](const Index &index) { return index.isLane; });
    if (!isLane)
      return builder.create<memref::LoadOp>(loc, source, bases(indices));
    if (!indices.back().isLane)
      return gatherLanes(source, indices, element);
    auto type = VectorType::get({kLanes}, element);
    if (!mask)
      return builder.create<vector::LoadOp>(loc, type, source, bases(indices));
    Value zero = builder.create<arith::ConstantOp>(loc, builder.getZeroAttr(type));
    return builder.create<vector::MaskedLoadOp>(loc, type, source, bases(indices), mask, zero);
  }

  /// Lanes along a dimension that is not the innermost: one load each; lanes that are masked off load the first one's.
  Value gatherLanes(Value source, ArrayRef<Index> indices, Type element) {
    auto type = VectorType::get({kLanes}, element);
    Value result = builder.create<arith::ConstantOp>(loc, builder.getZeroAttr(type));
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      SmallVector<Value> at;
      for (const Index &index : indices)
        at.push_back(index.isLane ? laneIndex(index.base, lane) : index.base);
      Value scalar = builder.create<memref::LoadOp>(loc, source, at);
      result = builder.create<vector::InsertElementOp>(loc, scalar, result, indexConstant(lane));
    }
    return result;
  }

  Value laneIndex(Value base, int64_t lane) {
    Value index = builder.create<arith::AddIOp>(loc, base, indexConstant(lane));
    if (!mask)
      return index;
    Value active = builder.create<vector::ExtractElementOp>(loc, mask, indexConstant(lane));
    return builder.create<arith::SelectOp>(loc, active, index, base);
  }

  Value constantOf(Value scalar, Type type = {}) {
    if (!scalar)
      return nn::scalarConstant(builder, loc, type, 0.0);
    return builder.clone(*scalar.getDefiningOp())->getResult(0);
  }

  /// Indices of an operand, from those of the generic's loops.
  SmallVector<Index> apply(AffineMap map, ArrayRef<Index> loops) {
    SmallVector<Index> result;
    if (isFlat)
      return map.getNumResults() == 0 ? result : SmallVector<Index>(loops);
    for (AffineExpr expr : map.getResults()) {
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        result.push_back(loops[dim.getPosition()]);
      else
        result.push_back({indexConstant(cast<AffineConstantExpr>(expr).getValue()), false});
    }
    return result;
  }

  Value computeParallel(linalg::GenericOp generic, ArrayRef<Index> indices) {
    SmallVector<Value> arguments;
    for (OpOperand *input : generic.getDpsInputOperands())
      arguments.push_back(evaluate(input->get(), apply(generic.getMatchingIndexingMap(input), indices)));
    if (!generic.getRegionOutputArgs().front().use_empty()) // a reduction over no dimension
      arguments.push_back(evaluate(generic.getDpsInits().front(), indices));
    return inlineBody(generic, arguments, indices);
  }

  /// The body on scalars, or on vectors of lanes.
  Value inlineBody(linalg::GenericOp generic, ValueRange arguments, ArrayRef<Index> loops) {
    IRMapping map;
    for (auto [argument, value] : llvm::zip(generic.getBody()->getArguments(), arguments))
      map.map(argument, value);
    for (Operation &op : generic.getBody()->without_terminator())
      map.map(op.getResult(0), inlineOp(&op, map, loops));
    return splat(mapped(generic.getBody()->getTerminator()->getOperand(0), map));
  }

  Value mapped(Value value, IRMapping &map) {
    if (Value known = map.lookupOrNull(value))
      return known;
    Value constant = splat(constantOf(value)); // of outside the body
    map.map(value, constant);
    return constant;
  }

  Value inlineOp(Operation *op, IRMapping &map, ArrayRef<Index> loops) {
    if (auto index = dyn_cast<linalg::IndexOp>(op))
      return loopIndex(loops[index.getDim()]);
    if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
      SmallVector<Index> at;
      for (Value index : extract.getIndices())
        at.push_back({mapped(index, map), false});
      return evaluate(extract.getTensor(), at);
    }
    if (isa<arith::ConstantOp>(op))
      return splat(builder.clone(*op)->getResult(0));
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(mapped(operand, map));
    OperationState state(loc, op->getName(), operands, laneType(op->getResult(0).getType()), op->getAttrs());
    return builder.create(state)->getResult(0);
  }

  Value loopIndex(const Index &index) {
    if (!lanes)
      return index.base;
    Value base = splat(index.base);
    if (!index.isLane)
      return base;
    SmallVector<int64_t> steps;
    for (int64_t lane = 0; lane < kLanes; ++lane)
      steps.push_back(lane);
    auto type = VectorType::get({kLanes}, builder.getIndexType());
    Value step = builder.create<arith::ConstantOp>(loc, DenseIntElementsAttr::get(type, steps));
    return builder.create<arith::AddIOp>(loc, base, step);
  }

  //===--------------------------------------------------------------------===//
  // Reductions
  //===--------------------------------------------------------------------===//

  /// Whether computing the tensor reads others at computed places, which lanes cannot.
  static bool usesPlaces(Value tensor) {
    auto generic = tensor.getDefiningOp<linalg::GenericOp>();
    if (!generic)
      return false;
    WalkResult places = generic.getBody()->walk([](tensor::ExtractOp) { return WalkResult::interrupt(); });
    return places.wasInterrupted() ||
           llvm::any_of(generic.getDpsInputs(), [](Value input) { return usesPlaces(input); });
  }

  Value reduce(linalg::GenericOp generic, ArrayRef<Index> indices) {
    SmallVector<Index> loops(generic.getNumLoops());
    AffineMap result = generic.getMatchingIndexingMap(generic.getDpsInitOperand(0));
    for (auto [index, expr] : llvm::zip(indices, result.getResults()))
      loops[cast<AffineDimExpr>(expr).getPosition()] = index;
    SmallVector<unsigned> dims;
    generic.getReductionDims(dims);
    for (OpOperand *input : generic.getDpsInputOperands())
      hoist(input->get(), operandPlaces(generic, input, loops));
    Value start = constantOf(generic.getDpsInits().front().getDefiningOp<linalg::FillOp>().getInputs().front());
    bool inColumns = lanes; // the caller's lanes are columns, each with its own sum
    bool byRows = !inColumns && dims.back() + 1 == generic.getNumLoops() && !usesPlaces(generic.getResult(0));
    if (byRows) {
      lanes = true;
      start = splat(start);
      lanes = false;
    }
    Value total = reduceDims(generic, loops, dims, splat(start), byRows);
    return byRows ? addLanes(generic, total) : total;
  }

  Value reduceDims(linalg::GenericOp generic, SmallVector<Index> &loops, ArrayRef<unsigned> dims, Value sum,
                   bool byRows) {
    int64_t extent = generic.getStaticLoopRanges()[dims.front()];
    auto step = [&](Index index, ValueRange carried) -> SmallVector<Value> {
      loops[dims.front()] = index;
      if (dims.size() > 1)
        return {reduceDims(generic, loops, dims.drop_front(), carried.front(), byRows)};
      return {accumulate(generic, loops, carried.front())};
    };
    if (byRows && dims.size() == 1)
      return forLanes(extent, sum, step).front();
    return loop(0, extent, 1, sum, [&](Value iv, ValueRange carried) { return step({iv, false}, carried); }).front();
  }

  Value accumulate(linalg::GenericOp generic, ArrayRef<Index> loops, Value sum) {
    SmallVector<Value> arguments;
    for (OpOperand *input : generic.getDpsInputOperands())
      arguments.push_back(evaluate(input->get(), apply(generic.getMatchingIndexingMap(input), loops)));
    arguments.push_back(sum);
    Value next = inlineBody(generic, arguments, loops);
    bool variesByLane = llvm::any_of(loops, [](const Index &index) { return index.isLane; });
    if (mask && variesByLane) // lanes that are masked off add nothing
      return builder.create<arith::SelectOp>(loc, mask, next, sum);
    return next;
  }

  /// Adds 16 lanes to 8, 8 to 4, 4 to 2, 2 to 1, with the op that the body combines with.
  Value addLanes(linalg::GenericOp generic, Value sum) {
    Operation *combiner = generic.getBody()->getTerminator()->getOperand(0).getDefiningOp();
    Type element = cast<VectorType>(sum.getType()).getElementType();
    auto combine = [&](Value a, Value b) {
      OperationState state(loc, combiner->getName(), {a, b}, a.getType(), combiner->getAttrs());
      return builder.create(state)->getResult(0);
    };
    for (int64_t width = kLanes / 2; width > 1; width /= 2) {
      Value low = builder.create<vector::ExtractStridedSliceOp>(loc, sum, ArrayRef<int64_t>{0},
                                                                ArrayRef<int64_t>{width}, ArrayRef<int64_t>{1});
      Value high = builder.create<vector::ExtractStridedSliceOp>(loc, sum, ArrayRef<int64_t>{width},
                                                                 ArrayRef<int64_t>{width}, ArrayRef<int64_t>{1});
      sum = combine(low, high);
    }
    (void)element;
    return combine(builder.create<vector::ExtractElementOp>(loc, sum, indexConstant(0)),
                   builder.create<vector::ExtractElementOp>(loc, sum, indexConstant(1)));
  }

  //===--------------------------------------------------------------------===//
  // Hoisting: reductions that do not change in a loop are computed before it
  //===--------------------------------------------------------------------===//

  /// Places that are known here; nothing where they depend on a loop that is yet to come.
  using Places = SmallVector<std::optional<Index>>;

  static Places symbolic(ArrayRef<Index> known, size_t rank) {
    Places places(known.begin(), known.end());
    places.resize(rank);
    return places;
  }

  Places operandPlaces(linalg::GenericOp generic, OpOperand *input, ArrayRef<Index> loops) {
    Places places;
    for (const Index &index : loops)
      places.push_back(index.base ? std::optional<Index>(index) : std::nullopt);
    return applyPlaces(generic.getMatchingIndexingMap(input), places);
  }

  Places applyPlaces(AffineMap map, const Places &loops) {
    Places result;
    if (isFlat)
      return map.getNumResults() == 0 ? result : loops;
    for (AffineExpr expr : map.getResults()) {
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        result.push_back(loops[dim.getPosition()]);
      else
        result.push_back(Index{indexConstant(cast<AffineConstantExpr>(expr).getValue()), false});
    }
    return result;
  }

  void hoist(Value tensor, const Places &places) {
    auto generic = tensor.getDefiningOp<linalg::GenericOp>();
    if (!generic || memory.lookup(tensor))
      return;
    if (isReduction(generic)) {
      SmallVector<Index> indices;
      for (const std::optional<Index> &place : places) {
        if (!place)
          return;
        indices.push_back(*place);
      }
      evaluate(tensor, indices);
      return;
    }
    for (OpOperand *input : generic.getDpsInputOperands())
      hoist(input->get(), applyPlaces(generic.getMatchingIndexingMap(input), places));
  }

  OpBuilder &builder;
  Location loc;
  nn::FusionOp fusion;
  ArrayRef<int64_t> tied;
  LinalgBody body;
  bool isFlat = false; ///< all dimensions as one
  DenseMap<Value, Value> memory;
  SmallVector<Value> targets;
  std::vector<std::map<Key, Value>> scopes;
  bool lanes = false; ///< values are vectors of kLanes
  Value mask;         ///< of the lanes that count; null: all
  bool failed = false;
};

} // namespace

bool isElementwise(nn::FusionOp fusion) {
  LinalgBody body(fusion);
  bool result = true;
  body.module->walk([&](Operation *op) {
    if (auto generic = dyn_cast<linalg::GenericOp>(op))
      result &= isPointwise(generic);
    result &= !isa<tensor::ReshapeOp>(op);
  });
  ArrayRef<int64_t> shape;
  for (Value value : llvm::concat<Value>(body.arguments, body.results)) {
    if (typeOf(value).getRank() == 0)
      continue;
    result &= shape.empty() || shape == typeOf(value).getShape();
    shape = typeOf(value).getShape();
  }
  for (Value value : body.results)
    result &= typeOf(value).getShape() == shape;
  return result;
}

FailureOr<func::FuncOp> emitKernel(OpBuilder &builder, StringRef name, nn::FusionOp fusion, ArrayRef<int64_t> tied) {
  return KernelEmitter(builder, fusion, tied).emit(name);
}

} // namespace splitcast
