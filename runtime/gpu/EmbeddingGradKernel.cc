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

/// Rows of the table that a block makes, its warps, and the parts of the indices, of each of which a thread lists a
/// row.
constexpr int64_t kBlockRows = 64, kWarps = 8, kParts = kWarps * kWarpLanes / kBlockRows;
/// Sums that a lane keeps in registers, indices that a thread loads before it looks at one, and rows that a warp adds
/// at once, as long as that are few addends.
constexpr int64_t kMostSums = 32, kLooksAhead = 8, kMostRows = 4, kMostAddends = 64;

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
         made = MemRefType::get({kernel.vocabulary, kernel.width}, element),
         listed = MemRefType::get({kernel.rows}, b.getI32Type());
    auto function = b.create<func::FuncOp>(loc, "embedding_grad", b.getFunctionType({rows, ids, made, listed}, {}));
    Block *block = function.addEntryBlock();
    gradient = block->getArgument(0), indices = block->getArgument(1), table = block->getArgument(2);
    positions = block->getArgument(3);
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
  Value times(Value x, int64_t y) { return b.create<arith::MulIOp>(loc, x, number(y)); }
  Value least(Value x, Value y) { return b.create<arith::MinUIOp>(loc, x, y); }
  Value isBelow(Value x, Value y) { return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, x, y); }
  Value isEqual(Value x, Value y) { return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, x, y); }
  Value choose(Value condition, Value x, Value y) { return b.create<arith::SelectOp>(loc, condition, x, y); }
  Value toIndex(Value integer) { return b.create<arith::IndexCastOp>(loc, b.getIndexType(), integer); }
  Value toCount(Value condition) { return choose(condition, number(1), number(0)); }
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
  void emitLaunch() {
    auto space = gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
    auto shared = [&](ArrayRef<int64_t> shape) {
      return MemRefType::get(shape, b.getI32Type(), MemRefLayoutAttrInterface(), space);
    };
    Value one = number(1), blocks = number((kernel.vocabulary + kBlockRows - 1) / kBlockRows);
    auto launch = b.create<gpu::LaunchOp>(
        loc, blocks, one, one, number(kWarpLanes), number(kWarps), one, Value(), Type(), ValueRange(),
        TypeRange{shared({kParts, kBlockRows}), shared({kParts}), shared({kBlockRows}), shared({kBlockRows})});
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&launch.getBody().front());
    lane = launch.getThreadIds().x, warp = launch.getThreadIds().y;
    counts = launch.getWorkgroupAttributions()[0], before = launch.getWorkgroupAttributions()[1];
    starts = launch.getWorkgroupAttributions()[2], totals = launch.getWorkgroupAttributions()[3];
    first = times(launch.getBlockIds().x, kBlockRows);
    Value thread = add(times(warp, kWarpLanes), lane);
    row = b.create<arith::RemUIOp>(loc, thread, number(kBlockRows));
    part = b.create<arith::DivUIOp>(loc, thread, number(kBlockRows));
    count();
    b.create<gpu::BarrierOp>(loc);
    Value total = totalOf(row);
    emitIf(isEqual(part, number(0)), [&] { store(toWord(total), totals, row); });
    b.create<gpu::BarrierOp>(loc);
    list(startOfRow());
    b.create<gpu::BarrierOp>(loc);
    emitRows();
    b.create<gpu::TerminatorOp>(loc);
  }

  //===--------------------------------------------------------------------===//
  // Where the rows of the block occur
  //===--------------------------------------------------------------------===//

  /// For each index of the thread's part, in order: its position, and the row of the table that it names. All threads
  /// of a warp look at the same one.
  Values scan(const Values &start, function_ref<Values(Value, Value, ValueRange)> body) {
    const int64_t perPart = (kernel.rows + kParts - 1) / kParts;
    Value begin = least(times(part, perPart), number(kernel.rows)),
          end = least(add(times(part, perPart), number(perPart)), number(kernel.rows));
    Value whole =
        b.create<arith::SubIOp>(loc, end, b.create<arith::RemUIOp>(loc, minus(end, begin), number(kLooksAhead)));
    Values carried = loop(begin, whole, number(kLooksAhead), start, [&](Value from, ValueRange values) {
      Values at = {from}, ids;
      while (at.size() < static_cast<size_t>(kLooksAhead))
        at.push_back(add(at.back(), number(1)));
      for (Value position : at)
        ids.push_back(rowAt(position));
      Values next = llvm::to_vector_of<Value>(values);
      for (auto [position, id] : llvm::zip(at, ids))
        next = body(position, id, next);
      return next;
    });
    return loop(whole, end, number(1), carried,
                [&](Value position, ValueRange values) { return body(position, rowAt(position), values); });
  }

  /// The row of the table that the index at a position names; one beyond all, as an unsigned number, where it names
  /// none.
  Value rowAt(Value position) {
    Value id = toIndex(load(indices, position));
    return kernel.first == 0 ? id : minus(id, number(kernel.first));
  }

  /// How often the row occurs in the part, and how many rows of earlier blocks do.
  void count() {
    Value wanted = add(first, row);
    Values found = scan({number(0), number(0)}, [&](Value, Value id, ValueRange sums) -> Values {
      return {add(sums[0], toCount(isEqual(id, wanted))), add(sums[1], toCount(isBelow(id, first)))};
    });
    store(toWord(found[0]), counts, ValueRange{part, row});
    emitIf(isEqual(row, number(0)), [&] { store(toWord(found[1]), before, part); });
  }

  Value totalOf(Value ofRow) {
    Value total = number(0);
    for (int64_t other = 0; other < kParts; ++other)
      total = add(total, toIndex(load(counts, ValueRange{number(other), ofRow})));
    return total;
  }

  /// Where in the list the row's positions begin: behind those of all rows before it.
  Value startOfRow() {
    Value start = number(0);
    for (int64_t other = 0; other < kParts; ++other)
      start = add(start, toIndex(load(before, number(other))));
    return loop(number(0), row, number(1), {start},
                [&](Value other, ValueRange sum) -> Values { return {add(sum.front(), toIndex(load(totals, other)))}; })
        .front();
  }

  /// Positions of the row in the part, behind those of the parts before.
  void list(Value start) {
    emitIf(isEqual(part, number(0)), [&] { store(toWord(start), starts, row); });
    for (int64_t other = 0; other + 1 < kParts; ++other)
      start = add(start, choose(isBelow(number(other), part), toIndex(load(counts, ValueRange{number(other), row})),
                                number(0)));
    Value wanted = add(first, row);
    scan({start}, [&](Value position, Value id, ValueRange at) -> Values {
      Value isOne = isEqual(id, wanted);
      emitIf(isOne, [&] { store(toWord(position), positions, at.front()); });
      return {add(at.front(), toCount(isOne))};
    });
  }

  //===--------------------------------------------------------------------===//
  // Rows of the table
  //===--------------------------------------------------------------------===//

  void emitRows() {
    const int64_t sums = std::min(kMostSums, (kernel.width + kWarpLanes - 1) / kWarpLanes);
    loop(warp, number(kBlockRows), number(kWarps), {}, [&](Value ofBlock, ValueRange) -> Values {
      Value inTable = add(first, ofBlock);
      emitIf(isBelow(inTable, number(kernel.vocabulary)), [&] {
        loop(number(0), number(kernel.width), number(sums * kWarpLanes), {}, [&](Value begin, ValueRange) -> Values {
          Values columns = {add(begin, lane)};
          while (static_cast<int64_t>(columns.size()) < sums)
            columns.push_back(add(columns.back(), number(kWarpLanes)));
          storeRow(inTable, columns, sumListed(ofBlock, columns));
          return {};
        });
      });
      return {};
    });
  }

  Values sumListed(Value ofBlock, ArrayRef<Value> columns) {
    const int64_t addendsPerRow = static_cast<int64_t>(columns.size()) * (sumType.isF64() ? 2 : 1);
    const int64_t rowsAtOnce = std::clamp<int64_t>(kMostAddends / addendsPerRow, 1, kMostRows);
    Value zero = b.create<arith::ConstantOp>(loc, b.getZeroAttr(sumType));
    Value begin = toIndex(load(starts, ofBlock)), occurs = toIndex(load(totals, ofBlock));
    Value end = add(begin, occurs);
    Value whole = minus(end, b.create<arith::RemUIOp>(loc, occurs, number(rowsAtOnce)));
    Values sums = loop(begin, whole, number(rowsAtOnce), Values(columns.size(), zero), [&](Value at, ValueRange from) {
      SmallVector<Values> addends;
      for (int64_t i = 0; i < rowsAtOnce; ++i)
        addends.push_back(addendsOf(toIndex(load(positions, add(at, number(i)))), columns));
      Values next = llvm::to_vector_of<Value>(from);
      for (const Values &ofRow : addends)
        next = addRow(next, ofRow);
      return next;
    });
    return loop(whole, end, number(1), sums, [&](Value at, ValueRange from) {
      return addRow(from, addendsOf(toIndex(load(positions, at)), columns));
    });
  }

  /// Columns beyond the width are the last, and not stored.
  Values addendsOf(Value position, ArrayRef<Value> columns) {
    Values addends;
    for (Value column : columns)
      addends.push_back(load(gradient, ValueRange{position, least(column, number(kernel.width - 1))}));
    return addends;
  }

  Values addRow(ValueRange sums, ArrayRef<Value> addends) {
    Values result;
    for (auto [sum, addend] : llvm::zip(sums, addends)) {
      Value wide = element == sumType ? addend : b.create<arith::ExtFOp>(loc, sumType, addend).getResult();
      result.push_back(b.create<arith::AddFOp>(loc, sum, wide));
    }
    return result;
  }

  void storeRow(Value inTable, ArrayRef<Value> columns, ArrayRef<Value> sums) {
    for (auto [column, sum] : llvm::zip(columns, sums))
      emitIf(isBelow(column, number(kernel.width)), [&, at = column, total = sum] {
        store(element == sumType ? total : b.create<arith::TruncFOp>(loc, element, total).getResult(), table,
              ValueRange{inTable, at});
      });
  }

  const EmbeddingGradKernel &kernel;
  const Location loc;
  OpBuilder b;
  const Type element, sumType;
  Value gradient, indices, table, positions; ///< arguments; the last is the workspace, the list
  Value first;                               ///< row of the table that is the block's
  Value lane, warp, row, part;               ///< of the thread; the row, of the block, that it lists
  /// Shared by the block: of each part, how often each row occurs and how many rows of earlier blocks do; where each
  /// row's positions begin, and how many they are.
  Value counts, before, starts, totals;
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
