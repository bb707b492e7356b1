#include "runtime/gpu/TileAttentionKernels.h"

#include "runtime/gpu/TileKernel.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/STLExtras.h"

#include <array>
#include <limits>

using namespace mlir;

namespace splitcast::runtime {
namespace {

/// A block's rows, of which each warp has kTileRows. It keeps tiles of kForward rows of the tensors that it walks over,
/// or of kBackward where it needs more registers.
constexpr int64_t kRows = kTileAttentionRows, kWarps = kRows / kTileRows, kForward = 64, kBackward = 32;

/// A tensor [samples, positions or keys, heads, width] of the call.
struct Tensor {
  Value memory;
  int64_t rows; ///< positions or keys
};

class Emitter : TileKernel {
public:
  Emitter(const TileAttentionKernels &kernels, MLIRContext &context)
      : TileKernel(context, kernels.rounds), kernels(kernels), call(kernels.extents),
        type(parseType(nameOf(kernels.type), &context)), depth((call.width + kTileDepth - 1) / kTileDepth) {}

  void emit(ModuleOp module) {
    const Type query = tensorType(call.positions), key = tensorType(call.keys);
    SmallVector<Type> types = {query, key, key};
    if (call.hasMask)
      types.push_back(MemRefType::get({call.samples, call.keys}, parseType(kernels.maskType, b.getContext())));
    const Type perRow = MemRefType::get({call.samples, call.heads, call.positions}, b.getF32Type());
    const size_t kept = types.size() + (call.isGradient ? 1 : 0); // the place of output and statistics
    if (!call.isGradient || call.hasStatistics)
      types.push_back(query);
    if (call.hasStatistics)
      types.push_back(perRow);
    if (!call.isGradient)
      return function(module, "attention", types, [&](ValueRange arguments) {
        take(arguments);
        takeKept(arguments.drop_front(kept));
        emitForward();
      });
    types.insert(types.begin(), query);
    types.append({query, key, key, MemRefType::get({3, call.samples, call.heads, call.positions}, b.getF32Type())});
    function(module, "attention_grad", types, [&](ValueRange arguments) {
      gradient = {arguments.front(), call.positions};
      take(arguments.drop_front());
      if (call.hasStatistics)
        takeKept(arguments.drop_front(kept));
      workspace = arguments.back();
      const ValueRange results = arguments.take_back(4);
      emitQueryGradient({results[0], call.positions});
      emitKeyGradients({results[1], call.keys}, {results[2], call.keys});
    });
  }

private:
  using Sums = SmallVector<Values>; ///< by tile of kTileColumns columns, a thread's four elements

  MemRefType tensorType(int64_t rows) { return MemRefType::get({call.samples, rows, call.heads, call.width}, type); }
  void take(ValueRange arguments) {
    query = {arguments[0], call.positions}, key = {arguments[1], call.keys}, value = {arguments[2], call.keys};
    mask = call.hasMask ? arguments[3] : Value();
  }

  void takeKept(ValueRange arguments) {
    output = {arguments[0], call.positions};
    statistics = call.hasStatistics ? arguments[1] : Value();
  }

  //===--------------------------------------------------------------------===//
  // Blocks and their rows
  //===--------------------------------------------------------------------===//

  /// Emits a launch with a block for each kRows of `rows` rows of each sample and head, and two tiles of `tileRows`
  /// rows in shared memory. The body gets the first row of the block. Blocks of one head are neighbors, so that the
  /// chip's cache has what they all walk over. With `lastFirst`, those of the last rows come first: with causality,
  /// they have most to do.
  void launchBlocks(int64_t rows, bool lastFirst, int64_t tileRows, function_ref<void(Value)> body) {
    const int64_t blocks = (rows + kRows - 1) / kRows, together = call.samples * call.heads;
    const SharedArray tile = {{tileRows, depth * kTileDepth + 4}, b.getF32Type()}; // 4: no two threads read one bank
    launch(blocks * together, kWarps, {tile, tile}, [&](ValueRange shared) {
      tiles = llvm::to_vector_of<Value>(shared);
      Value ofHead = quotient(block, blocks), nth = rest(block, blocks);
      sample = quotient(ofHead, call.heads), head = rest(ofHead, call.heads);
      group = quotient(lane, 4), inGroup = rest(lane, 4);
      Value first = times(lastFirst ? minus(number(blocks - 1), nth) : nth, kRows);
      Value own = add(add(first, times(warp, kTileRows)), group);
      ownRows = {own, add(own, number(kTileRows / 2))};
      body(first);
    });
  }

