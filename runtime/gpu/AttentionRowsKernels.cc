#include "runtime/gpu/AttentionRowsKernels.h"

#include "runtime/gpu/ThreadKernel.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

using namespace mlir;

namespace splitcast::runtime {
namespace {

/// A lane keeps up to kMostKept keys of a row in registers, and more only if
/// the row would otherwise need more than kMostWarps warps. If a row needs one
/// warp, a block has kRowsPerBlock rows.
constexpr int64_t kMostKept = 32, kMostWarps = 32, kRowsPerBlock = 4;

class Emitter : ThreadKernel {
public:
  Emitter(const AttentionRowsKernels &kernels, MLIRContext &context)
      : ThreadKernel(context), kernels(kernels), type(parseType(nameOf(kernels.type), &context)),
        warps(std::clamp<int64_t>((kernels.keys + kWarpLanes * kMostKept - 1) / (kWarpLanes * kMostKept), 1,
                                  kMostWarps)) {}

  void emit(ModuleOp module) {
    auto scores = MemRefType::get({kernels.rows, kernels.keys}, type);
    SmallVector<Type> ofSoftmax = {scores};
    if (!kernels.maskType.empty())
      ofSoftmax.push_back(MemRefType::get({kernels.keys}, parseType(kernels.maskType, b.getContext())));
    if (kernels.hasStatistics)
      ofSoftmax.push_back(MemRefType::get({kernels.rows}, type));
    function(module, "softmax", ofSoftmax, [&](ValueRange arguments) { launchRows([&] { emitSoftmax(arguments); }); });
    function(module, "softmax_gradient", {scores, scores},
             [&](ValueRange arguments) { launchRows([&] { emitGradient(arguments); }); });
  }

private:
  Value real(double value) { return b.create<arith::ConstantOp>(loc, b.getFloatAttr(type, value)); }

  //===--------------------------------------------------------------------===//
  // Rows, keys, and what the threads of a row have together
  //===--------------------------------------------------------------------===//

  void launchRows(function_ref<void()> body) {
    SmallVector<SharedArray> arrays;
    if (warps > 1)
      arrays.push_back({{warps}, type});
    const int64_t rowsPerBlock = warps > 1 ? 1 : kRowsPerBlock;
    launch((kernels.rows + rowsPerBlock - 1) / rowsPerBlock, std::max(warps, rowsPerBlock), arrays,
           [&](ValueRange shared) {
             byWarp = warps > 1 ? shared.front() : Value();
             row = warps > 1 ? block : add(times(block, kRowsPerBlock), warp);
             if (kernels.rows % rowsPerBlock == 0)
               body();
             else
               emitIf(isBelow(row, number(kernels.rows)), body);
           });
  }

  /// Returns the keys of the row that this thread keeps. They are as far apart
  /// as the row has threads.
  Values keysOfThread() {
    const int64_t threads = warps * kWarpLanes;
    Value first = threadOfRow();
    Values keys;
    for (int64_t from = 0; from < kernels.keys; from += threads)
      keys.push_back(add(first, number(from)));
    return keys;
  }
  Value threadOfRow() { return warps > 1 ? add(times(warp, kWarpLanes), lane) : lane; }
  /// Returns whether the nth key of every thread lies within the row.
  bool isWhole(size_t nth) const { return static_cast<int64_t>(nth + 1) * warps * kWarpLanes <= kernels.keys; }
  /// Returns the end of the keys that causality lets the row see; masks are not
  /// considered.
  Value endOfRow() {
    if (!kernels.isCausal)
      return number(kernels.keys);
    return least(add(rest(row, kernels.positions), number(1)), number(kernels.keys));
  }
  /// Returns the values of `then` if the row sees the key, and `otherwise` if
  /// not.
  Values ofSeen(size_t nth, Value key, Value end, function_ref<Values()> then, const Values &otherwise) {
    return !kernels.isCausal && isWhole(nth) ? then() : valuesIf(isBelow(key, end), then, otherwise);
  }
  void storeKey(size_t nth, Value value, Value to, Value key) {
    auto one = [&] { store(value, to, {row, key}); };
    isWhole(nth) ? one() : emitIf(isBelow(key, number(kernels.keys)), one);
  }

