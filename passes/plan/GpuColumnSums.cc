#include "passes/plan/GpuColumnSums.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <utility>

using namespace mlir;

namespace splitcast {

namespace {

/// Sums that are not split, and sums of parts. A block has few columns (in f32 a
/// sector of memory), so that there are many blocks, and many threads per
/// column, so that enough loads are under way to cover the latency of memory.
constexpr int64_t kColumns = 8, kColumnWarps = 32, kRowSets = kColumnWarps * (kWarp / kColumns);
/// Sums over fewer elements are not split.
constexpr int64_t kLeastSplit = int64_t{1} << 16;
/// The sums that one launch makes: more would not fit into a thread's registers.
constexpr size_t kMostTogether = 8;

ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

Type elementOf(linalg::GenericOp sum) { return cast<RankedTensorType>(sum.getResult(0).getType()).getElementType(); }

/// Returns the parts into which a sum is split; none if it is not.
SplitSums partsOf(linalg::GenericOp sum) {
  SplitSums parts;
  parts.rows = addendsOf(sum);
  parts.width = shapeOf(sum.getResult(0)).front();
  if (parts.width == 0 || parts.width % kColumnLanes != 0 || parts.rows * parts.width < kLeastSplit)
    return parts;
  const int64_t vectors = parts.width / kColumnLanes;
  parts.columnThreads = std::min<int64_t>(kWarp, llvm::PowerOf2Ceil(vectors));
  const int64_t most = (kDeviceBlocks + parts.tiles() - 1) / parts.tiles();
  const int64_t rowsAtOnce = parts.rowsAtOnce() * kAddendsAtOnce, steps = (parts.rows + rowsAtOnce - 1) / rowsAtOnce;
  parts.rowsPerPart = (steps + most - 1) / most * rowsAtOnce;
  parts.parts = (parts.rows + parts.rowsPerPart - 1) / parts.rowsPerPart;
  return parts;
}

} // namespace

bool isColumnSum(Value result) {
  linalg::GenericOp sum = reductionOf(result);
  return sum && !usesPlaces(result) && shapeOf(result).size() == 1 && sum.getNumParallelLoops() == 1 &&
         sum.getIteratorTypesArray().back() == utils::IteratorType::parallel;
}

bool isSumOfElements(Value result) {
  return isColumnSum(result) && llvm::none_of(reductionOf(result).getDpsInputs(), containsReduction);
}

std::vector<SplitSums> splitSums(const LinalgBody &body, ArrayRef<size_t> candidates) {
  std::vector<SplitSums> found;
  SmallVector<int64_t> loops; // of the last group
  int64_t offset = 0;
  for (size_t result : candidates) {
    if (!isSumOfElements(body.results[result]))
      continue;
    linalg::GenericOp sum = reductionOf(body.results[result]);
    SplitSums parts = partsOf(sum);
    if (isExactSum(sum) || parts.parts < 2 || !elementOf(sum).isF32())
      continue;
    if (found.empty() || sum.getStaticLoopRanges() != loops || found.back().results.size() == kMostTogether) {
      parts.offset = offset;
      found.push_back(std::move(parts));
      loops = sum.getStaticLoopRanges();
    }
    found.back().results.push_back(result);
    offset = found.back().offset + found.back().elements();
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Split sums
//===----------------------------------------------------------------------===//

void GpuColumnSums::emitSplitSums(const SplitSums &sums, Value workspace) {
  launch(sums.tiles() * sums.parts, kThreads / kWarp, sharedArray({kThreads * kColumnLanes}, elementTypeOf(sums)),
         [&](const Ids &ids) {
           const int64_t before = std::exchange(laneCount, kColumnLanes);
           emitPart(sums, workspace, ids);
           laneCount = before;
         });
  launch(sums.slots() / kColumns, kColumnWarps, sharedArray({kColumnWarps, kColumns}, elementTypeOf(sums)),
         [&](const Ids &ids) { addPartsOf(sums, workspace, ids); });
}

Type GpuColumnSums::elementTypeOf(const SplitSums &sums) {
  return elementOf(reductionOf(body.results[sums.results.front()]));
}

/// Emits a block of the first launch: of one part of the rows and one tile of
/// the columns.
void GpuColumnSums::emitPart(const SplitSums &sums, Value workspace, const Ids &ids) {
  SmallVector<linalg::GenericOp> generics;
  for (size_t result : sums.results)
    generics.push_back(reductionOf(body.results[result]));
  Value thread = add(times(ids.warp, kWarp), ids.thread);
  Value part = quotient(ids.block, sums.tiles()), tile = rest(ids.block, sums.tiles());
  Value vector = add(times(tile, sums.columnThreads), rest(thread, sums.columnThreads));
  Value last = indexConstant(sums.width / kColumnLanes - 1); // all threads reach the barrier
  Value column = times(builder.create<arith::MinUIOp>(loc, vector, last), kColumnLanes);
  Value begin = times(part, sums.rowsPerPart), end = add(begin, indexConstant(sums.rowsPerPart));
  const bool areWhole = sums.rows % sums.rowsPerPart == 0;
  if (!areWhole)
    end = builder.create<arith::MinUIOp>(loc, end, indexConstant(sums.rows));
  Value first = add(begin, quotient(thread, sums.columnThreads));
  lanes = true;
  const SmallVector<Value> ofThread = addEvery(generics, {{column, true}}, {first, end, sums.rowsAtOnce(), areWhole});
  lanes = false;
  for (auto [number, sum] : llvm::enumerate(ofThread)) {
    if (number > 0)
      builder.create<gpu::BarrierOp>(loc); // the sum before uses the same memory
    storePart(sums, number, sum, workspace, ids);
  }
}

/// Emits the sum of a part over the threads of the block, in the order of their
/// rows. In shared memory and in the workspace, the columns of a tile come lane
/// by lane, so that neighboring threads have neighboring elements.
void GpuColumnSums::storePart(const SplitSums &sums, size_t number, Value ofThread, Value workspace, const Ids &ids) {
  linalg::GenericOp generic = reductionOf(body.results[sums.results[number]]);
  Value thread = add(times(ids.warp, kWarp), ids.thread), shared = ids.shared.front();
  for (int64_t lane = 0; lane < kColumnLanes; ++lane)
    builder.create<memref::StoreOp>(loc, builder.create<vector::ExtractOp>(loc, ofThread, lane), shared,
                                    add(thread, indexConstant(lane * kThreads)));
  builder.create<gpu::BarrierOp>(loc);
  const auto addRows = [&] {
    Value lane = quotient(thread, sums.columnThreads), ofTile = rest(thread, sums.columnThreads);
    Value from = add(times(lane, kThreads), ofTile), total;
    for (int64_t row = 0; row < sums.rowsAtOnce(); ++row) {
      Value at = add(from, indexConstant(row * sums.columnThreads));
      Value one = builder.create<memref::LoadOp>(loc, shared, at);
      total = total ? combine(builder, loc, generic, total, one) : one;
    }
    // The block's number counts parts, and within these, tiles.
    Value slot = add(times(ids.block, sums.tileWidth()), thread);
    const int64_t offset = sums.offset + static_cast<int64_t>(number) * sums.parts * sums.slots();
    builder.create<memref::StoreOp>(loc, total, workspace, add(slot, indexConstant(offset)));
  };
  sums.tileWidth() == kThreads ? addRows() : emitIf(isBelow(thread, sums.tileWidth()), addRows);
}

/// Emits a block of the second launch: of kColumns slots of all sums.
void GpuColumnSums::addPartsOf(const SplitSums &sums, Value workspace, const Ids &ids) {
  Value slot = add(times(ids.block, kColumns), rest(ids.thread, kColumns));
  Value part = add(times(ids.warp, kWarp / kColumns), quotient(ids.thread, kColumns));
  Value ofTile = rest(slot, sums.tileWidth());
  Value vector = add(times(quotient(slot, sums.tileWidth()), sums.columnThreads), rest(ofTile, sums.columnThreads));
  Value column = add(times(vector, kColumnLanes), quotient(ofTile, sums.columnThreads));
  for (auto [number, result] : llvm::enumerate(sums.results)) {
    if (number > 0)
      builder.create<gpu::BarrierOp>(loc); // the sum before uses the same memory
    linalg::GenericOp generic = reductionOf(body.results[result]);
    const int64_t offset = sums.offset + static_cast<int64_t>(number) * sums.parts * sums.slots();
    Value own; // of every kRowSets-th part
    for (int64_t from = 0; from < sums.parts; from += kRowSets) {
      Value at = add(add(times(part, sums.slots()), slot), indexConstant(offset + from * sums.slots()));
      auto load = [&]() -> Value { return builder.create<memref::LoadOp>(loc, workspace, at); };
      const bool isWhole = from + kRowSets <= sums.parts;
      Value partial = isWhole ? load() : valueIf(isBelow(part, sums.parts - from), load, startOf(generic));
      own = own ? combine(builder, loc, generic, own, partial) : partial;
    }
    addBlock(generic, own, ids, [&, result = result](Value total) {
      auto store = [&] { storeResult(result, column, total); };
      sums.slots() == sums.width ? store() : emitIf(isBelow(column, sums.width), store);
    });
  }
}

Value GpuColumnSums::valueIf(Value condition, function_ref<Value()> then, Value otherwise) {
  auto op = builder.create<scf::IfOp>(loc, TypeRange(otherwise.getType()), condition, true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(op.thenBlock());
  builder.create<scf::YieldOp>(loc, then());
  builder.setInsertionPointToStart(op.elseBlock());
  builder.create<scf::YieldOp>(loc, otherwise);
  return op.getResult(0);
}

//===----------------------------------------------------------------------===//
// Sums of a block
//===----------------------------------------------------------------------===//

void GpuColumnSums::emitWholeSum(size_t result) {
  linalg::GenericOp generic = reductionOf(body.results[result]);
  const int64_t width = shapeOf(body.results[result]).front(), rows = addendsOf(generic);
  launch((width + kColumns - 1) / kColumns, kColumnWarps, sharedArray({kColumnWarps, kColumns}, elementOf(generic)),
         [&](const Ids &ids) {
           Value column = add(times(ids.block, kColumns), rest(ids.thread, kColumns));
           Value inside =
               builder.create<arith::MinUIOp>(loc, column, indexConstant(width - 1)); // all reach the barrier
           Value first = add(times(ids.warp, kWarp / kColumns), quotient(ids.thread, kColumns));
           const Addends addends{first, indexConstant(rows), kRowSets, rows % (kRowSets * kAddendsAtOnce) == 0};
           addBlock(generic, addEvery(generic, {{inside, false}}, addends).front(), ids,
                    [&](Value total) { emitIf(isBelow(column, width), [&] { storeResult(result, column, total); }); });
         });
}

/// Emits the sum of the threads of a column: of each warp by shuffles, then of
/// the warps. One thread per column gives it to `store`.
void GpuColumnSums::addBlock(linalg::GenericOp generic, Value ofThread, const Ids &ids,
                             function_ref<void(Value)> store) {
  Value shared = ids.shared.front(), column = rest(ids.thread, kColumns), part = quotient(ids.thread, kColumns);
  Value sum = addWarp(generic, ofThread, kColumns), isFirstPart = isEqual(part, 0);
  emitIf(isFirstPart, [&] { builder.create<memref::StoreOp>(loc, sum, shared, ValueRange{ids.warp, column}); });
  builder.create<gpu::BarrierOp>(loc);
  emitIf(isEqual(ids.warp, 0), [&] {
    Value total; // of the warps that this part of the first warp adds
    for (int64_t warp = 0; warp < kColumnWarps; warp += kWarp / kColumns) {
      Value one = builder.create<memref::LoadOp>(loc, shared, ValueRange{add(part, indexConstant(warp)), column});
      total = total ? combine(builder, loc, generic, total, one) : one;
    }
    total = addWarp(generic, total, kColumns);
    emitIf(isFirstPart, [&] { store(total); });
  });
}

/// Emits a result whose sum is known.
void GpuColumnSums::storeResult(size_t result, Value column, Value total) {
  const SmallVector<Index> place = {{column, false}};
  know(reductionOf(body.results[result]).getResult(0), place, total);
  builder.create<memref::StoreOp>(loc, evaluate(body.results[result], place), targets[result], column);
}

} // namespace splitcast
