// Emits the loops around the elements that ElementEvaluator emits (see
// HostKernelEmitter.h for the nests).
//
//   before   nn.fusion(%x) { nn.tanh, nn.mul } of tensor<8x4xf32>
//   after    scf.for %i = 0 to 32 {                    flat: all dimensions are one
//              %0 = memref.load %x[%i]
//              %1 = math.tanh %0
//              %2 = arith.mulf %1, %1
//              memref.store %2, %y[%i] }
#include "passes/plan/HostKernelEmitter.h"

#include "dialects/exec/Divisible.h"
#include "dialects/sbp/algebra/Sizes.h"
#include "passes/plan/FusionEmitter.h"
#include "passes/plan/RowBlocks.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace splitcast {

namespace {

ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

/// The sums over rows that a row nest adds up in blocks. In the workspace they
/// have an array [blocks, columns] each.
struct BlockSums {
  BlockSums(const LinalgBody &body, const KernelForm &form);
  bool has(size_t result) const { return llvm::is_contained(results, result); }
  int64_t bytes() const { return offsets.empty() ? 0 : offsets.back(); }

  std::optional<RowBlocks> blocks;
  SmallVector<size_t> results;
  SmallVector<int64_t> offsets; ///< in bytes, of each array, and the end
};

BlockSums::BlockSums(const LinalgBody &body, const KernelForm &form) {
  if (form.columns.empty() || form.rows.back() == 0)
    return;
  blocks = rowBlocksOf(ArrayRef(form.rows).drop_back());
  for (size_t column : form.columns) {
    Value result = body.results[column];
    if (!blocks || !addsUp(result.getDefiningOp<linalg::GenericOp>()))
      continue;
    if (offsets.empty())
      offsets.push_back(0);
    const int64_t bytes = blocks->count * form.rows.back() * getElementTypeOrSelf(result).getIntOrFloatBitWidth() / 8;
    results.push_back(column);
    offsets.push_back(offsets.back() + sbp::alignUp(bytes, sbp::kAlignmentBytes));
  }
}

/// Where a sum over rows is added up: an array of columns, or a row of an
/// array for each block.
struct SumPlace {
  size_t result;
  Value memory;
  Value block; ///< null: the array has one row

  SmallVector<Value> at(Value column) const {
    return block ? SmallVector<Value>{block, column} : SmallVector<Value>{column};
  }
};

class HostKernelEmitter : public FusionEmitter {
public:
  HostKernelEmitter(OpBuilder &builder, nn::FusionOp fusion, const LinalgBody &body, const KernelForm &form,
                    ArrayRef<int64_t> tied)
      : FusionEmitter(builder, fusion, body, form, tied, kLanes), blockSums(body, form) {
    // When a kernel computes in place, it may rely on the order of elements
    // within a thread, but not across threads.
    for (auto [result, operand] : llvm::enumerate(tied))
      mayDivide &= operand < 0 || form.mayTie(body, result, static_cast<size_t>(operand), /*launchesThreads=*/true);
  }

  MemRefType workspaceType() const override {
    const int64_t bytes = blockSums.bytes();
    return bytes == 0 ? MemRefType() : MemRefType::get({bytes}, builder.getI8Type());
  }

private:
  //===--------------------------------------------------------------------===//
  // Nests
  //===--------------------------------------------------------------------===//

  void emitNests() override {
    SmallVector<size_t> all = llvm::to_vector(llvm::seq<size_t>(0, body.results.size()));
    if (std::optional<Joined> joined = all.size() == 1 ? joinedBy(body.results.front()) : std::nullopt)
      return emitPieces(*joined);
    if (form.isFlat)
      return emitElementwise(all);
    if (!form.first.empty() || !form.elements.empty() || !form.perRow.empty() || !form.columns.empty())
      emitRows();
    // Elementwise results come first, so that reductions can load them.
    std::vector<bool> done(body.results.size(), false);
    for (bool reductions : {false, true})
      for (size_t first : form.others) {
        if (done[first] || isSum(first) != reductions)
          continue;
        SmallVector<size_t> members;
        for (size_t other : form.others)
          if (other == first || (!done[other] && !reductions && !isSum(other) &&
                                 shapeOf(body.results[other]) == shapeOf(body.results[first])))
            members.push_back(other);
        for (size_t member : members)
          done[member] = true;
        emitOther(members, reductions);
      }
  }

  bool isSum(size_t result) const { return reductionOf(body.results[result]) != nullptr; }

  void emitOther(ArrayRef<size_t> members, bool reductions) {
    if (reductions && isColumnReduction(body.results[members.front()]))
      emitColumns(members.front());
    else
      emitElementwise(members);
    for (size_t member : members)
      memory[body.results[member]] = targets[member];
  }