  /// Returns the element of a tensor, and 0 beyond its rows and its width.
  Value elementAt(Tensor tensor, Value row, Value column, bool mayBeBeyond) {
    Value at = mayBeBeyond ? least(row, number(tensor.rows - 1)) : row;
    const bool isPadded = call.width % kTileDepth != 0;
    Value inWidth = isPadded ? least(column, number(call.width - 1)) : column;
    Value element = load(tensor.memory, {sample, at, head, inWidth});
    if (type != b.getF32Type())
      element = b.create<arith::ExtFOp>(loc, b.getF32Type(), element);
    if (mayBeBeyond)
      element = choose(isBelow(row, number(tensor.rows)), element, real(0));
    return isPadded ? choose(isBelow(column, number(call.width)), element, real(0)) : element;
  }

  /// Returns this thread's elements of the block's own rows, by step of kTileDepth columns.
  SmallVector<Values> ownElements(Tensor tensor) {
    SmallVector<Values> elements(depth);
    for (int64_t step = 0; step < depth; ++step)
      for (const int64_t half : {0, 4})
        for (Value row : ownRows)
          elements[step].push_back(
              elementAt(tensor, row, add(inGroup, number(step * kTileDepth + half)), tensor.rows % kRows != 0));
    return elements;
  }

  /// Stores a sum over the block's own rows, and scales it.
  void storeOwn(Tensor to, const Sums &sums, ArrayRef<Value> scales) {
    for (auto [nth, row] : llvm::enumerate(ownRows)) {
      auto storeRow = [&, at = row, half = nth] {
        for (int64_t step = 0; step < depth; ++step)
          for (const int64_t odd : {0, 1}) {
            Value column = add(times(inGroup, 2), number(step * kTileColumns + odd));
            Value element = sums[step][2 * half + odd];
            if (!scales.empty())
              element = make<arith::MulFOp>(element, scales[half]);
            if (type != b.getF32Type())
              element = b.create<arith::TruncFOp>(loc, type, element);
            auto one = [&] { store(element, to.memory, {sample, at, head, column}); };
            call.width % kTileDepth == 0 ? one() : emitIf(isBelow(column, number(call.width)), one);
          }
      };
      to.rows % kRows == 0 ? storeRow() : emitIf(isBelow(row, number(to.rows)), storeRow);
    }
  }

  //===--------------------------------------------------------------------===//
  // Tiles
  //===--------------------------------------------------------------------===//

  /// Copies the rows from `first` on of both tensors to the tiles in shared memory. A warp copies every kWarps-th row.
  void fillTiles(Tensor one, Tensor other, Value first, int64_t tileRows) {
    barrier(); // what was there has been read
    Value base = add(first, warp);
    for (auto [tensor, tile] : llvm::zip(std::array{one, other}, tiles))
      for (int64_t from = 0; from < depth * kTileDepth; from += kWarpLanes) {
        Value column = add(lane, number(from));
        auto copyColumn = [&, of = tensor, to = tile] {
          for (int64_t row = 0; row < tileRows; row += kWarps) {
            Value element = elementAt(of, add(base, number(row)), column, of.rows % tileRows != 0);
            store(stored(element), to, {add(warp, number(row)), column});
          }
        };
        from + kWarpLanes <= depth *kTileDepth ? copyColumn()
                                               : emitIf(isBelow(column, number(depth * kTileDepth)), copyColumn);
      }
    barrier();
  }

  /// Returns the products of the block's own rows with the rows of a tile: [own rows, rows of the tile].
  Sums timesRows(ArrayRef<Values> own, Value tile, int64_t tileRows) {
    Sums sums(tileRows / kTileColumns, Values(4, real(0)));
    for (int64_t step = 0; step < depth; ++step) {
      const Operands ofOwn = left(own[step]);
      for (auto [nth, sum] : llvm::enumerate(sums)) {
        Value row = add(group, number(static_cast<int64_t>(nth) * kTileColumns));
        Value column = add(inGroup, number(step * kTileDepth)), other = add(column, number(4));
        sum = addProduct(ofOwn, right({load(tile, {row, column}), load(tile, {row, other})}), sum);
      }
    }
    return sums;
  }

