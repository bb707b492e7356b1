#include "passes/plan/GpuTailSums.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <algorithm>

using namespace mlir;

namespace splitcast {

namespace {

/// A warp adds fewer addends than these, see GpuKernelEmitter.h.
constexpr int64_t kLeastAddends = 2 * kThreads;
/// The least addends of a thread, if several blocks share an element.
constexpr int64_t kAddendsPerThread = 16;
constexpr int64_t kWarps = kThreads / kWarp;

ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

bool isTailSum(Value result) {
  linalg::GenericOp sum = reductionOf(result);
  if (!sum || usesPlaces(result) || isExactSum(sum) || sum.getNumReductionLoops() < 2 ||
      sum.getIteratorTypesArray().back() != utils::IteratorType::reduction)
    return false;
  auto type = cast<RankedTensorType>(sum.getResult(0).getType());
  return type.getElementType().isF32() && type.getShape() == shapeOf(result) && type.getNumElements() > 0 &&
         addendsOf(sum) >= kLeastAddends && llvm::none_of(sum.getDpsInputs(), containsReduction);
}

} // namespace

std::vector<TailSum> tailSums(const LinalgBody &body, ArrayRef<size_t> candidates, int64_t offset) {
  std::vector<TailSum> found;
  for (size_t result : candidates) {
    if (!isTailSum(body.results[result]))
      continue;
    TailSum sum;
    sum.result = result;
    sum.elements = ShapedType::getNumElements(shapeOf(body.results[result]));
    sum.addends = addendsOf(reductionOf(body.results[result]));
    const int64_t most = (kDeviceBlocks + sum.elements - 1) / sum.elements, ofBlock = kThreads * kAddendsPerThread;
    sum.parts = std::min(most, (sum.addends + ofBlock - 1) / ofBlock);
    sum.offset = offset;
    offset += sum.workspaceElements();
    found.push_back(sum);
  }
  return found;
}

void GpuTailSums::emitTailSum(const TailSum &sum, Value workspace) {
  linalg::GenericOp generic = reductionOf(body.results[sum.result]);
  const Type type = cast<RankedTensorType>(generic.getResult(0).getType()).getElementType();
  launch(sum.elements * sum.parts, kWarps, sharedArray({kWarps}, type), [&](const Ids &ids) {
    Value element = quotient(ids.block, sum.parts), part = rest(ids.block, sum.parts);
    Value first = add(times(part, kThreads), add(times(ids.warp, kWarp), ids.thread));
    const int64_t stride = sum.parts * kThreads;
    const bool areWhole = sum.addends % (stride * kAddendsAtOnce) == 0;
    const SmallVector<Index> place = placeOf(element, shapeOf(generic.getResult(0)), false);
    Value ofThread = addEvery(generic, place, {first, indexConstant(sum.addends), stride, areWhole}).front();
    addBlock(generic, ofThread, ids, [&](Value total) {
      if (sum.parts == 1)
        return storeResult(sum, element, total);
      builder.create<memref::StoreOp>(loc, total, workspace, add(ids.block, indexConstant(sum.offset)));
    });
  });
  if (sum.parts > 1)
    launch((sum.elements + kWarps - 1) / kWarps, kWarps, {}, [&](const Ids &ids) { addParts(sum, workspace, ids); });
}

/// Emits the sum of all threads of a block, which one of them gives to `store`.
void GpuTailSums::addBlock(linalg::GenericOp generic, Value ofThread, const Ids &ids, function_ref<void(Value)> store) {
  Value shared = ids.shared.front(), sum = addWarp(generic, ofThread), isFirst = isEqual(ids.thread, 0);
  emitIf(isFirst, [&] { builder.create<memref::StoreOp>(loc, sum, shared, ids.warp); });
  builder.create<gpu::BarrierOp>(loc);
  emitIf(builder.create<arith::AndIOp>(loc, isFirst, isEqual(ids.warp, 0)), [&] {
    Value total;
    for (int64_t warp = 0; warp < kWarps; ++warp) {
      Value one = builder.create<memref::LoadOp>(loc, shared, indexConstant(warp));
      total = total ? combine(builder, loc, generic, total, one) : one;
    }
    store(total);
  });
}

/// Emits a block of the second launch: its warps add the parts of an element
/// each.
void GpuTailSums::addParts(const TailSum &sum, Value workspace, const Ids &ids) {
  linalg::GenericOp generic = reductionOf(body.results[sum.result]);
  Value element = add(times(ids.block, kWarps), ids.warp);
  auto all = [&] {
    Value from = add(times(element, sum.parts), indexConstant(sum.offset));
    Value ofThread = loop(ids.thread, indexConstant(sum.parts), indexConstant(kWarp), startOf(generic),
                          [&](Value part, ValueRange sums) -> SmallVector<Value> {
                            Value one = builder.create<memref::LoadOp>(loc, workspace, add(from, part));
                            return {combine(builder, loc, generic, sums.front(), one)};
                          })
                         .front();
    Value total = addWarp(generic, ofThread);
    emitIf(isEqual(ids.thread, 0), [&] { storeResult(sum, element, total); });
  };
  sum.elements % kWarps == 0 ? all() : emitIf(isBelow(element, sum.elements), all); // the same for a whole warp
}

/// Emits a result whose sum is known.
void GpuTailSums::storeResult(const TailSum &sum, Value element, Value total) {
  Value result = body.results[sum.result];
  const SmallVector<Index> place = placeOf(element, shapeOf(result), false);
  know(reductionOf(result).getResult(0), place, total);
  builder.create<memref::StoreOp>(loc, evaluate(result, place), targets[sum.result], bases(place));
}

} // namespace splitcast
