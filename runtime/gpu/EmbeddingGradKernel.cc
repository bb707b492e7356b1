#include "runtime/gpu/EmbeddingGradKernel.h"

#include "runtime/gpu/ThreadKernel.h"

#include "mlir/AsmParser/AsmParser.h"

#include <algorithm>

using namespace mlir;

namespace splitcast::runtime {
namespace {

/// A block sorts kSorted indices, one per lane. Each of its kSortWarps warps
/// compares them with a part of all indices, and loads kLooksAhead keys before
/// it compares them.
constexpr int64_t kSorted = kWarpLanes, kSortWarps = 8, kLooksAhead = 8;
/// The size of blocks of elementwise work.
constexpr int64_t kThreadWarps = 8, kThreads = kThreadWarps * kWarpLanes;
/// A lane sums up to kMostColumns columns at once, and loads kRowsAtOnce rows
/// of the gradient before it adds them.
constexpr int64_t kMostColumns = 8, kRowsAtOnce = 4;

class Emitter : ThreadKernel {
public:
  Emitter(const EmbeddingGradKernel &kernel, MLIRContext &context)
      : ThreadKernel(context), kernel(kernel), element(parseType(nameOf(kernel.type), &context)),
        sumType(kernel.type == ElementType::F64 ? b.getF64Type() : b.getF32Type()) {}

  void emit(ModuleOp module) {
    auto rows = MemRefType::get({kernel.rows, kernel.width}, element),
         ids = MemRefType::get({kernel.rows}, parseType(nameOf(kernel.index), b.getContext())),
         made = MemRefType::get({kernel.vocabulary, kernel.width}, element),
         words = MemRefType::get({kernel.workspaceWords()}, b.getI32Type());
    function(module, "embedding_grad", {rows, ids, made, words}, [&](ValueRange arguments) {
      gradient = arguments[0], indices = arguments[1], table = arguments[2], workspace = arguments[3];
      emitKeys();
      emitSort();
      emitStarts();
      emitSums();
    });
  }

private:
  /// Launches one thread for each number of [0, count).
  void launchThreads(int64_t count, function_ref<void(Value)> body) {
    launch((count + kThreads - 1) / kThreads, kThreadWarps, {}, [&](ValueRange) {
      Value i = add(times(block, kThreads), add(times(warp, kWarpLanes), lane));
      emitIf(isBelow(i, number(count)), [&] { body(i); });
    });
  }

  //===--------------------------------------------------------------------===//
  // The parts of the workspace, in order
  //===--------------------------------------------------------------------===//

  /// For each index, its key: the row of the table that it names, or
  /// `vocabulary` if it names none.
  Value keyAt(Value position) { return load(workspace, position); }
  /// The positions of the indices, sorted by key and then by position.
  Value sortedPosition(Value i) { return toIndex(load(workspace, add(i, number(kernel.rows)))); }
  /// The keys in that order.
  Value sortedKey(Value i) { return load(workspace, add(i, number(2 * kernel.rows))); }
  /// Where the indices of each row begin in that order; startOf(vocabulary) is
  /// where those of the last row end.
  Value startOf(Value row) { return toIndex(load(workspace, add(row, number(3 * kernel.rows)))); }

  void emitKeys() {
    launchThreads(kernel.rows, [&](Value i) {
      Value id = toIndex(load(indices, i));
      Value row = kernel.first == 0 ? id : minus(id, number(kernel.first));
      store(toWord(least(row, number(kernel.vocabulary))), workspace,
            i); // unsigned: an index below the table becomes large, too
    });
  }

  //===--------------------------------------------------------------------===//
  // Sorting: an index's place is the number of indices that come before it
  //===--------------------------------------------------------------------===//