  /// Whether a reduction is computed in lanes of columns: its innermost loop is
  /// one of the result, not one that is reduced.
  static bool isColumnReduction(Value result) {
    return !shapeOf(result).empty() &&
           reductionOf(result).getIteratorTypesArray().back() == utils::IteratorType::parallel && !usesPlaces(result);
  }

  /// Emits loops over `extents`, with `inner` in the innermost.
  void forAll(ArrayRef<int64_t> extents, SmallVector<Index> &indices, function_ref<void()> inner) {
    if (extents.empty())
      return inner();
    loop(extents.front(), {}, [&](Value iv, ValueRange) {
      indices.push_back({iv, false});
      forAll(extents.drop_front(), indices, inner);
      indices.pop_back();
      return SmallVector<Value>();
    });
  }

  /// Marks the last op, if it is a loop of the function itself: its iterations
  /// are independent, so a device may divide them among threads.
  void noteDivisible() {
    Block *block = builder.getInsertionBlock();
    auto last = block->empty() ? scf::ForOp() : dyn_cast<scf::ForOp>(&block->back());
    if (last && mayDivide && isa<func::FuncOp>(block->getParentOp()))
      last->setAttr(exec::kDivisibleName, builder.getUnitAttr());
  }

  /// Emits a loop nest for each piece: within one, elements lie side by side in both memories.
  void emitPieces(const Joined &joined) {
    int64_t begin = 0;
    for (Value piece : joined.pieces) {
      SmallVector<Index> indices;
      scoped([&] {
        forAll(shapeOf(piece), indices, [&] {
          Value element = evaluate(piece, indices);
          SmallVector<Value> at = bases(indices);
          at[joined.dim] = builder.create<arith::AddIOp>(loc, at[joined.dim], indexConstant(begin));
          builder.create<memref::StoreOp>(loc, element, targets.front(), at);
        });
      });
      noteDivisible();
      begin += shapeOf(piece)[joined.dim];
    }
  }

  /// Emits one loop per dimension. Values that do not change in the innermost
  /// loop are computed before it.
  void emitElementwise(ArrayRef<size_t> members) {
    ArrayRef<int64_t> shape = shapeOf(body.results[members.front()]);
    SmallVector<int64_t> extents(shape);
    if (form.isFlat && !shape.empty())
      extents = {ShapedType::getNumElements(shape)};
    SmallVector<Index> indices;
    ArrayRef<int64_t> outer = ArrayRef<int64_t>(extents).take_front(extents.empty() ? 0 : extents.size() - 1);
    forAll(outer, indices, [&] {
      hoistFor(members, indices, extents.size());
      forAll(ArrayRef<int64_t>(extents).drop_front(outer.size()), indices, [&] {
        hoistFor(members, indices, extents.size());
        storeAll(members, {}, indices);
      });
    });
    if (!extents.empty())
      noteDivisible();
  }

  void hoistFor(ArrayRef<size_t> members, ArrayRef<Index> known, size_t rank) {
    SmallVector<std::pair<Value, Places>> wanted;
    for (size_t member : members)
      wanted.emplace_back(body.results[member], symbolic(known, rank));
    hoist(wanted);
  }

  /// Emits and stores an element of each member, and adds one to each sum over
  /// rows, at `sums`.
  void storeAll(ArrayRef<size_t> members, ArrayRef<SumPlace> sums, ArrayRef<Index> indices) {
    SmallVector<Value> values; // all loads come first: a target may be the memory of an operand
    for (size_t member : members)
      values.push_back(evaluate(body.results[member], indices));
    for (const SumPlace &sum : sums) {
      Value before = builder.create<memref::LoadOp>(loc, sum.memory, sum.at(indices.back().base));
      values.push_back(accumulate(sumOf(sum.result), indices, before));
    }
    for (auto [member, value] : llvm::zip_first(members, values))
      builder.create<memref::StoreOp>(loc, value, targets[member], bases(indices));
    for (auto [sum, value] : llvm::zip(sums, ArrayRef(values).drop_front(members.size())))
      builder.create<memref::StoreOp>(loc, value, sum.memory, sum.at(indices.back().base));
  }

  linalg::GenericOp sumOf(size_t result) const { return body.results[result].getDefiningOp<linalg::GenericOp>(); }

  //===--------------------------------------------------------------------===//
  // The row nest
  //===--------------------------------------------------------------------===//

