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
#include "passes/plan/FusionEmitter.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace splitcast {

namespace {

ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

class HostKernelEmitter : public FusionEmitter {
public:
  HostKernelEmitter(OpBuilder &builder, nn::FusionOp fusion, const LinalgBody &body, const KernelForm &form,
                    ArrayRef<int64_t> tied)
      : FusionEmitter(builder, fusion, body, form, tied, kLanes) {
    // When a kernel computes in place, it may rely on the order of elements
    // within a thread, but not across threads.
    for (auto [result, operand] : llvm::enumerate(tied))
      mayDivide &= operand < 0 || form.mayTie(body, result, static_cast<size_t>(operand), /*launchesThreads=*/true);
  }

private:
  //===--------------------------------------------------------------------===//
  // Nests
  //===--------------------------------------------------------------------===//

  void emitNests() override {
    SmallVector<size_t> all = llvm::to_vector(llvm::seq<size_t>(0, body.results.size()));
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

  /// Marks the loop that was just emitted: its iterations are independent, so a
  /// device may divide them among threads.
  void noteDivisible() {
    Block *block = builder.getInsertionBlock();
    if (auto last = block->empty() ? scf::ForOp() : dyn_cast<scf::ForOp>(&block->back()); last && mayDivide)
      last->setAttr(exec::kDivisibleName, builder.getUnitAttr());
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

  /// Emits and stores an element of each member, and adds one to each of the
  /// sums.
  void storeAll(ArrayRef<size_t> members, ArrayRef<size_t> sums, ArrayRef<Index> indices) {
    SmallVector<std::pair<Value, size_t>> values; // all loads come first: a target may be the memory of an operand
    for (size_t member : members)
      values.emplace_back(evaluate(body.results[member], indices), member);
    for (size_t sum : sums) {
      Value before = builder.create<memref::LoadOp>(loc, targets[sum], indices.back().base);
      values.emplace_back(accumulate(sumOf(sum), indices, before), sum);
    }
    for (auto [value, member] : values) {
      bool isColumn = llvm::is_contained(sums, member);
      builder.create<memref::StoreOp>(loc, value, targets[member],
                                      isColumn ? ValueRange(indices.back().base) : ValueRange(bases(indices)));
    }
  }

  linalg::GenericOp sumOf(size_t result) const { return body.results[result].getDefiningOp<linalg::GenericOp>(); }

  //===--------------------------------------------------------------------===//
  // The row nest
  //===--------------------------------------------------------------------===//

  /// Emits, per row: the elements that its reductions load, the reductions, the
  /// results of one element per row, and the other elements together with the
  /// sums over the rows.
  void emitRows() {
    ArrayRef<int64_t> rows = form.rows, width = rows.take_back();
    for (size_t column : form.columns) {
      SmallVector<Index> indices;
      forAll(width, indices,
             [&] { builder.create<memref::StoreOp>(loc, startOf(sumOf(column)), targets[column], bases(indices)); });
    }
    SmallVector<Index> indices;
    forAll(rows.drop_back(), indices, [&] {
      if (!form.first.empty())
        forAll(width, indices, [&] { storeAll(form.first, {}, indices); });
      for (size_t result : form.first)
        memory[body.results[result]] = targets[result];
      hoistRow(indices);
      for (size_t result : form.perRow)
        builder.create<memref::StoreOp>(loc, evaluate(body.results[result], indices), targets[result], bases(indices));
      if (!form.elements.empty() || !form.columns.empty())
        forAll(width, indices, [&] { storeAll(form.elements, form.columns, indices); });
    });
    if (form.columns.empty() && rows.size() > 1)
      noteDivisible();
    for (const SmallVector<size_t> *members : {&form.elements, &form.perRow, &form.columns})
      for (size_t member : *members)
        memory[body.results[member]] = targets[member];
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
        Value value = evaluate(body.results[member], indices);
        if (mask)
          builder.create<vector::MaskedStoreOp>(loc, targets[member], bases(indices), mask, value);
        else
          builder.create<vector::StoreOp>(loc, value, targets[member], bases(indices));
        indices.pop_back();
        return SmallVector<Value>();
      });
    });
    noteDivisible();
  }

  /// Walks over [0, extent) in steps of kLanes; the rest is done under a mask.
  SmallVector<Value> forLanes(int64_t extent, ValueRange carried, LaneBody step) override {
    int64_t whole = extent / kLanes * kLanes;
    SmallVector<Value> values(carried);
    lanes = true;
    if (whole > 0)
      values = loop(indexConstant(0), indexConstant(whole), indexConstant(kLanes), values,
                    [&](Value iv, ValueRange args) { return step({iv, true}, args); });
    if (whole < extent) {
      auto maskType = VectorType::get({kLanes}, builder.getI1Type());
      SmallVector<bool> active(kLanes);
      for (int64_t lane = 0; lane < kLanes; ++lane)
        active[lane] = lane < extent - whole;
      mask = builder.create<arith::ConstantOp>(loc, DenseElementsAttr::get(maskType, active));
      scoped([&] { values = step({indexConstant(whole), true}, values); });
      mask = {};
    }
    lanes = false;
    return values;
  }

  /// Adds 16 lanes to 8, to 4, to 2, to 1.
  Value addLanes(linalg::GenericOp generic, Value sum) override { return foldLanes(generic, sum); }

  bool mayDivide = true; ///< whether loops over elements may be divided among threads
};

} // namespace

FailureOr<func::FuncOp> emitHostKernel(OpBuilder &builder, StringRef name, nn::FusionOp fusion, ArrayRef<int64_t> tied,
                                       ArrayRef<int64_t>) {
  LinalgBody body(fusion);
  KernelForm form(body);
  return HostKernelEmitter(builder, fusion, body, form, tied).emit(name);
}

} // namespace splitcast