  void emitSort() {
    const SharedArray perWarp = {{kSortWarps, kSorted}, b.getI32Type()};
    launch((kernel.rows + kSorted - 1) / kSorted, kSortWarps, perWarp, [&](ValueRange shared) {
      Value counts = shared.front(), begin = times(block, kSorted), own = add(begin, lane), rows = number(kernel.rows);
      Value key = keyAt(least(own, number(kernel.rows - 1)));
      const int64_t part = (kernel.rows + kSortWarps - 1) / kSortWarps;
      Value from = least(times(warp, part), rows), to = least(add(from, number(part)), rows);
      Value here = inside(begin, from, to), behind = inside(add(begin, number(kSorted)), from, to);
      Value one = word(1), behindOwn = add(key, one);
      // Indices of equal keys keep their order. So an equal key counts if it
      // stands before this block's indices, or within them before this lane's.
      Value count = countBelow(from, here, behindOwn, word(0));
      count = loop(here, behind, number(1), {count}, [&](Value i, ValueRange sum) -> Values {
                Value bound = choose(isBelow(i, own), behindOwn, key);
                return {addIfBelow(keyAt(i), bound, sum.front())};
              }).front();
      store(countBelow(behind, to, key, count), counts, ValueRange{warp, lane});
      barrier();
      Value isFirst = make<arith::AndIOp>(isEqual(warp, number(0)), isBelow(own, rows));
      emitIf(isFirst, [&] {
        Value place = number(0);
        for (int64_t other = 0; other < kSortWarps; ++other)
          place = add(place, toIndex(load(counts, ValueRange{number(other), lane})));
        store(toWord(own), workspace, add(place, rows));
        store(key, workspace, add(place, number(2 * kernel.rows)));
      });
    });
  }

  Value inside(Value x, Value from, Value to) { return make<arith::MaxUIOp>(from, least(x, to)); }
  Value addIfBelow(Value key, Value bound, Value sum) {
    return add(sum, choose(isBelow(key, bound), word(1), word(0)));
  }

  /// Returns `count` plus the number of keys of [from, to) below the bound. All
  /// lanes of a warp read the same key.
  Value countBelow(Value from, Value to, Value bound, Value count) {
    Value whole = minus(to, rest(minus(to, from), kLooksAhead));
    count = loop(from, whole, number(kLooksAhead), {count}, [&](Value at, ValueRange sum) -> Values {
              Values keys;
              for (int64_t i = 0; i < kLooksAhead; ++i)
                keys.push_back(keyAt(add(at, number(i))));
              Value next = sum.front();
              for (Value key : keys)
                next = addIfBelow(key, bound, next);
              return {next};
            }).front();
    return loop(whole, to, number(1), {count},
                [&](Value at, ValueRange sum) -> Values { return {addIfBelow(keyAt(at), bound, sum.front())}; })
        .front();
  }

  /// Finds for each row, by binary search, how many sorted keys are smaller.
  void emitStarts() {
    launchThreads(kernel.vocabulary + 1, [&](Value row) {
      Value low = number(0), left = number(kernel.rows);
      for (int64_t most = kernel.rows; most > 0; most /= 2) { // `left` is at most `most`
        Value half = quotient(left, 2), middle = add(low, half);
        Value isAny = isBelow(number(0), left);
        Value key = sortedKey(least(middle, number(kernel.rows - 1)));
        Value goesUp = make<arith::AndIOp>(isAny, isBelow(key, toWord(row)));
        low = choose(goesUp, add(middle, number(1)), low);
        left = choose(goesUp, minus(minus(left, half), number(1)), half);
      }
      store(toWord(low), workspace, add(row, number(3 * kernel.rows)));
    });
  }

  //===--------------------------------------------------------------------===//
  // Rows of the table
  //===--------------------------------------------------------------------===//

