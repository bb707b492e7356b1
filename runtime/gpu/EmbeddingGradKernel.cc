#include "runtime/gpu/EmbeddingGradKernel.h"

#include "runtime/gpu/GpuProgram.h"
#include "runtime/gpu/WarpKernel.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace mlir;

namespace splitcast::runtime {
namespace {

/// Rows of the table that a block makes, its warps, and occurrences of those rows that it can list.
constexpr int64_t kBlockRows = 64, kWarps = 8, kListed = 4096;
/// Sums that a lane keeps in registers.
constexpr int64_t kMostSums = 32;

/// Emits into a module. Names are short: the text is a kernel's.
class Emitter {
public:
  Emitter(const EmbeddingGradKernel &kernel, MLIRContext &context)
      : kernel(kernel), loc(UnknownLoc::get(&context)), b(&context), element(parseType(nameOf(kernel.type), &context)),
        sumType(kernel.type == ElementType::F64 ? b.getF64Type() : b.getF32Type()) {}

  OwningOpRef<ModuleOp> emit() {
    OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
    b.setInsertionPointToEnd(module->getBody());
    auto rows = MemRefType::get({kernel.rows, kernel.width}, element),
         ids = MemRefType::get({kernel.rows}, parseType(nameOf(kernel.index), b.getContext())),
         made = MemRefType::get({kernel.vocabulary, kernel.width}, element);
    auto function = b.create<func::FuncOp>(loc, "embedding_grad", b.getFunctionType({rows, ids, made}, {}));
    Block *block = function.addEntryBlock();
    gradient = block->getArgument(0), indices = block->getArgument(1), table = block->getArgument(2);
    b.setInsertionPointToEnd(block);
    emitLaunch();
    b.create<func::ReturnOp>(loc);
    return module;
  }

private:
  using Values = SmallVector<Value>;

  Value number(int64_t value) { return b.create<arith::ConstantIndexOp>(loc, value); }
  Value add(Value x, Value y) { return b.create<arith::AddIOp>(loc, x, y); }
  Value minus(Value x, Value y) { return b.create<arith::SubIOp>(loc, x, y); }
  Value least(Value x, Value y) { return b.create<arith::MinUIOp>(loc, x, y); }
  Value isBelow(Value x, Value y) { return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, x, y); }
  Value isEqual(Value x, Value y) { return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, x, y); }
  Value choose(Value condition, Value x, Value y) { return b.create<arith::SelectOp>(loc, condition, x, y); }
  Value toIndex(Value integer) { return b.create<arith::IndexCastOp>(loc, b.getIndexType(), integer); }
  Value toWord(Value index) { return b.create<arith::IndexCastOp>(loc, b.getI32Type(), index); }
  Value load(Value from, ValueRange at) { return b.create<memref::LoadOp>(loc, from, at); }
  void store(Value value, Value to, ValueRange at) { b.create<memref::StoreOp>(loc, value, to, at); }

  Values loop(Value from, Value to, Value step, const Values &start, function_ref<Values(Value, ValueRange)> body) {
    auto op = b.create<scf::ForOp>(loc, from, to, step, start, [&](OpBuilder &, Location, Value i, ValueRange carried) {
      b.create<scf::YieldOp>(loc, body(i, carried));
    });
    return op.getResults();
  }
  void emitIf(Value condition, function_ref<void()> then) {
    b.create<scf::IfOp>(loc, condition, [&](OpBuilder &, Location) {
      then();
      b.create<scf::YieldOp>(loc);
    });
  }
  Values emitIf(Value condition, function_ref<Values()> then, function_ref<Values()> otherwise) {
    auto op = b.create<scf::IfOp>(
        loc, condition, [&](OpBuilder &, Location) { b.create<scf::YieldOp>(loc, then()); },
        [&](OpBuilder &, Location) { b.create<scf::YieldOp>(loc, otherwise()); });
    return op.getResults();
  }
  Value ofLane(Value value, int32_t differs) {
    return b.create<gpu::ShuffleOp>(loc, value, differs, static_cast<int32_t>(kWarpLanes), gpu::ShuffleMode::XOR)
        .getShuffleResult();
  }

