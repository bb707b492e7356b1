// Emits an element of a tensor on demand, by inlining the definitions of the
// ops that make the tensor.
//
//   evaluate(t, [i]), where t = nn.mul %0, %0, %0 = nn.tanh %x, and %x is in
//   memory:
//     %1 = memref.load %x[i]    once: the second operand of mul is known already
//     %2 = math.tanh %1
//     %3 = arith.mulf %2, %2
//
// An element of a reduction is a loop over elements of its operand. If it does
// not change in the loops that follow, it is computed before them (hoist);
// reductions of the same length that do not need each other share a loop: a
// softmax computes its row's maximum, then its sum, then stores the elements.
// Values that are made in a loop are forgotten at its end.
#include "passes/plan/ElementEvaluator.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace splitcast {

ElementEvaluator::ElementEvaluator(OpBuilder &builder, Location loc, bool isFlat, int64_t laneCount)
    : builder(builder), loc(loc), isFlat(isFlat), laneCount(laneCount), scopes(1) {}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

Value ElementEvaluator::indexConstant(int64_t value) { return builder.create<arith::ConstantIndexOp>(loc, value); }

SmallVector<Value> ElementEvaluator::loop(Value begin, Value end, Value step, ValueRange carried, Body body) {
  auto op = builder.create<scf::ForOp>(loc, begin, end, step, carried);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(op.getBody());
  SmallVector<Value> next;
  scoped([&] { next = body(op.getInductionVar(), op.getRegionIterArgs()); });
  if (!carried.empty())
    builder.create<scf::YieldOp>(loc, next);
  return op.getResults();
}

SmallVector<Value> ElementEvaluator::loop(int64_t extent, ValueRange carried, Body body) {
  Value begin = indexConstant(0), end = indexConstant(extent), step = indexConstant(1);
  return loop(begin, end, step, carried, body);
}

SmallVector<Value> ElementEvaluator::loopOfBlock(const RowBlocks &blocks, Value block, int64_t extent,
                                                 ValueRange carried, Body body) {
  Value begin = builder.create<arith::MulIOp>(loc, block, indexConstant(blocks.size));
  Value end = builder.create<arith::AddIOp>(loc, begin, indexConstant(blocks.size));
  if (extent % blocks.size != 0)
    end = builder.create<arith::MinSIOp>(loc, end, indexConstant(extent));
  return loop(begin, end, indexConstant(1), carried, body);
}

