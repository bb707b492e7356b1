#include "passes/plan/GpuLaunches.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace splitcast {

namespace {

/// Indices of up to this many elements are divided in 32 bits, which a GPU does
/// several times faster than in 64.
constexpr int64_t kMostIn32Bits = int64_t{1} << 30;

SmallVector<unsigned> reducedLoops(linalg::GenericOp sum) {
  SmallVector<unsigned> dims;
  sum.getReductionDims(dims);
  return dims;
}

} // namespace

int64_t addendsOf(linalg::GenericOp sum) {
  int64_t addends = 1;
  for (unsigned dim : reducedLoops(sum))
    addends *= sum.getStaticLoopRanges()[dim];
  return addends;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

void GpuLaunches::launch(int64_t blocks, int64_t warps, TypeRange shared, function_ref<void(const Ids &)> emitBody) {
  Value one = indexConstant(1), grid = indexConstant(blocks);
  Value x = indexConstant(warps ? kWarp : kThreads), y = indexConstant(std::max<int64_t>(1, warps));
  auto op = builder.create<gpu::LaunchOp>(loc, grid, one, one, x, y, one, Value(), Type(), ValueRange(), shared);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&op.getBody().front());
  launched = op;
  scoped([&] {
    emitBody({op.getBlockIds().x, op.getThreadIds().x, op.getThreadIds().y,
              llvm::to_vector_of<Value>(op.getWorkgroupAttributions())});
  });
  builder.create<gpu::TerminatorOp>(loc);
}

MemRefType GpuLaunches::sharedArray(ArrayRef<int64_t> shape, Type element) {
  return MemRefType::get(shape, element, AffineMap(),
                         gpu::AddressSpaceAttr::get(builder.getContext(), gpu::AddressSpace::Workgroup));
}

//===----------------------------------------------------------------------===//
// Indices, branches, shuffles
//===----------------------------------------------------------------------===//

Value GpuLaunches::add(Value a, Value b) { return builder.create<arith::AddIOp>(loc, a, b); }
Value GpuLaunches::times(Value a, int64_t b) { return builder.create<arith::MulIOp>(loc, a, indexConstant(b)); }
Value GpuLaunches::quotient(Value a, int64_t b) { return builder.create<arith::DivUIOp>(loc, a, indexConstant(b)); }
Value GpuLaunches::rest(Value a, int64_t b) { return builder.create<arith::RemUIOp>(loc, a, indexConstant(b)); }

Value GpuLaunches::isBelow(Value index, int64_t bound) {
  return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, index, indexConstant(bound));
}

Value GpuLaunches::isEqual(Value index, int64_t number) {
  return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, index, indexConstant(number));
}

void GpuLaunches::emitIf(Value condition, function_ref<void()> then, function_ref<void()> otherwise) {
  auto op = builder.create<scf::IfOp>(loc, condition, static_cast<bool>(otherwise));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(op.thenBlock());
  scoped(then);
  if (!otherwise)
    return;
  builder.setInsertionPointToStart(op.elseBlock());
  scoped(otherwise);
}

SmallVector<Index> GpuLaunches::placeOf(Value linear, ArrayRef<int64_t> extents, bool isLane) {
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

Value GpuLaunches::shuffle(Value value, int32_t offset) {
  Type type = value.getType();
  bool isSmall = isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32;
  if (isSmall)
    value = builder.create<arith::ExtFOp>(loc, builder.getF32Type(), value);
  value = builder.create<gpu::ShuffleOp>(loc, value, offset, static_cast<int32_t>(kWarp), gpu::ShuffleMode::XOR)
              .getShuffleResult();
  return isSmall ? builder.create<arith::TruncFOp>(loc, type, value).getResult() : value;
}

Value GpuLaunches::addWarp(linalg::GenericOp generic, Value value, int64_t columns) {
  for (auto offset = static_cast<int32_t>(kWarp / 2); offset >= columns; offset /= 2)
    value = combine(builder, loc, generic, value, shuffle(value, offset));
  return value;
}

//===----------------------------------------------------------------------===//
// Addends
//===----------------------------------------------------------------------===//

SmallVector<Index> GpuLaunches::loopsAt(linalg::GenericOp sum, ArrayRef<Index> place, Value addend) {
  SmallVector<Index> loops = loopsOf(sum, place);
  const SmallVector<unsigned> dims = reducedLoops(sum);
  SmallVector<int64_t> extents;
  for (unsigned dim : dims)
    extents.push_back(sum.getStaticLoopRanges()[dim]);
  for (auto [dim, index] : llvm::zip(dims, placeOf(addend, extents, false)))
    loops[dim] = index;
  return loops;
}

SmallVector<Value> GpuLaunches::addEvery(ArrayRef<linalg::GenericOp> sums, ArrayRef<Index> place, Addends addends) {
  auto addOne = [&](Value addend, ValueRange from) {
    const SmallVector<Index> loops = loopsAt(sums.front(), place, addend);
    SmallVector<Value> next;
    for (auto [sum, value] : llvm::zip(sums, from))
      next.push_back(accumulate(sum, loops, value));
    return next;
  };
  SmallVector<Value> carried; // the sums, then the next addend
  for (linalg::GenericOp sum : sums)
    carried.push_back(startOf(sum));
  carried.push_back(addends.first);
  const int64_t atOnce = addends.stride * kAddendsAtOnce;
  Value wholeEnd = add(addends.end, indexConstant(addends.stride - atOnce));
  carried = loop(addends.first, wholeEnd, indexConstant(atOnce), carried, [&](Value addend, ValueRange from) {
    SmallVector<Value> next = llvm::to_vector_of<Value>(from.drop_back());
    for (int64_t i = 0; i < kAddendsAtOnce; ++i)
      next = addOne(add(addend, indexConstant(i * addends.stride)), next);
    next.push_back(add(addend, indexConstant(atOnce)));
    return next;
  });
  Value rest = carried.pop_back_val();
  if (addends.areWhole)
    return carried;
  return loop(rest, addends.end, indexConstant(addends.stride), carried, addOne);
}

} // namespace splitcast
