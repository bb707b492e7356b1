#include "passes/plan/GpuKernelEmitter.h"

#include "passes/plan/FusionEmitter.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace splitcast {

namespace {

constexpr int64_t kThreads = 256, kWarpsPerBlock = 4, kVectorBytes = 16;
/// A row of more elements than this is a block's, so that what all warps of a device have read of their rows stays near
/// until they read it again; a block then has as many warps.
constexpr int64_t kLongRow = 4096, kTeamWarps = 16;
/// Of a sum over rows. A block has few columns, in f32 as wide as a sector of memory, so that blocks are many; and many
/// threads for each, which together have more loads under way than memory takes time to answer.
constexpr int64_t kColumns = 8, kColumnWarps = 32, kRowSets = kColumnWarps * (kWarp / kColumns), kRowsAtOnce = 4;
/// Elements side by side in a thread: 16 bytes of f32. One number for all types, so that the order of a sum along a row
/// does not depend on what else its kernel makes. Where there is no sum, and nothing but small floats, 16 bytes of
/// these.
constexpr int64_t kLanes = 4, kSmallLanes = 8;
/// Numbers of elements up to this are divided in 32 bits, which a GPU does several times faster than in 64.
constexpr int64_t kMostIn32Bits = int64_t{1} << 30;

ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

int64_t lanesOf(const LinalgBody &body, const KernelForm &form) {
  auto isSmall = [](Value tensor) {
    Type element = cast<RankedTensorType>(tensor.getType()).getElementType();
    return isa<FloatType>(element) && element.getIntOrFloatBitWidth() <= 16;
  };
  auto fits = [&](Value result) {
    ArrayRef<int64_t> shape = shapeOf(result);
    return !containsReduction(result) && (form.isFlat || (!shape.empty() && shape.back() % kSmallLanes == 0));
  };
  const bool isSmallAlone = llvm::all_of(body.arguments, isSmall) && llvm::all_of(body.results, isSmall);
  return isSmallAlone && llvm::all_of(body.results, fits) ? kSmallLanes : kLanes;
}

class GpuKernelEmitter : public FusionEmitter {
public:
  GpuKernelEmitter(OpBuilder &builder, nn::FusionOp fusion, const LinalgBody &body, const KernelForm &form,
                   ArrayRef<int64_t> tied)
      : FusionEmitter(builder, fusion, body, form, tied, lanesOf(body, form)) {}

private:
  //===--------------------------------------------------------------------===//
  // Nests
  //===--------------------------------------------------------------------===//

  void emitNests() override {
    SmallVector<size_t> all = llvm::to_vector(llvm::seq<size_t>(0, body.results.size()));
    if (form.isFlat)
      return emitElementwise(all);
    SmallVector<size_t> ofRows = form.first;
    llvm::append_range(ofRows, form.elements);
    llvm::append_range(ofRows, form.perRow);
    if (form.needsWarps())
      emitRows();
    else
      emitByShape(ofRows);
    SmallVector<size_t> sums = form.columns, rest;
    for (size_t result : form.others)
      (reductionOf(body.results[result]) ? sums : rest).push_back(result);
    emitByShape(rest);
    for (size_t sum : sums) {
      emitSum(sum);
      memory[body.results[sum]] = targets[sum];
    }
  }

  /// Elementwise results, those of one shape in one launch.
  void emitByShape(ArrayRef<size_t> results) {
    SmallVector<size_t> left(results);
    while (!left.empty()) {
      SmallVector<size_t> members, rest;
      for (size_t result : left)
        (shapeOf(body.results[result]) == shapeOf(body.results[left.front()]) ? members : rest).push_back(result);
      emitElementwise(members);
      for (size_t member : members)
        memory[body.results[member]] = targets[member];
      left = rest;
    }
  }

  //===--------------------------------------------------------------------===//
  // Launches
  //===--------------------------------------------------------------------===//

  struct Ids {
    Value block, thread, warp;
    SmallVector<Value> shared;
  };