SmallVector<Value> ElementEvaluator::bases(ArrayRef<Index> indices) {
  return llvm::to_vector(llvm::map_range(indices, [](const Index &index) { return index.base; }));
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Type ElementEvaluator::laneType(Type element) { return lanes ? VectorType::get({laneCount}, element) : element; }

Value ElementEvaluator::splat(Value scalar) {
  if (!lanes || isa<VectorType>(scalar.getType()))
    return scalar;
  return builder.create<vector::BroadcastOp>(loc, VectorType::get({laneCount}, scalar.getType()), scalar);
}

ElementEvaluator::Key ElementEvaluator::keyOf(Value tensor, ArrayRef<Index> indices) {
  Key key{tensor.getAsOpaquePointer(), {}};
  bool varies = false;
  for (const Index &index : indices) {
    auto constant = index.base.getDefiningOp<arith::ConstantIndexOp>(); // equal constants are the same index
    key.second.emplace_back(constant ? const_cast<void *>(constant.getValueAttr().getAsOpaquePointer())
                                     : index.base.getAsOpaquePointer(),
                            index.isLane);
    varies |= index.isLane;
  }
  key.second.emplace_back(nullptr, lanes && varies && mask);
  return key;
}

void ElementEvaluator::know(Value tensor, ArrayRef<Index> indices, Value value) {
  scopes.back()[keyOf(tensor, indices)] = value;
}

Value ElementEvaluator::known(const Key &key) {
  for (auto &scope : llvm::reverse(scopes))
    if (auto found = scope.find(key); found != scope.end())
      return found->second;
  return {};
}

Value ElementEvaluator::evaluate(Value tensor, ArrayRef<Index> indices) {
  Key key = keyOf(tensor, indices);
  if (Value value = known(key))
    return splat(value);
  // A value that is the same for all lanes is computed once, as a scalar: it
  // may be needed later outside of lanes, as a row's mean is when it is stored.
  const bool isOfLanes = llvm::any_of(indices, [](const Index &index) { return index.isLane; });
  const bool lanesBefore = lanes, betweenBefore = isBetweenLanes;
  const Value maskBefore = mask;
  if (!isOfLanes)
    isBetweenLanes |= lanes, lanes = false, mask = {};
  Value value = compute(tensor, indices);
  lanes = lanesBefore, mask = maskBefore, isBetweenLanes = betweenBefore;
  scopes.back()[key] = value;
  return splat(value);
}

Value ElementEvaluator::compute(Value tensor, ArrayRef<Index> indices) {
  if (Value source = memory.lookup(tensor))
    return load(source, indices);
  Operation *producer = tensor.getDefiningOp();
  if (auto fill = dyn_cast_or_null<linalg::FillOp>(producer))
    return constantOf(fill.getInputs().front());
  auto generic = dyn_cast_or_null<linalg::GenericOp>(producer);
  if (!generic) {
    error = "holds an op whose linalg definition is neither linalg.generic nor linalg.fill";
    return nn::scalarConstant(builder, loc, cast<RankedTensorType>(tensor.getType()).getElementType(), 0.0);
  }
  return isReduction(generic) ? reduce(generic, indices) : computeParallel(generic, indices);
}

Value ElementEvaluator::load(Value source, ArrayRef<Index> indices) {
  auto element = cast<MemRefType>(source.getType()).getElementType();
  bool isLane = llvm::any_of(indices, [](const Index &index) { return index.isLane; });
  if (!isLane)
    return builder.create<memref::LoadOp>(loc, source, bases(indices));
  if (!indices.back().isLane || element.isInteger(1)) // in memory an i1 takes a byte, in a vector a bit
    return gatherLanes(source, indices, element);
  auto type = VectorType::get({laneCount}, element);
  if (!mask)
    return builder.create<vector::LoadOp>(loc, type, source, bases(indices));
  Value zero = builder.create<arith::ConstantOp>(loc, builder.getZeroAttr(type));
  return builder.create<vector::MaskedLoadOp>(loc, type, source, bases(indices), mask, zero);
}

/// Loads lanes along a dimension that is not the innermost, one by one. Lanes
/// that are masked off load the element at index 0; they may be all lanes of a
/// thread.
Value ElementEvaluator::gatherLanes(Value source, ArrayRef<Index> indices, Type element) {
  auto type = VectorType::get({laneCount}, element);
  Value result = builder.create<arith::ConstantOp>(loc, builder.getZeroAttr(type));
  for (int64_t lane = 0; lane < laneCount; ++lane) {
    SmallVector<Value> at;
    for (const Index &index : indices)
      at.push_back(index.isLane ? laneIndex(index.base, lane) : index.base);
    Value scalar = builder.create<memref::LoadOp>(loc, source, at);
    result = builder.create<vector::InsertElementOp>(loc, scalar, result, indexConstant(lane));
  }
  return result;
}

Value ElementEvaluator::laneIndex(Value base, int64_t lane) {
  Value index = builder.create<arith::AddIOp>(loc, base, indexConstant(lane));
  if (!mask)
    return index;
  Value active = builder.create<vector::ExtractElementOp>(loc, mask, indexConstant(lane));
  return builder.create<arith::SelectOp>(loc, active, index, indexConstant(0));
}

Value ElementEvaluator::constantOf(Value scalar) { return builder.clone(*scalar.getDefiningOp())->getResult(0); }

/// Returns the indices of an operand at these indices of the generic's loops.
SmallVector<Index> ElementEvaluator::apply(AffineMap map, ArrayRef<Index> loops) {
  SmallVector<Index> result;
  if (isFlat)
    return map.getNumResults() == 0 ? result : SmallVector<Index>(loops);
  for (AffineExpr expr : map.getResults())
    result.push_back(*placeOf(expr, [&](unsigned dim) { return std::optional<Index>(loops[dim]); }));
  return result;
}

/// Returns the place that a dimension, a constant, or a dimension plus a constant is; none if its dimension has none.
std::optional<Index> ElementEvaluator::placeOf(AffineExpr expr, function_ref<std::optional<Index>(unsigned)> at) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return Index{indexConstant(constant.getValue()), false};
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return at(dim.getPosition());
  auto sum = cast<AffineBinaryOpExpr>(expr);
  std::optional<Index> place = at(cast<AffineDimExpr>(sum.getLHS()).getPosition());
  if (place)
    place->base = moved(place->base, cast<AffineConstantExpr>(sum.getRHS()).getValue());
  return place;
}

