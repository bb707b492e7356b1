#include "passes/plan/GpuKernelEmitter.h"

#include "passes/plan/GpuTailSums.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace splitcast {

namespace {

constexpr int64_t kWarpsPerBlock = 4;
/// A row of more than kLongRow elements is computed by a block of kTeamWarps
/// warps, so that the rows that all warps of a device work on stay in the cache
/// until they are read again.
constexpr int64_t kLongRow = 4096, kTeamWarps = 16;
/// An exact sum of at least kManyAddends addends takes blocks of the whole
/// device, with at least kAddendsPerThread for each of their threads.
constexpr int64_t kManyAddends = 4096, kAddendsPerThread = 16;
/// The consecutive elements per thread: 16 bytes of f32, or of small floats. A kernel with a sum along a row always
/// uses kSmallLanes, so that the order of such a sum depends neither on its type nor on the kernel's other results.
constexpr int64_t kLanes = 4, kSmallLanes = 8;

ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

/// The results that are sums, each a launch of its own.
SmallVector<size_t> sumsOf(const LinalgBody &body, const KernelForm &form) {
  SmallVector<size_t> sums = form.columns;
  llvm::copy_if(form.others, std::back_inserter(sums),
                [&](size_t result) { return reductionOf(body.results[result]) != nullptr; });
  return sums;
}

/// Returns the number of consecutive elements per thread (kLanes, kSmallLanes).
int64_t lanesOf(const LinalgBody &body, const KernelForm &form) {
  auto isSmall = [](Value tensor) {
    Type element = cast<RankedTensorType>(tensor.getType()).getElementType();
    return isa<FloatType>(element) && element.getIntOrFloatBitWidth() <= 16;
  };
  auto fits = [&](Value result) {
    ArrayRef<int64_t> shape = shapeOf(result);
    return form.isFlat || (!shape.empty() && shape.back() % kSmallLanes == 0);
  };
  SmallVector<Value> elements; // results that are not sums over rows
  for (Value result : body.results)
    if (!isSumOfElements(result))
      elements.push_back(result);
  if (elements.empty() || llvm::any_of(elements, containsReduction))
    return kSmallLanes;
  const bool isSmallAlone = llvm::all_of(body.arguments, isSmall) && llvm::all_of(body.results, isSmall);
  return isSmallAlone && llvm::all_of(elements, fits) ? kSmallLanes : kLanes;
}

/// The sums that blocks of the whole device share. All of them are f32.
struct SharedSums {
  SharedSums(const LinalgBody &body, const KernelForm &form, ArrayRef<size_t> sums) {
    if (form.isFlat)
      return;
    splits = splitSums(body, sums);
    tails = tailSums(body, sums, splits.empty() ? 0 : splits.back().offset + splits.back().elements());
  }
  int64_t workspaceElements() const {
    if (!tails.empty())
      return tails.back().offset + tails.back().workspaceElements();
    return splits.empty() ? 0 : splits.back().offset + splits.back().elements();
  }

  std::vector<SplitSums> splits;
  std::vector<TailSum> tails;
};

class GpuKernelEmitter : public GpuTailSums {
public:
  GpuKernelEmitter(OpBuilder &builder, nn::FusionOp fusion, const LinalgBody &body, const KernelForm &form,
                   ArrayRef<int64_t> tied)
      : GpuTailSums(builder, fusion, body, form, tied, lanesOf(body, form)), sums(sumsOf(body, form)),
        shared(body, form, sums) {}

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
    SmallVector<size_t> rest;
    llvm::copy_if(form.others, std::back_inserter(rest),
                  [&](size_t result) { return !llvm::is_contained(sums, result); });
    emitByShape(rest);
    emitSums();
  }

  void emitSums() {
    DenseSet<size_t> done;
    for (const SplitSums &split : shared.splits) {
      emitSplitSums(split, workspace);
      done.insert(split.results.begin(), split.results.end());
    }
    for (const TailSum &tail : shared.tails) {
      emitTailSum(tail, workspace);
      done.insert(tail.result);
    }
    for (size_t sum : sums) {
      if (!done.contains(sum))
        emitSum(sum);
      memory[body.results[sum]] = targets[sum];
    }
  }

  MemRefType workspaceType() const override {
    const int64_t elements = shared.workspaceElements();
    return elements == 0 ? MemRefType() : MemRefType::get({elements}, builder.getF32Type());
  }

  /// Emits elementwise results; those of the same shape share a launch.
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

  /// Emits an element, or a vector of elements, of each member and stores it.
  void storeVector(ArrayRef<size_t> members, ArrayRef<Index> place) {
    lanes = !place.empty() && place.back().isLane;
    SmallVector<Value> values; // all loads come first: a target may be the memory of an operand
    for (size_t member : members)
      values.push_back(evaluate(body.results[member], place));
    for (auto [member, value] : llvm::zip(members, values))
      store(value, targets[member], bases(place));
    lanes = false;
  }