  /// Adds to `sums` the product of weights [own rows, rows of the tile] and the tile.
  Sums addWeighted(const Sums &weights, Value tile, Sums sums) {
    for (auto [nth, of] : llvm::enumerate(weights)) {
      const Operands ofOwn = left({of[0], of[2], of[1], of[3]});
      Value row = add(times(inGroup, 2), number(static_cast<int64_t>(nth) * kTileDepth)), next = add(row, number(1));
      for (auto [step, sum] : llvm::enumerate(sums)) {
        Value column = add(group, number(static_cast<int64_t>(step) * kTileColumns));
        sum = addProduct(ofOwn, right({load(tile, {row, column}), load(tile, {next, column})}), sum);
      }
    }
    return sums;
  }

  /// Walks over tiles of the rows [begin, end), with values that are carried along.
  Values walk(Value begin, Value end, int64_t tileRows, const Values &start,
              function_ref<Values(Value, const Values &)> body) {
    return loop(begin, end, number(tileRows), start,
                [&](Value first, ValueRange carried) { return body(first, llvm::to_vector_of<Value>(carried)); });
  }
  static Values flat(const Sums &sums) {
    Values values;
    for (const Values &of : sums)
      llvm::append_range(values, of);
    return values;
  }
  static Sums unflat(ArrayRef<Value> values) {
    Sums sums;
    for (size_t from = 0; from < values.size(); from += 4)
      sums.push_back(llvm::to_vector_of<Value>(values.slice(from, 4)));
    return sums;
  }
  Values zeros(int64_t count) { return Values(count, real(0)); }

  //===--------------------------------------------------------------------===//
  // Scores
  //===--------------------------------------------------------------------===//

  /// Scores of keys that are not seen, as in the definition of the op: their exponential is 0.
  Value unseen() { return real(-std::numeric_limits<double>::infinity()); }

  /// Returns what is subtracted from the scores of a row: their maximum, or 0 if that is -infinity, whose difference to
  /// itself would be a NaN.
  Value shiftOf(Value max) {
    return choose(b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, max, unseen()), real(0), max);
  }

  /// Scales products of own rows and rows of a tile, which begins at `first`; pairs that do not see each other get the
  /// score unseen(). Own rows are positions, or keys if `areKeys`. `mayHide` says whether there is such a pair in the
  /// tile.
  Sums scoresOf(Sums products, Value first, bool areKeys, Value mayHide) {
    for (Values &of : products)
      for (Value &score : of)
        score = make<arith::MulFOp>(score, real(kernels.scale));
    const int64_t others = areKeys ? call.positions : call.keys;
    const bool isRagged = others % (static_cast<int64_t>(products.size()) * kTileColumns) != 0;
    if (!kernels.isCausal && !mask && !isRagged)
      return products;
    return unflat(valuesIf(
        mayHide,
        [&] {
          for (auto [nth, of] : llvm::enumerate(products))
            for (auto [element, score] : llvm::enumerate(of)) {
              Value ownRow = ownRows[element / 2], column = times(inGroup, 2);
              Value other = add(add(first, column), number(static_cast<int64_t>(nth) * kTileColumns + element % 2));
              Value isSeen = areKeys ? sees(other, ownRow) : sees(ownRow, other);
              if (isRagged)
                isSeen = make<arith::AndIOp>(isSeen, isBelow(other, number(others)));
              score = choose(isSeen, score, unseen());
            }
          return flat(products);
        },
        flat(products)));
  }

  /// Whether causality and the mask let a position see a key. (What rows beyond the last one see does not matter.)
  Value sees(Value position, Value keyRow) {
    Value isSeen = kernels.isCausal ? isBelow(keyRow, add(position, number(1))) : always();
    if (!mask)
      return isSeen;
    Value entry = load(mask, {sample, least(keyRow, number(call.keys - 1))});
    Value off = b.create<arith::ConstantOp>(loc, b.getZeroAttr(entry.getType()));
    return make<arith::AndIOp>(isSeen, b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, entry, off));
  }

  Value always() { return b.create<arith::ConstantOp>(loc, b.getBoolAttr(true)); }
  Value exp(Value x) { return b.create<math::ExpOp>(loc, x); }