  /// Combines the values of all threads of the row, in a fixed order. Every
  /// thread gets the result.
  template <typename OpT> Value ofRow(const Values &values) {
    Value all = values.front();
    for (Value value : llvm::drop_begin(values))
      all = make<OpT>(all, value);
    for (int64_t offset = kWarpLanes / 2; offset > 0; offset /= 2)
      all = make<OpT>(all, b.create<gpu::ShuffleOp>(loc, all, static_cast<int32_t>(offset),
                                                    static_cast<int32_t>(kWarpLanes), gpu::ShuffleMode::XOR)
                               .getShuffleResult());
    if (warps == 1)
      return all;
    emitIf(isEqual(lane, number(0)), [&] { store(all, byWarp, warp); });
    barrier();
    all = load(byWarp, number(0));
    for (int64_t other = 1; other < warps; ++other)
      all = make<OpT>(all, load(byWarp, number(other)));
    barrier(); // the next combination uses the same memory
    return all;
  }

  //===--------------------------------------------------------------------===//
  // Kernels
  //===--------------------------------------------------------------------===//

  /// Keys that are not seen have a score of -infinity, as in the definition of
  /// the op, and weigh 0. A maximum of -infinity is not subtracted.
  void emitSoftmax(ValueRange arguments) {
    Value scores = arguments[0], scale = real(kernels.scale), zero = real(0),
          unseen = real(-std::numeric_limits<double>::infinity());
    Value yes = b.create<arith::ConstantOp>(loc, b.getBoolAttr(true)),
          no = b.create<arith::ConstantOp>(loc, b.getBoolAttr(false)), end = endOfRow();
    const Values keys = keysOfThread();
    Values values, seen;
    for (auto [nth, key] : llvm::enumerate(keys)) {
      auto scoreOf = [&, at = key]() -> Values {
        Value score = make<arith::MulFOp>(load(scores, {row, at}), scale);
        if (kernels.maskType.empty())
          return {score, yes};
        Value entry = load(arguments[1], at);
        Value off = b.create<arith::ConstantOp>(loc, b.getZeroAttr(entry.getType()));
        Value isOn = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, entry, off);
        return {choose(isOn, score, unseen), isOn};
      };
      const Values found = ofSeen(nth, key, end, scoreOf, {unseen, no});
      values.push_back(found[0]);
      seen.push_back(found[1]);
    }
    Value max = ofRow<arith::MaximumFOp>(values);
    Value isUnseen = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, max, unseen);
    Value shift = choose(isUnseen, zero, max);
    for (auto [value, isSeen] : llvm::zip(values, seen))
      value = choose(isSeen, b.create<math::ExpOp>(loc, make<arith::SubFOp>(value, shift)), zero);
    Value sum = ofRow<arith::AddFOp>(values), one = real(1);
    Value isNone = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, sum, zero);
    Value share = make<arith::DivFOp>(one, choose(isNone, one, sum));
    for (auto [nth, key] : llvm::enumerate(keys))
      storeKey(nth, make<arith::MulFOp>(values[nth], share), scores, key);
    if (kernels.hasStatistics)
      emitIf(isEqual(threadOfRow(), number(0)), [&] {
        Value logarithm = make<arith::AddFOp>(max, b.create<math::LogOp>(loc, sum));
        store(choose(isNone, zero, logarithm), arguments.back(), row);
      });
  }

  void emitGradient(ValueRange arguments) {
    Value probabilities = arguments[0], gradient = arguments[1], zero = real(0), end = endOfRow();
    const Values keys = keysOfThread();
    Values weights, slopes, products;
    for (auto [nth, key] : llvm::enumerate(keys)) {
      auto both = [&, at = key]() -> Values { return {load(probabilities, {row, at}), load(gradient, {row, at})}; };
      const Values found = ofSeen(nth, key, end, both, {zero, zero});
      weights.push_back(found[0]);
      slopes.push_back(found[1]);
      products.push_back(make<arith::MulFOp>(found[0], found[1]));
    }
    Value dot = ofRow<arith::AddFOp>(products), scale = real(kernels.scale);
    for (auto [nth, key] : llvm::enumerate(keys)) {
      Value product = make<arith::MulFOp>(weights[nth], make<arith::SubFOp>(slopes[nth], dot));
      storeKey(nth, make<arith::MulFOp>(product, scale), gradient, key);
    }
  }

  const AttentionRowsKernels &kernels;
  const Type type;
  const int64_t warps; ///< the warps of a row
  Value row;           ///< the row of the thread
  Value byWarp;        ///< shared memory with one element per warp of the row; null if it has only one warp
};

} // namespace

std::string AttentionRowsKernels::module() const {
  return kernelText([&](MLIRContext &context, ModuleOp module) { Emitter(*this, context).emit(module); });
}

} // namespace splitcast::runtime