/// Returns `base` + `offset`: one value for all who ask, so that an element that several need is one.
Value ElementEvaluator::moved(Value base, int64_t offset) {
  const Key key{base.getAsOpaquePointer(), {{reinterpret_cast<void *>(offset), true}}};
  Value place = known(key);
  if (!place)
    scopes.back()[key] = place = builder.create<arith::AddIOp>(loc, base, indexConstant(offset));
  return place;
}

Value ElementEvaluator::computeParallel(linalg::GenericOp generic, ArrayRef<Index> indices) {
  SmallVector<Value> arguments;
  for (OpOperand *input : generic.getDpsInputOperands())
    arguments.push_back(evaluate(input->get(), apply(generic.getMatchingIndexingMap(input), indices)));
  if (!generic.getRegionOutputArgs().front().use_empty()) // it reduces over no dimension
    arguments.push_back(evaluate(generic.getDpsInits().front(), indices));
  return inlineBody(generic, arguments, indices);
}

/// Emits the body of a generic, on scalars or on vectors of lanes.
Value ElementEvaluator::inlineBody(linalg::GenericOp generic, ValueRange arguments, ArrayRef<Index> loops) {
  IRMapping map;
  for (auto [argument, value] : llvm::zip(generic.getBody()->getArguments(), arguments))
    map.map(argument, value);
  for (Operation &op : generic.getBody()->without_terminator())
    map.map(op.getResult(0), inlineOp(&op, map, loops));
  return splat(mapped(generic.getBody()->getTerminator()->getOperand(0), map));
}

Value ElementEvaluator::mapped(Value value, IRMapping &map) {
  if (Value known = map.lookupOrNull(value))
    return known;
  Value constant = splat(constantOf(value)); // it is defined outside the body
  map.map(value, constant);
  return constant;
}