  /// Blocks of kWarp x `warps` threads, or of kThreads x 1 (warps = 0).
  void launch(int64_t blocks, int64_t warps, TypeRange shared, function_ref<void(const Ids &)> emitBody) {
    Value one = indexConstant(1), grid = indexConstant(blocks);
    Value x = indexConstant(warps ? kWarp : kThreads), y = indexConstant(std::max<int64_t>(1, warps));
    auto op = builder.create<gpu::LaunchOp>(loc, grid, one, one, x, y, one, Value(), Type(), ValueRange(), shared);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&op.getBody().front());
    launched = op;
    sharedByTeam.clear();
    scoped([&] {
      emitBody({op.getBlockIds().x, op.getThreadIds().x, op.getThreadIds().y,
                llvm::to_vector_of<Value>(op.getWorkgroupAttributions())});
    });
    builder.create<gpu::TerminatorOp>(loc);
  }

  Value add(Value a, Value b) { return builder.create<arith::AddIOp>(loc, a, b); }
  Value times(Value a, int64_t b) { return builder.create<arith::MulIOp>(loc, a, indexConstant(b)); }

  Value isBelow(Value index, int64_t bound) {
    return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, index, indexConstant(bound));
  }

  /// Values made in a branch are known in it only.
  void emitIf(Value condition, function_ref<void()> then, function_ref<void()> otherwise = {}) {
    auto op = builder.create<scf::IfOp>(loc, condition, static_cast<bool>(otherwise));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(op.thenBlock());
    scoped(then);
    if (!otherwise)
      return;
    builder.setInsertionPointToStart(op.elseBlock());
    scoped(otherwise);
  }

  /// The place of element `linear` of a tensor of these extents.
  SmallVector<Index> placeOf(Value linear, ArrayRef<int64_t> extents, bool isLane) {
    SmallVector<Index> place(extents.size());
    const bool isShort = ShapedType::getNumElements(extents) <= kMostIn32Bits;
    Type counted = isShort ? Type(builder.getI32Type()) : builder.getIndexType();
    auto as = [&](Value number, Type type) {
      return number.getType() == type ? number : builder.create<arith::IndexCastUIOp>(loc, type, number).getResult();
    };
    Value left = extents.size() > 1 ? as(linear, counted) : linear;
    for (size_t dim = extents.size(); dim-- > 1;) {
      Value extent = builder.create<arith::ConstantOp>(loc, builder.getIntegerAttr(counted, extents[dim]));
      place[dim] = {as(builder.create<arith::RemUIOp>(loc, left, extent), builder.getIndexType()), false};
      left = builder.create<arith::DivUIOp>(loc, left, extent);
    }
    if (!place.empty())
      place[0] = {as(left, builder.getIndexType()), false};
    if (!place.empty())
      place.back().isLane = isLane;
    return place;
  }

  //===--------------------------------------------------------------------===//
  // Elementwise
  //===--------------------------------------------------------------------===//

  void emitElementwise(ArrayRef<size_t> members) {
    ArrayRef<int64_t> shape = shapeOf(body.results[members.front()]);
    int64_t total = ShapedType::getNumElements(shape);
    if (total == 0)
      return;
    SmallVector<int64_t> extents(shape);
    if (form.isFlat && !shape.empty())
      extents = {total};
    bool fillsVectors = form.isFlat ? !shape.empty() : !extents.empty() && extents.back() % laneCount == 0;
    for (size_t member : members)
      fillsVectors &= !usesPlaces(body.results[member]) && !containsReduction(body.results[member]);
    const int64_t perThread = fillsVectors ? laneCount : 1;
    const int64_t perBlock = kThreads * perThread;
    launch((total + perBlock - 1) / perBlock, 0, {}, [&](const Ids &ids) {
      Value first = times(add(times(ids.block, kThreads), ids.thread), perThread);
      auto vector = [&] { storeVector(members, placeOf(first, extents, true)); };
      auto scalar = [&] { storeVector(members, placeOf(first, extents, false)); };
      auto rest = [&] {
        Value end = indexConstant(total), one = indexConstant(1);
        loop(first, end, one, {}, [&](Value linear, ValueRange) {
          storeVector(members, placeOf(linear, extents, false));
          return SmallVector<Value>();
        });
      };
      if (!fillsVectors)
        return total % perBlock == 0 ? scalar() : emitIf(isBelow(first, total), scalar);
      if (total % perBlock == 0)
        return vector();
      if (total % perThread == 0)
        return emitIf(isBelow(first, total), vector);
      emitIf(isBelow(first, total - laneCount + 1), vector, rest);
    });
  }

  /// Stores an element, or a vector of them, of each member.
  void storeVector(ArrayRef<size_t> members, ArrayRef<Index> place) {
    lanes = !place.empty() && place.back().isLane;
    SmallVector<Value> values; // all loads come first: a target may be an operand's memory
    for (size_t member : members)
      values.push_back(evaluate(body.results[member], place));
    for (auto [member, value] : llvm::zip(members, values))
      store(value, targets[member], bases(place));
    lanes = false;
  }

  void store(Value value, Value target, ValueRange place) {
    if (!isa<VectorType>(value.getType()))
      builder.create<memref::StoreOp>(loc, value, target, place);
    else if (cast<MemRefType>(target.getType()).getElementType().isInteger(1)) // a byte each, where a vector has bits
      storeLanes(value, target, place);
    else if (mask)
      builder.create<vector::MaskedStoreOp>(loc, target, place, mask, value);
    else
      builder.create<vector::StoreOp>(loc, value, target, place);
  }

  void storeLanes(Value value, Value target, ValueRange place) {
    for (int64_t lane = 0; lane < laneCount; ++lane) {
      Value number = indexConstant(lane);
      SmallVector<Value> at(place);
      at.back() = add(at.back(), number);
      auto storeOne = [&] {
        builder.create<memref::StoreOp>(loc, builder.create<vector::ExtractElementOp>(loc, value, number), target, at);
      };
      mask ? emitIf(builder.create<vector::ExtractElementOp>(loc, mask, number), storeOne) : storeOne();
    }
  }

  //===--------------------------------------------------------------------===//
  // The row nest
  //===--------------------------------------------------------------------===//

  void emitRows() {
    ArrayRef<int64_t> outer = ArrayRef<int64_t>(form.rows).drop_back();
    int64_t rows = ShapedType::getNumElements(outer);
    if (rows > 0)
      forTeams(rows, form.rows.back(), [&](Value row, Value lane) {
        SmallVector<Index> place = placeOf(row, outer, false);
        storeRow(form.first, place);
        for (size_t result : form.first)
          memory[body.results[result]] = targets[result];
        hoistRow(place);
        SmallVector<Value> values;
        for (size_t result : form.perRow)
          values.push_back(evaluate(body.results[result], place));
        storeOnce(form.perRow, values, bases(place), lane);
        storeRow(form.elements, place);
      });
    for (const SmallVector<size_t> *members : {&form.elements, &form.perRow})
      for (size_t member : *members)
        memory[body.results[member]] = targets[member];
  }

  /// A team for each of `count` rows, or things made of a row each: a warp, or the block where rows are long. The body
  /// gets the row's number and the thread's within its team.
  void forTeams(int64_t count, int64_t rowExtent, function_ref<void(Value, Value)> emitBody) {
    const bool isBlock = rowExtent > kLongRow;
    teamWarps = isBlock ? kTeamWarps : 1;
    const int64_t perBlock = isBlock ? 1 : kWarpsPerBlock;
    launch((count + perBlock - 1) / perBlock, isBlock ? kTeamWarps : kWarpsPerBlock, {}, [&](const Ids &ids) {
      warp = ids.warp, warpLane = ids.thread;
      teamLane = isBlock ? add(times(ids.warp, kWarp), ids.thread) : ids.thread;
      laneStart = times(teamLane, laneCount);
      Value number = isBlock ? ids.block : add(times(ids.block, kWarpsPerBlock), ids.warp);
      auto all = [&] { emitBody(number, teamLane); };
      if (count % perBlock == 0)
        all();
      else
        emitIf(isBelow(number, count), all); // the same for all threads of a team
      warp = warpLane = teamLane = laneStart = {};
      chunks.clear();
    });
  }

  void storeRow(ArrayRef<size_t> members, ArrayRef<Index> row) {
    if (members.empty())
      return;
    forLanes(form.rows.back(), {}, [&](Index column, ValueRange) {
      SmallVector<Index> place(row);
      place.push_back(column);
      SmallVector<Value> values;
      for (size_t member : members)
        values.push_back(evaluate(body.results[member], place));
      for (auto [member, value] : llvm::zip(members, values))
        store(value, targets[member], bases(place));
      return SmallVector<Value>();
    });
  }

  void hoistRow(ArrayRef<Index> row) {
    SmallVector<std::pair<Value, Places>> wanted;
    for (size_t member : form.perRow)
      wanted.emplace_back(body.results[member], symbolic(row, row.size()));
    for (size_t member : form.elements)
      wanted.emplace_back(body.results[member], symbolic(row, form.rows.size()));
    hoist(wanted);
  }

  /// One thread of the team stores what all have.
  void storeOnce(ArrayRef<size_t> members, ValueRange values, ValueRange place, Value lane) {
    if (members.empty())
      return;
    storeOnce(lane, [&] {
      for (auto [member, value] : llvm::zip(members, values))
        store(value, targets[member], place);
    });
  }

  void storeOnce(Value lane, function_ref<void()> emitStores) {
    emitIf(builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, lane, indexConstant(0)), emitStores);
  }

  //===--------------------------------------------------------------------===//
  // Lanes
  //===--------------------------------------------------------------------===//

  /// Of a team, [0, extent) by its threads x laneCount; of a thread alone, by laneCount. The rest under a mask.
  SmallVector<Value> forLanes(int64_t extent, ValueRange carried, LaneBody step) override {
    const int64_t stride = warpLane ? teamWarps * kWarp * laneCount : laneCount, whole = extent / stride;
    SmallVector<Value> values(carried);
    lanes = true;
    if (warpLane && whole <= kRowChunks)
      for (int64_t chunk = 0; chunk < whole; ++chunk)
        values = step({chunkStart(chunk * stride), true}, values);
    else if (whole > 0)
      values = loop(indexConstant(0), indexConstant(whole * stride), indexConstant(stride), values,
                    [&](Value iv, ValueRange args) { return step({warpLane ? add(iv, laneStart) : iv, true}, args); });
    if (whole * stride < extent)
      values = restOfLanes(whole * stride, extent, values, step);
    lanes = false;
    return values;
  }

  /// The same value each time, so that what was made at that place of the row is found again.
  Value chunkStart(int64_t offset) {
    Value &start = chunks[offset];
    if (!start) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointAfterValue(laneStart);
      start = add(laneStart, indexConstant(offset));
    }
    return start;
  }

  SmallVector<Value> restOfLanes(int64_t from, int64_t extent, ArrayRef<Value> carried, LaneBody step) {
    Value start = warpLane ? chunkStart(from) : indexConstant(from);
    bool isWholeVectors = (extent - from) % laneCount == 0;
    if (!warpLane || !isWholeVectors) {
      Value left = builder.create<arith::SubIOp>(loc, indexConstant(extent), start);
      mask = builder.create<vector::CreateMaskOp>(loc, VectorType::get({laneCount}, builder.getI1Type()), left);
      SmallVector<Value> values;
      scoped([&] { values = step({start, true}, carried); });
      mask = {};
      return values;
    }
    auto op = builder.create<scf::IfOp>(loc, ValueRange(carried).getTypes(), isBelow(start, extent), true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(op.thenBlock());
    SmallVector<Value> values;
    scoped([&] { values = step({start, true}, carried); });
    if (!carried.empty()) {
      builder.create<scf::YieldOp>(loc, values);
      builder.setInsertionPointToStart(op.elseBlock());
      builder.create<scf::YieldOp>(loc, carried);
    }
    return op.getResults();
  }

  Value addLanes(linalg::GenericOp generic, Value sum) override {
    Value total = foldLanes(generic, sum);
    if (warpLane)
      for (int32_t offset = kWarp / 2; offset > 0; offset /= 2)
        total = combine(builder, loc, generic, total, shuffle(total, offset));
    return warpLane && teamWarps > 1 ? addTeam(generic, total) : total;
  }

  /// The sums of all warps of the block, one after the other, in each of its threads.
  Value addTeam(linalg::GenericOp generic, Value sum) {
    auto type = MemRefType::get({teamWarps}, sum.getType(), AffineMap(),
                                gpu::AddressSpaceAttr::get(builder.getContext(), gpu::AddressSpace::Workgroup));
    Value &shared = sharedByTeam[sum.getType()];
    if (!shared)
      shared = launched.addWorkgroupAttribution(type, loc);
    storeOnce(warpLane, [&] { builder.create<memref::StoreOp>(loc, sum, shared, warp); });
    builder.create<gpu::BarrierOp>(loc);
    Value total;
    for (int64_t other = 0; other < teamWarps; ++other) {
      Value one = builder.create<memref::LoadOp>(loc, shared, indexConstant(other));
      total = total ? combine(builder, loc, generic, total, one) : one;
    }
    builder.create<gpu::BarrierOp>(loc); // the next sum goes to the same place
    return total;
  }

  /// The value of the thread whose number differs in that bit. Exact for types that shuffles do not take.
  Value shuffle(Value value, int32_t offset) {
    Type type = value.getType();
    bool isSmall = isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32;
    if (isSmall)
      value = builder.create<arith::ExtFOp>(loc, builder.getF32Type(), value);
    value = builder.create<gpu::ShuffleOp>(loc, value, offset, static_cast<int32_t>(kWarp), gpu::ShuffleMode::XOR)
                .getShuffleResult();
    return isSmall ? builder.create<arith::TruncFOp>(loc, type, value).getResult() : value;
  }

  /// Indices are checked beside the kernels, not before them: a wrong one must not lead outside.
  Value computedPlace(Value place, int64_t extent) override {
    return builder.create<arith::MinUIOp>(loc, place, indexConstant(std::max<int64_t>(1, extent) - 1));
  }

  //===--------------------------------------------------------------------===//
  // Sums
  //===--------------------------------------------------------------------===//

  void emitSum(size_t result) {
    Value tensor = body.results[result];
    linalg::GenericOp generic = reductionOf(tensor);
    int64_t total = ShapedType::getNumElements(shapeOf(tensor));
    if (total == 0)
      return;
    bool isPlain = !usesPlaces(tensor);
    if (isPlain && generic.getIteratorTypesArray().back() == utils::IteratorType::reduction)
      return forTeams(total, generic.getStaticLoopRanges().back(), [&](Value number, Value lane) {
        SmallVector<Index> place = placeOf(number, shapeOf(tensor), false);
        storeOnce({result}, evaluate(tensor, place), bases(place), lane);
      });
    if (isPlain && shapeOf(tensor).size() == 1 && generic.getNumParallelLoops() == 1)
      return emitColumnSum(result, generic);
    launch((total + kThreads - 1) / kThreads, 0, {}, [&](const Ids &ids) {
      Value number = add(times(ids.block, kThreads), ids.thread);
      emitIf(isBelow(number, total), [&] { storeVector({result}, placeOf(number, shapeOf(tensor), false)); });
    });
  }

  /// Over all dimensions but the last, a block for kColumns of them: each of its kRowSets threads of a column adds
  /// every kRowSets-th row. Their sums are added within the warp, then among warps, in a fixed order.
  void emitColumnSum(size_t result, linalg::GenericOp generic) {
    const int64_t width = shapeOf(body.results[result]).front();
    Type element = cast<RankedTensorType>(generic.getResult(0).getType()).getElementType();
    auto sharedType = MemRefType::get({kColumnWarps, kColumns}, element, AffineMap(),
                                      gpu::AddressSpaceAttr::get(builder.getContext(), gpu::AddressSpace::Workgroup));
    launch((width + kColumns - 1) / kColumns, kColumnWarps, sharedType, [&](const Ids &ids) {
      Value shared = ids.shared.front(), columns = indexConstant(kColumns);
      Value ofBlock = builder.create<arith::RemUIOp>(loc, ids.thread, columns);
      Value part = builder.create<arith::DivUIOp>(loc, ids.thread, columns);
      Value column = add(times(ids.block, kColumns), ofBlock);
      Value inside = builder.create<arith::MinUIOp>(loc, column, indexConstant(width - 1)); // no thread leaves early
      Value first = add(times(ids.warp, kWarp / kColumns), part);
      Value sum = addParts(generic, addRows(generic, inside, first));
      Value isFirstPart = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, part, indexConstant(0));
      emitIf(isFirstPart, [&] { builder.create<memref::StoreOp>(loc, sum, shared, ValueRange{ids.warp, ofBlock}); });
      builder.create<gpu::BarrierOp>(loc);
      Value isFirst = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, ids.warp, indexConstant(0));
      emitIf(isFirst, [&] {
        Value total = addParts(generic, addWarps(generic, shared, part, ofBlock));
        emitIf(builder.create<arith::AndIOp>(loc, isFirstPart, isBelow(column, width)), [&] {
          const SmallVector<Index> place = {{column, false}};
          know(generic.getResult(0), place, total);
          builder.create<memref::StoreOp>(loc, evaluate(body.results[result], place), targets[result], column);
        });
      });
    });
  }

  /// Every kRowSets-th row of a column from the first on, kRowsAtOnce of them in a step: loads do not wait for sums.
  Value addRows(linalg::GenericOp generic, Value column, Value first) {
    const SmallVector<int64_t> outer = llvm::to_vector(ArrayRef<int64_t>(generic.getStaticLoopRanges()).drop_back());
    const int64_t rows = ShapedType::getNumElements(outer), atOnce = kRowSets * kRowsAtOnce;
    const int64_t whole = rows / atOnce * atOnce;
    auto addRow = [&](Value row, Value sum) {
      SmallVector<Index> loops = placeOf(row, outer, false);
      loops.push_back({column, false});
      return accumulate(generic, loops, sum);
    };
    Value sum = startOf(generic);
    if (whole > 0)
      sum = loop(first, indexConstant(whole), indexConstant(atOnce), sum, [&](Value row, ValueRange carried) {
              Value next = carried.front();
              for (int64_t i = 0; i < kRowsAtOnce; ++i)
                next = addRow(add(row, indexConstant(i * kRowSets)), next);
              return SmallVector<Value>{next};
            }).front();
    if (whole < rows)
      sum = loop(add(first, indexConstant(whole)), indexConstant(rows), indexConstant(kRowSets), sum,
                 [&](Value row, ValueRange carried) { return SmallVector<Value>{addRow(row, carried.front())}; })
                .front();
    return sum;
  }

  /// The sum of a column over the parts of a warp, which all of them have.
  Value addParts(linalg::GenericOp generic, Value sum) {
    for (auto offset = static_cast<int32_t>(kWarp / 2); offset >= kColumns; offset /= 2)
      sum = combine(builder, loc, generic, sum, shuffle(sum, offset));
    return sum;
  }

  /// Of a column, the sums of the warps that are this part's.
  Value addWarps(linalg::GenericOp generic, Value shared, Value part, Value column) {
    Value total;
    for (int64_t warp = 0; warp < kColumnWarps; warp += kWarp / kColumns) {
      Value sum = builder.create<memref::LoadOp>(loc, shared, ValueRange{add(part, indexConstant(warp)), column});
      total = total ? combine(builder, loc, generic, total, sum) : sum;
    }
    return total;
  }

  gpu::LaunchOp launched;             ///< which is being emitted
  DenseMap<Type, Value> sharedByTeam; ///< an element per warp, by type
  int64_t teamWarps = 1;              ///< of a launch whose threads make rows together: warps per row
  Value warp, warpLane;               ///< there: of the thread in its block, and in its warp
  Value teamLane, laneStart;       ///< there: of the thread among those of its row, and where its first vector begins
  std::map<int64_t, Value> chunks; ///< where lanes begin in a row, by the offset of the first
};

} // namespace

FailureOr<func::FuncOp> emitGpuKernel(OpBuilder &builder, StringRef name, nn::FusionOp fusion, ArrayRef<int64_t> tied,
                                      ArrayRef<int64_t> alignments) {
  LinalgBody body(fusion);
  KernelForm form(body);
  FailureOr<func::FuncOp> function = GpuKernelEmitter(builder, fusion, body, form, tied).emit(name);
  if (failed(function))
    return failure();
  const size_t arguments = function->getNumArguments();
  for (auto [index, alignment] : llvm::enumerate(alignments))
    if (alignment >= kVectorBytes && index < arguments)
      function->setArgAttr(index, "llvm.align", builder.getI64IntegerAttr(kVectorBytes));
  return function;
}

} // namespace splitcast
