#include "runtime/gpu/EmbeddingGradKernel.h"

#include "runtime/gpu/ThreadKernel.h"

#include "mlir/AsmParser/AsmParser.h"

#include <algorithm>

using namespace mlir;

namespace splitcast::runtime {
namespace {

/// Indices that a block sorts, a lane for each; its warps, each of which compares them with a part of all; and keys
/// that a thread loads before it looks at one.
constexpr int64_t kSorted = kWarpLanes, kSortWarps = 8, kLooksAhead = 8;
/// Threads of a block of what is done for each element by itself.
constexpr int64_t kThreadWarps = 8, kThreads = kThreadWarps * kWarpLanes;
/// Columns that a lane adds up at once, and rows of the gradient that it loads before it adds one.
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
  /// A thread for each of [0, count).
  void launchThreads(int64_t count, function_ref<void(Value)> body) {
    launch((count + kThreads - 1) / kThreads, kThreadWarps, {}, [&](ValueRange) {
      Value i = add(times(block, kThreads), add(times(warp, kWarpLanes), lane));
      emitIf(isBelow(i, number(count)), [&] { body(i); });
    });
  }

  //===--------------------------------------------------------------------===//
  // The workspace, one part behind the other
  //===--------------------------------------------------------------------===//

  /// The row of the table that each index names, or the vocabulary, where it names none.
  Value keyAt(Value position) { return load(workspace, position); }
  /// The positions of the indices, sorted by their keys, then by themselves.
  Value sortedPosition(Value i) { return toIndex(load(workspace, add(i, number(kernel.rows)))); }
  /// Their keys.
  Value sortedKey(Value i) { return load(workspace, add(i, number(2 * kernel.rows))); }
  /// Where a row's begin among these; of the vocabulary, where the last row's end.
  Value startOf(Value row) { return toIndex(load(workspace, add(row, number(3 * kernel.rows)))); }

  void emitKeys() {
    launchThreads(kernel.rows, [&](Value i) {
      Value id = toIndex(load(indices, i));
      Value row = kernel.first == 0 ? id : minus(id, number(kernel.first));
      store(toWord(least(row, number(kernel.vocabulary))), workspace, i); // unsigned: below 0, too
    });
  }

  //===--------------------------------------------------------------------===//
  // Sorting: the place of an index is the number of those that come before it
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
      // Of one key, what comes before this block's does come first.
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

  /// How many keys of [from, to) are below the bound, and `count`. All lanes of a warp look at the same one.
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

  /// By halves: how many sorted keys are below the row's.
  void emitStarts() {
    launchThreads(kernel.vocabulary + 1, [&](Value row) {
      Value low = number(0), left = number(kernel.rows);
      for (int64_t most = kernel.rows; most > 0; most /= 2) { // `left` is at most that
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

  /// A block makes a slice of the columns of kPieces rows, which lie apart, since those that occur often may be
  /// neighbors.
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
        emitIf(isBelow(number(EmbeddingGradKernel::kMostAlone), occurs), // the same for all threads of the block
               [&] { sumTogether(row, from, occurs, columns, shared.front()); });
        return {};
      });
    });
  }

  /// Each warp adds a piece of what is listed; then the first adds the pieces' sums, in order.
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
    barrier(); // the next row's sums go to the same place
  }

  /// Of the rows of the gradient at the sorted positions [begin, end), one after the other.
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
  Value gradient, indices, table, workspace; ///< arguments
};

} // namespace

std::string EmbeddingGradKernel::module() const {
  return kernelText([&](MLIRContext &context, ModuleOp module) { Emitter(*this, context).emit(module); });
}

} // namespace splitcast::runtime