  void emitLaunch() {
    auto space = gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
    auto shared = [&](int64_t count) {
      return MemRefType::get({count}, b.getI32Type(), MemRefLayoutAttrInterface(), space);
    };
    Value one = number(1), blocks = number((kernel.vocabulary + kBlockRows - 1) / kBlockRows);
    auto launch =
        b.create<gpu::LaunchOp>(loc, blocks, one, one, number(kWarpLanes), number(kWarps), one, Value(), Type(),
                                ValueRange(), TypeRange{shared(kListed), shared(kListed), shared(kWarps)});
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&launch.getBody().front());
    lane = launch.getThreadIds().x, warp = launch.getThreadIds().y;
    positions = launch.getWorkgroupAttributions()[0], rowsOfBlock = launch.getWorkgroupAttributions()[1];
    Value counts = launch.getWorkgroupAttributions()[2];
    first = b.create<arith::MulIOp>(loc, launch.getBlockIds().x, number(kBlockRows));
    emitIf(isEqual(lane, number(0)), [&, count = countOfWarp()] { store(toWord(count), counts, warp); });
    b.create<gpu::BarrierOp>(loc);
    Value before = number(0), all = number(0);
    for (int64_t other = 0; other < kWarps; ++other) {
      Value count = toIndex(load(counts, number(other)));
      before = choose(isBelow(number(other), warp), add(before, count), before);
      all = add(all, count);
    }
    Value isListed = isBelow(all, number(kListed + 1)); // the same for all threads of the block
    emitIf(isListed, [&] { list(before); });
    b.create<gpu::BarrierOp>(loc);
    emitRows(isListed, all);
    b.create<gpu::TerminatorOp>(loc);
  }

  //===--------------------------------------------------------------------===//
  // Which indices name rows of the block
  //===--------------------------------------------------------------------===//

  /// For each of the warp's part of the indices, side by side: its position, its row of the block, and whether it is
  /// one.
  Values scan(const Values &start, function_ref<Values(Value, Value, Value, ValueRange)> body) {
    constexpr int64_t kTogether = kWarps * kWarpLanes;
    const int64_t part = (kernel.rows + kTogether - 1) / kTogether * kWarpLanes;
    Value count = number(kernel.rows);
    Value begin = least(b.create<arith::MulIOp>(loc, warp, number(part)), count);
    return loop(
        begin, least(add(begin, number(part)), count), number(kWarpLanes), start, [&](Value base, ValueRange carried) {
          Value position = add(base, lane);
          Value row = minus(toIndex(load(indices, least(position, number(kernel.rows - 1)))), first);
          Value isOne = b.create<arith::AndIOp>(loc, isBelow(row, number(kBlockRows)), isBelow(position, count));
          return body(position, row, isOne, carried);
        });
  }

  Value countOfWarp() {
    Value count = scan({number(0)}, [&](Value, Value, Value isOne, ValueRange carried) -> Values {
                    return {add(carried.front(), choose(isOne, number(1), number(0)))};
                  }).front();
    for (int32_t differs = kWarpLanes / 2; differs > 0; differs /= 2)
      count = add(count, toIndex(ofLane(toWord(count), differs)));
    return count;
  }

  /// From there on, in order.
  void list(Value from) {
    scan({from}, [&](Value position, Value row, Value isOne, ValueRange carried) -> Values {
      // Of the lanes that differ from this one in the lower bits alone: how many are before it, and how many there are.
      Value before = number(0), count = choose(isOne, number(1), number(0));
      for (int32_t differs = 1; differs < kWarpLanes; differs *= 2) {
        Value other = toIndex(ofLane(toWord(count), differs));
        Value isUpper = isEqual(b.create<arith::AndIOp>(loc, lane, number(differs)), number(differs));
        before = choose(isUpper, add(before, other), before);
        count = add(count, other);
      }
      emitIf(isOne, [&] {
        Value at = add(carried.front(), before);
        store(toWord(position), positions, at);
        store(toWord(row), rowsOfBlock, at);
      });
      return {add(carried.front(), count)};
    });
  }

  //===--------------------------------------------------------------------===//
  // Rows of the table
  //===--------------------------------------------------------------------===//

  void emitRows(Value isListed, Value listed) {
    const int64_t sums = std::min(kMostSums, (kernel.width + kWarpLanes - 1) / kWarpLanes);
    loop(warp, number(kBlockRows), number(kWarps), {}, [&](Value row, ValueRange) -> Values {
      Value inTable = add(first, row);
      emitIf(isBelow(inTable, number(kernel.vocabulary)), [&] {
        loop(number(0), number(kernel.width), number(sums * kWarpLanes), {}, [&](Value begin, ValueRange) -> Values {
          Values columns = {add(begin, lane)};
          while (static_cast<int64_t>(columns.size()) < sums)
            columns.push_back(add(columns.back(), number(kWarpLanes)));
          storeRow(inTable, columns,
                   emitIf(
                       isListed, [&] { return sumListed(row, listed, columns); },
                       [&] { return sumOfAll(inTable, columns); }));
          return {};
        });
      });
      return {};
    });
  }

  Values sumListed(Value row, Value listed, ArrayRef<Value> columns) {
    return sumRows(listed, columns, [&](Value entry) {
      return std::pair(isEqual(toIndex(load(rowsOfBlock, entry)), row), toIndex(load(positions, entry)));
    });
  }

  Values sumOfAll(Value row, ArrayRef<Value> columns) {
    return sumRows(number(kernel.rows), columns,
                   [&](Value position) { return std::pair(isEqual(toIndex(load(indices, position)), row), position); });
  }

  /// Of the `count` entries, `find` says whether one counts, and which row of the gradient it is.
  Values sumRows(Value count, ArrayRef<Value> columns, function_ref<std::pair<Value, Value>(Value)> find) {
    Value zero = b.create<arith::ConstantOp>(loc, b.getZeroAttr(sumType));
    return loop(number(0), count, number(1), Values(columns.size(), zero), [&](Value entry, ValueRange sums) {
      auto [counts, position] = find(entry);
      return emitIf(
          counts, [&, at = position] { return addRow(at, columns, sums); },
          [&] { return llvm::to_vector_of<Value>(sums); });
    });
  }

  /// Columns beyond the width are the last, and not stored.
  Values addRow(Value position, ArrayRef<Value> columns, ValueRange sums) {
    Values addends, result;
    for (Value column : columns)
      addends.push_back(load(gradient, ValueRange{position, least(column, number(kernel.width - 1))}));
    for (auto [sum, addend] : llvm::zip(sums, addends)) {
      Value wide = element == sumType ? addend : b.create<arith::ExtFOp>(loc, sumType, addend).getResult();
      result.push_back(b.create<arith::AddFOp>(loc, sum, wide));
    }
    return result;
  }

  void storeRow(Value row, ArrayRef<Value> columns, ArrayRef<Value> sums) {
    for (auto [column, sum] : llvm::zip(columns, sums))
      emitIf(isBelow(column, number(kernel.width)), [&, at = column, total = sum] {
        store(element == sumType ? total : b.create<arith::TruncFOp>(loc, element, total).getResult(), table,
              ValueRange{row, at});
      });
  }

  const EmbeddingGradKernel &kernel;
  const Location loc;
  OpBuilder b;
  const Type element, sumType;
  Value gradient, indices, table; ///< arguments
  Value lane, warp;               ///< of the thread
  Value first;                    ///< row of the block
  Value positions, rowsOfBlock;   ///< the list
};

} // namespace

std::string EmbeddingGradKernel::module() const {
  DialectRegistry registry;
  registerGpuKernelDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  std::string text;
  llvm::raw_string_ostream stream(text);
  Emitter(*this, context).emit()->print(stream);
  return text;
}

} // namespace splitcast::runtime