  /// Returns where the keys end that a block of positions from `first` on sees.
  Value endOfKeys(Value first) {
    return kernels.isCausal ? least(add(first, number(kRows)), number(call.keys)) : number(call.keys);
  }
  /// Whether a tile of keys may have one that a position of the block from `first` on does not see.
  Value mayHideKeys(Value firstRow, Value firstKey, int64_t tileRows) {
    if (mask)
      return always();
    Value end = add(firstKey, number(tileRows)), seen = number(call.keys);
    if (kernels.isCausal)
      seen = least(seen, add(firstRow, number(1)));
    return isBelow(seen, end);
  }

  /// What a thread knows of its two rows: the largest score, the sum of exponentials, and of their products with the
  /// gradients of the probabilities.
  struct RowState {
    Values max, sum, product;
  };

  /// Takes the scores of a tile into account: raises the maxima, scales the sums, and replaces scores by exponentials.
  /// Returns by what all that has been summed must be scaled. Sums are those of this thread alone.
  Values raise(RowState &state, Sums &scores) {
    Values scales;
    for (const size_t row : {0, 1}) {
      Value max = state.max[row];
      for (const Values &of : scores)
        for (const size_t odd : {0, 1})
          max = make<arith::MaximumFOp>(max, of[2 * row + odd]);
      max = ofRow<arith::MaximumFOp>(max);
      Value shift = shiftOf(max);
      scales.push_back(exp(make<arith::SubFOp>(state.max[row], shift)));
      state.max[row] = max;
      state.sum[row] = make<arith::MulFOp>(state.sum[row], scales.back());
      for (Values &of : scores)
        for (const size_t odd : {0, 1}) {
          Value &score = of[2 * row + odd];
          score = exp(make<arith::SubFOp>(score, shift));
          state.sum[row] = make<arith::AddFOp>(state.sum[row], score);
        }
    }
    return scales;
  }

