#include "dialects/nn/Windows.h"

using namespace mlir;

namespace splitcast::nn {

namespace {

constexpr int64_t kMost = exec::Window::kMost;

Value indexConstant(OpBuilder &b, Location loc, int64_t value) { return b.create<arith::ConstantIndexOp>(loc, value); }

/// Returns x * factor + addend.
Value linear(OpBuilder &b, Location loc, Value x, int64_t factor, Value addend) {
  Value product = factor == 1 ? x : b.create<arith::MulIOp>(loc, x, indexConstant(b, loc, factor)).getResult();
  return b.create<arith::AddIOp>(loc, product, addend);
}

Place placeIf(OpBuilder &b, Location loc, Value at, Value isThere) {
  return {b.create<arith::SelectOp>(loc, isThere, at, indexConstant(b, loc, 0)), isThere};
}

Value isBelow(OpBuilder &b, Location loc, Value at, int64_t extent) {
  return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, at, indexConstant(b, loc, extent));
}

LogicalResult verifyNumbers(Operation *op, StringRef name, ArrayRef<int64_t> numbers, int64_t least) {
  const bool fits =
      numbers.size() == 2 && llvm::all_of(numbers, [&](int64_t number) { return number >= least && number <= kMost; });
  if (fits)
    return success();
  return op->emitOpError() << "has " << name << " [" << numbers << "]; give two numbers from " << least << " to "
                           << kMost;
}

} // namespace

Windows windowsOf(ArrayRef<int64_t> kernel, ArrayRef<int64_t> strides, ArrayRef<int64_t> padding,
                  ArrayRef<int64_t> dilation) {
  Windows windows;
  for (unsigned i : {0, 1})
    windows[i] = {kernel[i], strides[i], padding[i], dilation[i]};
  return windows;
}

LogicalResult verifyWindows(Operation *op, ArrayRef<int64_t> shape, ArrayRef<int64_t> kernel, ArrayRef<int64_t> strides,
                            ArrayRef<int64_t> padding, ArrayRef<int64_t> dilation) {
  if (failed(verifyNumbers(op, "kernel", kernel, 1)) || failed(verifyNumbers(op, "strides", strides, 1)) ||
      failed(verifyNumbers(op, "padding", padding, 0)) || failed(verifyNumbers(op, "dilation", dilation, 1)) ||
      failed(verifyNumbers(op, "the last two extents", shape.take_back(2), 0)))
    return failure();
  const Windows windows = windowsOf(kernel, strides, padding, dilation);
  for (unsigned i : {0, 1})
    if (const int64_t extent = shape.take_back(2)[i]; windows[i].windows(extent) < 1)
      return op->emitOpError() << "has no window along dimension " << shape.size() - 2 + i << ": " << extent
                               << " elements and twice " << padding[i] << " of padding are fewer than the "
                               << windows[i].span() << " that a kernel of " << kernel[i] << " with dilation "
                               << dilation[i] << " spans; pad more, or take a smaller kernel";
  return success();
}

Place coveredBy(OpBuilder &b, Location loc, const Window &window, Value number, Value tap, int64_t extent) {
  Value begin = linear(b, loc, number, window.stride, indexConstant(b, loc, -window.padding));
  Value at = linear(b, loc, tap, window.dilation, begin);
  return placeIf(b, loc, at, isBelow(b, loc, at, extent)); // a negative number is large as an unsigned one
}

Place covering(OpBuilder &b, Location loc, const Window &window, Value element, Value tap, int64_t windows) {
  Value begin = linear(b, loc, tap, -window.dilation,
                       b.create<arith::AddIOp>(loc, element, indexConstant(b, loc, window.padding)));
  if (window.stride == 1)
    return placeIf(b, loc, begin, isBelow(b, loc, begin, windows));
  Value stride = indexConstant(b, loc, window.stride);
  Value number = b.create<arith::DivSIOp>(loc, begin, stride);
  // The division rounds towards 0, so a negative number that is no multiple of
  // the stride may become 0.
  Value isMultiple =
      b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, begin, b.create<arith::MulIOp>(loc, number, stride));
  return placeIf(b, loc, number, b.create<arith::AndIOp>(loc, isMultiple, isBelow(b, loc, number, windows)));
}

Value elementAt(OpBuilder &b, Location loc, Value tensor, SmallVector<Value> before, const std::array<Place, 2> &place,
                Value otherwise) {
  if (cast<RankedTensorType>(tensor.getType()).getNumElements() == 0)
    return otherwise;
  before.append({place[0].at, place[1].at});
  Value isThere = b.create<arith::AndIOp>(loc, place[0].isThere, place[1].isThere);
  return b.create<arith::SelectOp>(loc, isThere, b.create<tensor::ExtractOp>(loc, tensor, before), otherwise);
}

} // namespace splitcast::nn