  /// Emits the rows, and what is added up over them: where these are many rows,
  /// first in blocks, in the workspace.
  void emitRows() {
    SmallVector<SumPlace> wholeSums;
    for (size_t column : form.columns)
      if (!blockSums.has(column))
        wholeSums.push_back({column, targets[column], {}});
    startSums(wholeSums);
    SmallVector<Index> indices;
    if (blockSums.results.empty())
      forAll(rowExtents(), indices, [&] { emitRow(indices, wholeSums); });
    else
      emitBlocks(indices, wholeSums);
    if (wholeSums.empty() && form.rows.size() > 1)
      noteDivisible();
    for (size_t number = 0; number < blockSums.results.size(); ++number)
      addBlocks(number);
    for (const SmallVector<size_t> *members : {&form.elements, &form.perRow, &form.columns})
      for (size_t member : *members)
        memory[body.results[member]] = targets[member];
  }

  ArrayRef<int64_t> rowExtents() const { return ArrayRef(form.rows).drop_back(); }

  /// Emits the rows block by block. Blocks do not need each other.
  void emitBlocks(SmallVector<Index> &indices, ArrayRef<SumPlace> wholeSums) {
    const RowBlocks &blocks = *blockSums.blocks;
    SmallVector<Value> arrays;
    for (size_t number = 0; number < blockSums.results.size(); ++number)
      arrays.push_back(arrayOf(number));
    forOuter(rowExtents().take_front(blocks.dim), indices, [&] {
      loop(blocks.perDim, {}, [&](Value number, ValueRange) {
        SmallVector<SumPlace> sums;
        for (auto [result, array] : llvm::zip(blockSums.results, arrays))
          sums.push_back({result, array, blockNumber(indices, number)});
        startSums(sums);
        sums.append(wholeSums.begin(), wholeSums.end());
        loopOfBlock(blocks, number, rowExtents()[blocks.dim], {}, [&](Value row, ValueRange) {
          indices.push_back({row, false});
          forAll(rowExtents().drop_front(blocks.dim + 1), indices, [&] { emitRow(indices, sums); });
          indices.pop_back();
          return SmallVector<Value>();
        });
        return SmallVector<Value>();
      });
    });
  }

  /// forAll, without loops of one iteration: the outermost one is divided.
  void forOuter(ArrayRef<int64_t> extents, SmallVector<Index> &indices, function_ref<void()> inner) {
    if (extents.empty() || extents.front() != 1)
      return extents.empty()
                 ? inner()
                 : forAll(extents.take_front(), indices, [&] { forOuter(extents.drop_front(), indices, inner); });
    indices.push_back({indexConstant(0), false});
    forOuter(extents.drop_front(), indices, inner);
    indices.pop_back();
  }

  Value blockNumber(ArrayRef<Index> outer, Value number) {
    auto addUp = [&](Value before, int64_t extent, Value place) -> Value {
      if (!before)
        return place;
      Value scaled = builder.create<arith::MulIOp>(loc, before, indexConstant(extent));
      return builder.create<arith::AddIOp>(loc, scaled, place);
    };
    Value block;
    for (auto [index, extent] : llvm::zip_first(outer, form.rows))
      block = addUp(block, extent, index.base);
    return addUp(block, blockSums.blocks->perDim, number);
  }

  Value arrayOf(size_t number) {
    auto element = getElementTypeOrSelf(body.results[blockSums.results[number]]);
    auto type = MemRefType::get({blockSums.blocks->count, form.rows.back()}, element);
    return builder.create<memref::ViewOp>(loc, type, workspace, indexConstant(blockSums.offsets[number]), ValueRange());
  }

  /// Emits the sum of the blocks, in their order.
  void addBlocks(size_t number) {
    const size_t result = blockSums.results[number];
    Value array = arrayOf(number);
    forLanes(form.rows.back(), {}, [&](Index column, ValueRange) {
      auto addBlock = [&](Value block, ValueRange total) -> SmallVector<Value> {
        return {combine(builder, loc, sumOf(result), total.front(), load(array, {{block, false}, column}))};
      };
      storeLanes(loop(blockSums.blocks->count, startOf(sumOf(result)), addBlock).front(), result, column);
      return SmallVector<Value>();
    });
  }

  void startSums(ArrayRef<SumPlace> sums) {
    for (const SumPlace &sum : sums)
      loop(form.rows.back(), {}, [&](Value column, ValueRange) {
        builder.create<memref::StoreOp>(loc, startOf(sumOf(sum.result)), sum.memory, sum.at(column));
        return SmallVector<Value>();
      });
  }