  /// Returns 1 over the sum of a row, or 0 for a row that sees no key, or only scores of -infinity.
  Values shares(RowState &state) {
    Values result;
    for (const size_t row : {0, 1}) {
      Value sum = ofRow<arith::AddFOp>(state.sum[row]);
      Value isNone = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, state.max[row], unseen());
      result.push_back(choose(isNone, real(0), make<arith::DivFOp>(real(1), sum)));
    }
    return result;
  }

  //===--------------------------------------------------------------------===//
  // Kernels
  //===--------------------------------------------------------------------===//

  void emitForward() {
    launchBlocks(call.positions, kernels.isCausal, kForward, [&](Value first) {
      const SmallVector<Values> queries = ownElements(query);
      Values start = {unseen(), unseen(), real(0), real(0)};
      llvm::append_range(start, zeros(4 * depth));
      const Values end = walk(number(0), endOfKeys(first), kForward, start, [&](Value firstKey, const Values &carried) {
        fillTiles(key, value, firstKey, kForward);
        RowState state = {{carried[0], carried[1]}, {carried[2], carried[3]}, {}};
        Sums sums = unflat(ArrayRef(carried).drop_front(4));
        Sums scores = scoresOf(timesRows(queries, tiles[0], kForward), firstKey, /*areKeys=*/false,
                               mayHideKeys(first, firstKey, kForward));
        const Values scales = raise(state, scores);
        for (Values &sum : sums)
          for (auto [element, of] : llvm::enumerate(sum))
            of = make<arith::MulFOp>(of, scales[element / 2]);
        Values next = {state.max[0], state.max[1], state.sum[0], state.sum[1]};
        llvm::append_range(next, flat(addWeighted(scores, tiles[1], std::move(sums))));
        return next;
      });
      RowState state = {{end[0], end[1]}, {end[2], end[3]}, {}};
      const Values scales = shares(state);
      storeOwn(output, unflat(ArrayRef(end).drop_front(4)), scales);
      if (statistics)
        storeRows([&](Value row, size_t half) {
          Value isNone = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, scales[half], real(0));
          Value logOfSum = make<arith::SubFOp>(state.max[half], b.create<math::LogOp>(loc, scales[half]));
          store(choose(isNone, real(0), logOfSum), statistics, {sample, head, row});
        });
    });
  }

  /// The rows of a tile for gradients, where operands in two parts take twice the registers.
  int64_t rowsOfTile() const { return kernels.rounds ? kBackward : kBackward / 2; }

  /// Returns the weights' gradients times the scale: p (dp - dot) scale.
  Value slopeOf(Value weight, Value slope, Value dot) {
    return make<arith::MulFOp>(make<arith::MulFOp>(weight, make<arith::SubFOp>(slope, dot)), real(kernels.scale));
  }

  void emitQueryGradient(Tensor result) {
    launchBlocks(call.positions, kernels.isCausal, rowsOfTile(), [&](Value first) {
      const SmallVector<Values> queries = ownElements(query), gradients = ownElements(gradient);
      Value endKey = endOfKeys(first);
      const RowState state =
          call.hasStatistics ? keptStatistics(gradients) : statisticsOf(queries, gradients, first, endKey);
      storeStatistics(state);
      const Values end =
          walk(number(0), endKey, rowsOfTile(), zeros(4 * depth), [&](Value firstKey, const Values &carried) {
            fillTiles(key, value, firstKey, rowsOfTile());
            Sums slopes = scoresOf(timesRows(queries, tiles[0], rowsOfTile()), firstKey, /*areKeys=*/false,
                                   mayHideKeys(first, firstKey, rowsOfTile()));
            const Sums products = timesRows(gradients, tiles[1], rowsOfTile());
            for (auto [of, product] : llvm::zip(slopes, products))
              for (auto [element, score] : llvm::enumerate(of)) {
                const size_t row = element / 2;
                Value weight = make<arith::MulFOp>(exp(make<arith::SubFOp>(score, state.max[row])), state.sum[row]);
                score = slopeOf(weight, product[element], state.product[row]);
              }
            return flat(addWeighted(slopes, tiles[0], unflat(carried)));
          });
      storeOwn(result, unflat(end), {});
    });
  }

  /// Finds what is subtracted from the scores of each own row (`max`), and by what its exponentials are multiplied
  /// (`sum`), and the sum over keys of probabilities times their gradients (`product`).
  RowState statisticsOf(ArrayRef<Values> queries, ArrayRef<Values> gradients, Value first, Value endKey) {
    const Values start = {unseen(), unseen(), real(0), real(0), real(0), real(0)};
    const Values end =
        walk(number(0), endKey, rowsOfTile(), start, [&](Value firstKey, const Values &carried) -> Values {
          fillTiles(key, value, firstKey, rowsOfTile());
          RowState state = {{carried[0], carried[1]}, {carried[2], carried[3]}, {carried[4], carried[5]}};
          Sums weights = scoresOf(timesRows(queries, tiles[0], rowsOfTile()), firstKey, /*areKeys=*/false,
                                  mayHideKeys(first, firstKey, rowsOfTile()));
          const Sums products = timesRows(gradients, tiles[1], rowsOfTile());
          const Values scales = raise(state, weights);
          for (const size_t row : {0, 1}) {
            Value &dot = state.product[row];
            dot = make<arith::MulFOp>(dot, scales[row]);
            for (auto [of, product] : llvm::zip(weights, products))
              for (const size_t odd : {0, 1})
                dot = make<arith::AddFOp>(dot, make<arith::MulFOp>(of[2 * row + odd], product[2 * row + odd]));
          }
          return {state.max[0], state.max[1], state.sum[0], state.sum[1], state.product[0], state.product[1]};
        });
    RowState state = {{end[0], end[1]}, {end[2], end[3]}, {end[4], end[5]}};
    state.sum = shares(state);
    for (const size_t row : {0, 1}) {
      state.max[row] = shiftOf(state.max[row]);
      state.product[row] = make<arith::MulFOp>(ofRow<arith::AddFOp>(state.product[row]), state.sum[row]);
    }
    return state;
  }

  /// The same, from what forward has kept: the logarithm of the sum over keys of the exponentials of scores, and the
  /// output, whose product with its gradient is that of probabilities and theirs.
  RowState keptStatistics(ArrayRef<Values> gradients) {
    const SmallVector<Values> outputs = ownElements(output);
    RowState state = {{}, {real(1), real(1)}, {real(0), real(0)}};
    for (const size_t row : {0, 1}) {
      for (auto [gradientOf, outputOf] : llvm::zip(gradients, outputs))
        for (const size_t element : {row, row + 2})
          state.product[row] =
              make<arith::AddFOp>(state.product[row], make<arith::MulFOp>(gradientOf[element], outputOf[element]));
      state.product[row] = ofRow<arith::AddFOp>(state.product[row]);
      Value at = call.positions % kRows == 0 ? ownRows[row] : least(ownRows[row], number(call.positions - 1));
      state.max.push_back(load(statistics, {sample, head, at}));
    }
    return state;
  }

  /// Lets one thread of each row store what there is once per row.
  void storeRows(function_ref<void(Value, size_t)> storeRow) {
    emitIf(isEqual(inGroup, number(0)), [&] {
      for (auto [half, row] : llvm::enumerate(ownRows)) {
        auto one = [&, at = row, nth = half] { storeRow(at, nth); };
        call.positions % kRows == 0 ? one() : emitIf(isBelow(row, number(call.positions)), one);
      }
    });
  }

  void storeStatistics(const RowState &state) {
    storeRows([&](Value row, size_t half) {
      for (auto [kind, of] : llvm::enumerate(std::array{state.max[half], state.sum[half], state.product[half]}))
        store(of, workspace, {number(static_cast<int64_t>(kind)), sample, head, row});
    });
  }

  /// Whether a tile of positions may have one that does not see a key of the block from `firstKey` on.
  Value mayHidePositions(Value firstKey, Value firstPosition, int64_t tileRows) {
    if (mask)
      return always();
    Value isBeyond = isBelow(number(call.positions), add(firstPosition, number(tileRows)));
    if (!kernels.isCausal)
      return isBeyond;
    return make<arith::OrIOp>(isBeyond, isBelow(firstPosition, add(firstKey, number(kRows - 1))));
  }

  void emitKeyGradients(Tensor ofKey, Tensor ofValue) {
    const int64_t tileRows = rowsOfTile();
    launchBlocks(call.keys, /*lastFirst=*/false, tileRows, [&](Value first) {
      const SmallVector<Values> keys = ownElements(key), values = ownElements(value);
      const Values end =
          walk(kernels.isCausal ? first : number(0), number(call.positions), tileRows, zeros(8 * depth),
               [&](Value firstPosition, const Values &carried) {
                 fillTiles(query, gradient, firstPosition, tileRows);
                 Sums weights = scoresOf(timesRows(keys, tiles[0], tileRows), firstPosition, /*areKeys=*/true,
                                         mayHidePositions(first, firstPosition, tileRows));
                 Sums slopes = timesRows(values, tiles[1], tileRows);
                 for (auto [nth, of] : llvm::enumerate(weights))
                   for (const size_t odd : {0, 1})
                     weighPosition(of, slopes[nth], odd,
                                   add(add(firstPosition, times(inGroup, 2)),
                                       number(static_cast<int64_t>(nth * kTileColumns + odd))));
                 const ArrayRef<Value> sums = carried;
                 Values next = flat(addWeighted(slopes, tiles[0], unflat(sums.take_front(4 * depth))));
                 llvm::append_range(next, flat(addWeighted(weights, tiles[1], unflat(sums.drop_front(4 * depth)))));
                 return next;
               });
      const ArrayRef<Value> sums = end;
      storeOwn(ofKey, unflat(sums.take_front(4 * depth)), {});
      storeOwn(ofValue, unflat(sums.drop_front(4 * depth)), {});
    });
  }

  /// Replaces the scores of one position by probabilities, and their gradients by those of the scores.
  void weighPosition(Values &scores, Values &slopes, size_t odd, Value position) {
    Value at = call.positions % rowsOfTile() == 0 ? position : least(position, number(call.positions - 1));
    auto statistic = [&](int64_t kind) { return load(workspace, {number(kind), sample, head, at}); };
    Value max = statistic(0), share = statistic(1), dot = statistic(2);
    for (const size_t row : {0, 1}) {
      Value &score = scores[2 * row + odd], &slope = slopes[2 * row + odd];
      score = make<arith::MulFOp>(exp(make<arith::SubFOp>(score, max)), share);
      slope = slopeOf(score, slope, dot);
    }
  }

  const TileAttentionKernels &kernels;
  const exec::AttentionExtents &call;
  const Type type;     ///< of the tensors
  const int64_t depth; ///< the width in steps of kTileDepth
  Tensor query, key, value, gradient, output;
  Value mask, statistics, workspace;
  Values tiles;   ///< in shared memory, of the two tensors that a block walks over
  Values ownRows; ///< the two rows of the block of which this thread holds elements
  Value sample, head, group, inGroup;
};

} // namespace

std::string TileAttentionKernels::module() const {
  return kernelText([&](MLIRContext &context, ModuleOp module) { Emitter(*this, context).emit(module); });
}

} // namespace splitcast::runtime