Value ElementEvaluator::inlineOp(Operation *op, IRMapping &map, ArrayRef<Index> loops) {
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    return loopIndex(loops[index.getDim()]);
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    SmallVector<Index> at;
    for (auto [index, extent] : llvm::zip(extract.getIndices(), extract.getTensor().getType().getShape())) {
      Value place = mapped(index, map);
      at.push_back({index.getDefiningOp<linalg::IndexOp>() ? place : computedPlace(place, extent), false});
    }
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

Value ElementEvaluator::loopIndex(const Index &index) {
  if (!lanes)
    return index.base;
  Value base = splat(index.base);
  if (!index.isLane)
    return base;
  SmallVector<int64_t> steps;
  for (int64_t lane = 0; lane < laneCount; ++lane)
    steps.push_back(lane);
  auto type = VectorType::get({laneCount}, builder.getIndexType());
  Value step = builder.create<arith::ConstantOp>(loc, DenseIntElementsAttr::get(type, steps));
  return builder.create<arith::AddIOp>(loc, base, step);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Returns the indices of a generic's loops, of which those of its result are
/// `indices`. Reduced loops have none.
SmallVector<Index> ElementEvaluator::loopsOf(linalg::GenericOp generic, ArrayRef<Index> indices) {
  SmallVector<Index> loops(generic.getNumLoops());
  AffineMap result = generic.getMatchingIndexingMap(generic.getDpsInitOperand(0));
  for (auto [index, expr] : llvm::zip(indices, result.getResults()))
    loops[cast<AffineDimExpr>(expr).getPosition()] = index;
  return loops;
}

/// Whether the reduction runs in lanes along its innermost loop. It does not if
/// the caller's lanes are columns, each of which has its own sum, nor within a
/// walk in lanes, where threads may have diverged and each must reduce alone.
bool ElementEvaluator::isByRows(linalg::GenericOp generic) {
  return !lanes && !isBetweenLanes && generic.getIteratorTypesArray().back() == utils::IteratorType::reduction &&
         !usesPlaces(generic.getResult(0));
}

Value ElementEvaluator::startOf(linalg::GenericOp generic, bool inLanes) {
  const bool before = lanes;
  lanes = inLanes;
  Value start = splat(constantOf(generic.getDpsInits().front().getDefiningOp<linalg::FillOp>().getInputs().front()));
  lanes = before;
  return start;
}

Value ElementEvaluator::reduce(linalg::GenericOp generic, ArrayRef<Index> indices) {
  SmallVector<Index> loops = loopsOf(generic, indices);
  Places places;
  for (const Index &index : loops)
    places.push_back(index.base ? std::optional<Index>(index) : std::nullopt);
  SmallVector<std::pair<Value, Places>> inputs;
  for (OpOperand *input : generic.getDpsInputOperands())
    inputs.emplace_back(input->get(), operandPlaces(generic, input, places));
  hoist(inputs);
  const Walk walk = walkOf(generic);
  Value total = reduceDims(generic, loops, walk, 0, startOf(generic, lanes || walk.byRows));
  return walk.byRows ? addLanes(generic, total) : total;
}

ElementEvaluator::Walk ElementEvaluator::walkOf(linalg::GenericOp generic) {
  Walk walk{{}, isByRows(generic), std::nullopt};
  generic.getReductionDims(walk.dims);
  SmallVector<int64_t> extents;
  for (unsigned dim : walk.dims)
    extents.push_back(generic.getStaticLoopRanges()[dim]);
  if (walk.byRows)
    extents.back() = vectorsOf(extents.back());
  if (addsUp(generic))
    walk.blocks = rowBlocksOf(extents);
  if (walk.blocks && walk.byRows && walk.blocks->dim + 1 == walk.dims.size() && !lanesAddBlocks())
    walk.blocks.reset();
  return walk;
}

Value ElementEvaluator::reduceDims(linalg::GenericOp generic, SmallVector<Index> &loops, const Walk &walk, size_t at,
                                   Value sum) {
  const unsigned dim = walk.dims[at];
  const int64_t extent = generic.getStaticLoopRanges()[dim];
  const bool isLast = at + 1 == walk.dims.size(), isBlocked = walk.blocks && walk.blocks->dim == at;
  auto step = [&](Index index, ValueRange carried) -> SmallVector<Value> {
    loops[dim] = index;
    return {isLast ? accumulate(generic, loops, carried.front())
                   : reduceDims(generic, loops, walk, at + 1, carried.front())};
  };
  if (walk.byRows && isLast)
    return alongRow(generic, extent, isBlocked ? walk.blocks->size : 0, sum, step).front();
  auto row = [&](Value iv, ValueRange carried) { return step({iv, false}, carried); };
  if (!isBlocked)
    return loop(extent, sum, row).front();
  auto block = [&](Value number, ValueRange total) -> SmallVector<Value> {
    Value start = startOf(generic, isa<VectorType>(sum.getType()));
    Value ofBlock = loopOfBlock(*walk.blocks, number, extent, start, row).front();
    return {combine(builder, loc, generic, total.front(), ofBlock)};
  };
  return loop(walk.blocks->perDim, sum, block).front();
}

/// Runs over a row in lanes, for all of these reductions. If `vectorsPerBlock`
/// is not 0, those that add up do so in blocks of so many vectors.
SmallVector<Value> ElementEvaluator::alongRow(ArrayRef<linalg::GenericOp> reductions, int64_t extent,
                                              int64_t vectorsPerBlock, ValueRange carried, LaneBody body) {
  if (vectorsPerBlock == 0)
    return forLanes(extent, carried, body);
  auto addBlock = [&](Value begin, int64_t elements, ValueRange totals) {
    SmallVector<Value> values(totals);
    for (auto [reduction, value] : llvm::zip(reductions, values))
      if (addsUp(reduction))
        value = startOf(reduction, /*inLanes=*/true);
    values = forLanes(elements, values, [&](Index index, ValueRange args) {
      return body({builder.create<arith::AddIOp>(loc, begin, index.base), index.isLane}, args);
    });
    for (auto [reduction, value, total] : llvm::zip(reductions, values, totals))
      if (addsUp(reduction))
        value = combine(builder, loc, reduction, total, value);
    return values;
  };
  const int64_t size = vectorsPerBlock * laneCount, whole = extent / size;
  SmallVector<Value> totals = loop(whole, carried, [&](Value number, ValueRange args) {
    return addBlock(builder.create<arith::MulIOp>(loc, number, indexConstant(size)), size, args);
  });
  if (whole * size < extent)
    scoped([&] { totals = addBlock(indexConstant(whole * size), extent - whole * size, totals); });
  return totals;
}

Value ElementEvaluator::accumulate(linalg::GenericOp generic, ArrayRef<Index> loops, Value sum) {
  SmallVector<Value> arguments;
  for (OpOperand *input : generic.getDpsInputOperands())
    arguments.push_back(evaluate(input->get(), apply(generic.getMatchingIndexingMap(input), loops)));
  arguments.push_back(sum);
  Value next = inlineBody(generic, arguments, loops);
  bool variesByLane = llvm::any_of(loops, [](const Index &index) { return index.isLane; });
  if (mask && variesByLane) // masked-off lanes keep their sum
    return builder.create<arith::SelectOp>(loc, mask, next, sum);
  return next;
}

Value ElementEvaluator::combine(OpBuilder &builder, Location loc, linalg::GenericOp generic, Value a, Value b) {
  Operation *combiner = generic.getBody()->getTerminator()->getOperand(0).getDefiningOp();
  OperationState state(loc, combiner->getName(), {a, b}, a.getType(), combiner->getAttrs());
  return builder.create(state)->getResult(0);
}

Value ElementEvaluator::foldLanes(linalg::GenericOp generic, Value sum) {
  auto slice = [&](int64_t offset, int64_t width) -> Value {
    return builder.create<vector::ExtractStridedSliceOp>(loc, sum, ArrayRef<int64_t>{offset}, ArrayRef<int64_t>{width},
                                                         ArrayRef<int64_t>{1});
  };
  for (int64_t width = laneCount / 2; width > 1; width /= 2)
    sum = combine(builder, loc, generic, slice(0, width), slice(width, width));
  return combine(builder, loc, generic, builder.create<vector::ExtractElementOp>(loc, sum, indexConstant(0)),
                 builder.create<vector::ExtractElementOp>(loc, sum, indexConstant(1)));
}

//===----------------------------------------------------------------------===//
// Hoisting
//===----------------------------------------------------------------------===//

ElementEvaluator::Places ElementEvaluator::symbolic(ArrayRef<Index> known, size_t rank) {
  Places places(known.begin(), known.end());
  places.resize(rank);
  return places;
}

ElementEvaluator::Places ElementEvaluator::operandPlaces(linalg::GenericOp generic, OpOperand *input,
                                                         const Places &loops) {
  AffineMap map = generic.getMatchingIndexingMap(input);
  Places result;
  if (isFlat)
    return map.getNumResults() == 0 ? result : loops;
  for (AffineExpr expr : map.getResults())
    result.push_back(placeOf(expr, [&](unsigned dim) { return loops[dim]; }));
  return result;
}

void ElementEvaluator::hoist(ArrayRef<std::pair<Value, Places>> tensors) {
  Collected collected;
  for (const auto &[tensor, places] : tensors)
    collect(tensor, places, collected);
  std::map<std::pair<int64_t, int64_t>, std::vector<Hoisted>> together; // by level, then by the length of the rows
  int64_t next = 0;
  for (const Hoisted &member : collected.hoisted) {
    linalg::GenericOp generic = member.generic;
    bool isAlongRow = generic.getNumReductionLoops() == 1 && isByRows(generic);
    together[{member.level, isAlongRow ? generic.getStaticLoopRanges().back() : --next}].push_back(member);
  }
  for (const auto &[key, members] : together)
    if (members.size() == 1)
      evaluate(linalg::GenericOp(members.front().generic)->getResult(0), members.front().indices);
    else
      reduceTogether(members);
}

ElementEvaluator::Key ElementEvaluator::keyOf(Value tensor, const Places &places) {
  SmallVector<Index> known;
  for (const std::optional<Index> &place : places)
    if (place)
      known.push_back(*place);
  Key key = keyOf(tensor, known);
  for (const std::optional<Index> &place : places) // marks the positions of the known indices
    key.second.emplace_back(nullptr, place.has_value());
  return key;
}

/// Collects the reductions that `tensor` needs and whose indices are known;
/// returns the highest of their levels. Each tensor is visited once per index.
int64_t ElementEvaluator::collect(Value tensor, const Places &places, Collected &collected) {
  const Key key = keyOf(tensor, places);
  auto found = collected.levels.find(key);
  if (found == collected.levels.end())
    found = collected.levels.emplace(key, collectNew(tensor, places, collected)).first;
  return found->second;
}

int64_t ElementEvaluator::collectNew(Value tensor, const Places &places, Collected &collected) {
  auto generic = tensor.getDefiningOp<linalg::GenericOp>();
  if (!generic || memory.lookup(tensor))
    return 0;
  Places loops = places;
  SmallVector<Index> indices;
  if (isReduction(generic)) {
    for (const std::optional<Index> &place : places) {
      if (!place)
        return 0;
      indices.push_back(*place);
    }
    if (known(keyOf(tensor, indices)))
      return 0;
    loops.assign(generic.getNumLoops(), std::nullopt);
    for (auto [position, index] : llvm::enumerate(loopsOf(generic, indices)))
      if (index.base)
        loops[position] = index;
  }
  int64_t level = 0;
  for (OpOperand *input : generic.getDpsInputOperands())
    level = std::max(level, collect(input->get(), operandPlaces(generic, input, loops), collected));
  if (!isReduction(generic))
    return level;
  collected.hoisted.push_back({generic, indices, level + 1});
  return level + 1;
}

/// Emits one loop for reductions along rows of the same length.
void ElementEvaluator::reduceTogether(ArrayRef<Hoisted> members) {
  SmallVector<linalg::GenericOp> reductions;
  SmallVector<Value> sums;
  for (const Hoisted &member : members) {
    reductions.push_back(member.generic);
    sums.push_back(startOf(member.generic, /*inLanes=*/true));
  }
  int64_t extent = reductions.front().getStaticLoopRanges().back();
  std::optional<RowBlocks> blocks = lanesAddBlocks() ? rowBlocksOf(vectorsOf(extent)) : std::nullopt;
  sums = alongRow(reductions, extent, blocks ? blocks->size : 0, sums, [&](Index index, ValueRange carried) {
    SmallVector<Value> next;
    for (auto [member, sum] : llvm::zip(members, carried)) {
      SmallVector<Index> loops = loopsOf(member.generic, member.indices);
      loops.back() = index;
      next.push_back(accumulate(member.generic, loops, sum));
    }
    return next;
  });
  for (auto [member, sum] : llvm::zip(members, sums)) {
    linalg::GenericOp generic = member.generic;
    Key key = keyOf(generic->getResult(0), member.indices);
    scopes.back()[key] = addLanes(generic, sum);
  }
}

} // namespace splitcast