  /// Emits, for a row: the elements that its reductions load, the reductions,
  /// the results of one element per row, and the other elements together with
  /// the sums over the rows.
  void emitRow(SmallVector<Index> &indices, ArrayRef<SumPlace> sums) {
    ArrayRef<int64_t> width = ArrayRef(form.rows).take_back();
    if (!form.first.empty())
      forAll(width, indices, [&] { storeAll(form.first, {}, indices); });
    for (size_t result : form.first)
      memory[body.results[result]] = targets[result];
    hoistRow(indices);
    for (size_t result : form.perRow)
      builder.create<memref::StoreOp>(loc, evaluate(body.results[result], indices), targets[result], bases(indices));
    if (!form.elements.empty() || !sums.empty())
      forAll(width, indices, [&] { storeAll(form.elements, sums, indices); });
  }

  void hoistRow(ArrayRef<Index> row) {
    SmallVector<std::pair<Value, Places>> wanted;
    Places places = symbolic(row, form.rows.size());
    for (size_t member : form.perRow)
      wanted.emplace_back(body.results[member], symbolic(row, row.size()));
    for (size_t member : form.elements)
      wanted.emplace_back(body.results[member], places);
    for (size_t column : form.columns)
      for (OpOperand *input : sumOf(column).getDpsInputOperands())
        wanted.emplace_back(input->get(), operandPlaces(sumOf(column), input, places));
    hoist(wanted);
  }

  //===--------------------------------------------------------------------===//
  // Columns and lanes
  //===--------------------------------------------------------------------===//

  void emitColumns(size_t member) {
    ArrayRef<int64_t> extents = shapeOf(body.results[member]);
    SmallVector<Index> indices;
    forAll(extents.drop_back(), indices, [&] {
      forLanes(extents.back(), {}, [&](Index column, ValueRange) {
        indices.push_back(column);
        storeLanes(evaluate(body.results[member], indices), member, indices);
        indices.pop_back();
        return SmallVector<Value>();
      });
    });
    noteDivisible();
  }

  void storeLanes(Value value, size_t result, ArrayRef<Index> indices) {
    if (mask)
      builder.create<vector::MaskedStoreOp>(loc, targets[result], bases(indices), mask, value);
    else
      builder.create<vector::StoreOp>(loc, value, targets[result], bases(indices));
  }

  /// Walks over [0, extent) in steps of kLanes; the rest is done under a mask.
  /// Where nothing is carried, each lane stores a column of its own.
  SmallVector<Value> forLanes(int64_t extent, ValueRange carried, LaneBody step) override {
    int64_t whole = extent / kLanes * kLanes;
    SmallVector<Value> values(carried);
    lanes = true;
    if (whole > 0)
      values = loop(indexConstant(0), indexConstant(whole), indexConstant(kLanes), values,
                    [&](Value iv, ValueRange args) { return step({iv, true}, args); });
    if (whole > 0 && carried.empty())
      noteDivisible();
    if (whole < extent && carried.empty()) {
      loop(1, {}, [&](Value, ValueRange) { return restOfLanes(whole, extent, {}, step); });
      noteDivisible();
    } else if (whole < extent) {
      scoped([&] { values = restOfLanes(whole, extent, values, step); });
    }
    lanes = false;
    return values;
  }

  SmallVector<Value> restOfLanes(int64_t whole, int64_t extent, ValueRange carried, LaneBody step) {
    auto maskType = VectorType::get({kLanes}, builder.getI1Type());
    SmallVector<bool> active(kLanes);
    for (int64_t lane = 0; lane < kLanes; ++lane)
      active[lane] = lane < extent - whole;
    mask = builder.create<arith::ConstantOp>(loc, DenseElementsAttr::get(maskType, active));
    SmallVector<Value> values = step({indexConstant(whole), true}, carried);
    mask = {};
    return values;
  }

  bool lanesAddBlocks() const override { return true; }

  /// Adds 16 lanes to 8, to 4, to 2, to 1.
  Value addLanes(linalg::GenericOp generic, Value sum) override { return foldLanes(generic, sum); }

  const BlockSums blockSums;
  bool mayDivide = true; ///< whether loops over elements may be divided among threads
};

} // namespace

int64_t hostKernelWorkspace(nn::FusionOp fusion) {
  LinalgBody body(fusion);
  KernelForm form(body);
  return BlockSums(body, form).bytes();
}

FailureOr<func::FuncOp> emitHostKernel(OpBuilder &builder, StringRef name, nn::FusionOp fusion, ArrayRef<int64_t> tied,
                                       ArrayRef<int64_t>) {
  LinalgBody body(fusion);
  KernelForm form(body);
  return HostKernelEmitter(builder, fusion, body, form, tied).emit(name);
}

} // namespace splitcast