  /// A block computes a slice of the columns of kPieces rows. These rows lie
  /// far apart, since frequent rows may be neighbors.
  void emitSums() {
    const int64_t perLane = std::min(kMostColumns, (kernel.width + kWarpLanes - 1) / kWarpLanes);
    const int64_t slice = perLane * kWarpLanes, slices = (kernel.width + slice - 1) / slice;
    const int64_t blocks = (kernel.vocabulary + kPieces - 1) / kPieces;
    const SharedArray perWarp = {{kPieces, slice}, sumType};
    launch(blocks * slices, kPieces, perWarp, [&](ValueRange shared) {
      Value begin = times(rest(block, slices), slice);
      Value first = quotient(block, slices);
      Values columns = {add(begin, lane)};
      while (static_cast<int64_t>(columns.size()) < perLane)
        columns.push_back(add(columns.back(), number(kWarpLanes)));
      Value own = add(first, times(warp, blocks));
      emitIf(isBelow(own, number(kernel.vocabulary)), [&] {
        Value from = startOf(own), to = startOf(add(own, number(1)));
        Value isFew = isBelow(minus(to, from), number(EmbeddingGradKernel::kMostAlone + 1));
        emitIf(isFew, [&] { storeRow(own, columns, sumListed(from, to, columns)); });
      });
      loop(first, number(kernel.vocabulary), number(blocks), {}, [&](Value row, ValueRange) -> Values {
        Value from = startOf(row), occurs = minus(startOf(add(row, number(1))), from);
        emitIf(isBelow(number(EmbeddingGradKernel::kMostAlone), occurs), // uniform in the block
               [&] { sumTogether(row, from, occurs, columns, shared.front()); });
        return {};
      });
    });
  }

  /// Sums a frequent row with all warps of the block: each sums one piece of
  /// its list, and the first one adds the sums of the pieces, in order.
  void sumTogether(Value row, Value from, Value occurs, ArrayRef<Value> columns, Value shared) {
    auto startOfPiece = [&](Value piece) { return add(from, quotient(make<arith::MulIOp>(occurs, piece), kPieces)); };
    Values sums = sumListed(startOfPiece(warp), startOfPiece(add(warp, number(1))), columns);
    auto placeOf = [&](Value piece, size_t column) {
      return Values{piece, add(lane, number(static_cast<int64_t>(column) * kWarpLanes))};
    };
    for (auto [column, sum] : llvm::enumerate(sums))
      store(sum, shared, placeOf(warp, column));
    barrier();
    emitIf(isEqual(warp, number(0)), [&] {
      Values totals;
      for (size_t column = 0; column < columns.size(); ++column) {
        Value total = load(shared, placeOf(number(0), column));
        for (int64_t piece = 1; piece < kPieces; ++piece)
          total = make<arith::AddFOp>(total, load(shared, placeOf(number(piece), column)));
        totals.push_back(total);
      }
      storeRow(row, columns, totals);
    });
    barrier(); // the next row uses the same memory
  }

  /// Sums the rows of the gradient at the sorted positions [begin, end), in
  /// order.
  Values sumListed(Value begin, Value end, ArrayRef<Value> columns) {
    Value zero = b.create<arith::ConstantOp>(loc, b.getZeroAttr(sumType));
    Value whole = minus(end, rest(minus(end, begin), kRowsAtOnce));
    Values sums = loop(begin, whole, number(kRowsAtOnce), Values(columns.size(), zero), [&](Value at, ValueRange from) {
      SmallVector<Values> addends;
      for (int64_t i = 0; i < kRowsAtOnce; ++i)
        addends.push_back(addendsOf(sortedPosition(add(at, number(i))), columns));
      Values next = llvm::to_vector_of<Value>(from);
      for (const Values &ofRow : addends)
        next = addRow(next, ofRow);
      return next;
    });
    return loop(whole, end, number(1), sums,
                [&](Value at, ValueRange from) { return addRow(from, addendsOf(sortedPosition(at), columns)); });
  }

  /// Loads one row of the gradient. Columns beyond the width load the last
  /// column; their sums are not stored.
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
      result.push_back(make<arith::AddFOp>(sum, wide));
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
  const Type element, sumType;
  static constexpr int64_t kPieces = EmbeddingGradKernel::kPieces;
  Value gradient, indices, table, workspace; ///< the arguments of the kernel
};

} // namespace

std::string EmbeddingGradKernel::module() const {
  return kernelText([&](MLIRContext &context, ModuleOp module) { Emitter(*this, context).emit(module); });
}

} // namespace splitcast::runtime