  void store(Value value, Value target, ValueRange place) {
    if (!isa<VectorType>(value.getType()))
      builder.create<memref::StoreOp>(loc, value, target, place);
    else if (cast<MemRefType>(target.getType()).getElementType().isInteger(1)) // in memory a byte, in a vector a bit
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

  /// Emits a launch with a team of threads for each of `count` rows, or values
  /// that are each made of a row: a warp, or the block if rows are long. The
  /// body gets the number of the row and that of the thread within its team.
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
      sharedByTeam.clear();
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

  /// Stores values that all threads of the team have, by one of them.
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

  /// Walks over [0, extent): a team in steps of its threads x laneCount, a
  /// single thread in steps of laneCount. The rest is done under a mask, or a
  /// branch if it consists of whole vectors.
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

  /// Returns the same value for the same offset, so that elements that were
  /// made at this place of the row are found again.
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

  /// Combines the sums of all warps of the block in ascending order, in each of
  /// its threads.
  Value addTeam(linalg::GenericOp generic, Value sum) {
    const MemRefType type = sharedArray({teamWarps}, sum.getType());
    Value &shared = sharedByTeam[sum.getType()];
    if (!shared)
      shared = addShared(type);
    storeOnce(warpLane, [&] { builder.create<memref::StoreOp>(loc, sum, shared, warp); });
    builder.create<gpu::BarrierOp>(loc);
    Value total;
    for (int64_t other = 0; other < teamWarps; ++other) {
      Value one = builder.create<memref::LoadOp>(loc, shared, indexConstant(other));
      total = total ? combine(builder, loc, generic, total, one) : one;
    }
    builder.create<gpu::BarrierOp>(loc); // the next sum reuses the shared memory
    return total;
  }

  /// Clamps an index, because indices are checked concurrently with kernels:
  /// until the error is reported, a wrong index must not lead out of the
  /// tensor.
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
    if (isExactSum(generic) && generic.getResult(0) == tensor && addendsOf(generic) >= kManyAddends)
      return emitExactSum(result, generic);
    bool isPlain = !usesPlaces(tensor);
    if (isPlain && generic.getIteratorTypesArray().back() == utils::IteratorType::reduction)
      return forTeams(total, generic.getStaticLoopRanges().back(), [&](Value number, Value lane) {
        SmallVector<Index> place = placeOf(number, shapeOf(tensor), false);
        storeOnce({result}, evaluate(tensor, place), bases(place), lane);
      });
    if (isPlain && isColumnSum(tensor))
      return emitWholeSum(result);
    launch((total + kThreads - 1) / kThreads, 0, {}, [&](const Ids &ids) {
      Value number = add(times(ids.block, kThreads), ids.thread);
      emitIf(isBelow(number, total), [&] { storeVector({result}, placeOf(number, shapeOf(tensor), false)); });
    });
  }

  /// Emits an exact sum: each block takes a share of the addends of one element
  /// of the result, and its warps add their sums to that element with atomic
  /// operations, since no order changes a bit. A launch before stores the initial
  /// value.
  void emitExactSum(size_t result, linalg::GenericOp generic) {
    ArrayRef<int64_t> shape = shapeOf(body.results[result]);
    const int64_t total = ShapedType::getNumElements(shape), addends = addendsOf(generic);
    launch((total + kThreads - 1) / kThreads, 0, {}, [&](const Ids &ids) {
      Value number = add(times(ids.block, kThreads), ids.thread);
      emitIf(isBelow(number, total),
             [&] { store(startOf(generic), targets[result], bases(placeOf(number, shape, false))); });
    });
    const int64_t most = (kDeviceBlocks + total - 1) / total, ofBlock = kThreads * kAddendsPerThread;
    const int64_t shares = std::min(most, (addends + ofBlock - 1) / ofBlock);
    launch(total * shares, kThreads / kWarp, {}, [&](const Ids &ids) {
      Value elements = indexConstant(total);
      const SmallVector<Index> place = placeOf(builder.create<arith::RemUIOp>(loc, ids.block, elements), shape, false);
      Value share = builder.create<arith::DivUIOp>(loc, ids.block, elements);
      Value first = add(times(share, kThreads), add(times(ids.warp, kWarp), ids.thread));
      const int64_t stride = shares * kThreads;
      const bool areWhole = addends % (stride * kAddendsAtOnce) == 0;
      Value sum = addWarp(generic, addEvery(generic, place, {first, indexConstant(addends), stride, areWhole}).front());
      storeOnce(ids.thread, [&] {
        builder.create<memref::AtomicRMWOp>(loc, arith::AtomicRMWKind::addf, sum, targets[result], bases(place));
      });
    });
  }

  const SmallVector<size_t> sums; ///< the results that are sums
  const SharedSums shared;
  DenseMap<Type, Value> sharedByTeam; ///< by type, shared memory with an element per warp
  int64_t teamWarps = 1;              ///< the warps per row, where teams compute rows
  Value warp, warpLane;               ///< in teams: the warp in its block, and the thread in its warp
  Value teamLane, laneStart;          ///< in teams: the thread in its team, and the start of its first vector
  std::map<int64_t, Value> chunks;    ///< by offset, the starts of vectors in a row (chunkStart)
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

int64_t gpuKernelWorkspace(nn::FusionOp fusion) {
  const LinalgBody body(fusion);
  const KernelForm form(body);
  constexpr int64_t kElementBytes = 4; // f32
  return SharedSums(body, form, sumsOf(body, form)).workspaceElements() * kElementBytes;
}

} // namespace splitcast
