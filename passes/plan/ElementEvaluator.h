//===- ElementEvaluator.h - Code for the element of a tensor ------------------------------===//
//
// Evaluation is demand-driven: to compute an element of a tensor, the evaluator computes the elements of the op's
// operands that it needs, by inlining the bodies of the ops' linalg definitions. So no intermediate tensor is ever
// stored, and fusing needs no transformation of its own. The emitter chooses the loops around an element, and how a
// reduction runs over its own loops (KernelEmitter.h).
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_PLAN_ELEMENTEVALUATOR_H
#define SPLITCAST_PASSES_PLAN_ELEMENTEVALUATOR_H

#include "passes/plan/KernelForm.h"
#include "passes/plan/RowBlocks.h"

#include <map>
#include <vector>

namespace splitcast {

/// An index into a tensor: `base`, plus the lane's number if `isLane`.
struct Index {
  mlir::Value base;
  bool isLane = false;
};

class ElementEvaluator {
public:
  /// With `isFlat`, all dimensions of a tensor are treated as one. `laneCount` is the number of elements in a vector.
  ElementEvaluator(mlir::OpBuilder &builder, mlir::Location loc, bool isFlat, int64_t laneCount);
  virtual ~ElementEvaluator() = default;

protected:
  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)>;
  using LaneBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(Index, mlir::ValueRange)>;

  /// Runs over [0, extent) in lanes, with `lanes` set and, where not all lanes count, `mask`. The values that the body
  /// returns are carried to the next iteration; the last ones are returned.
  virtual llvm::SmallVector<mlir::Value> forLanes(int64_t extent, mlir::ValueRange carried, LaneBody body) = 0;
  /// Whether a lane adds many elements of a long row, which are then added in blocks.
  virtual bool lanesAddBlocks() const { return false; }
  /// Combines the lanes that forLanes carried into one value, with the combining op of the reduction's body.
  virtual mlir::Value addLanes(mlir::linalg::GenericOp generic, mlir::Value sum) = 0;
  /// Returns the place to read along a dimension of this extent, for a place that was computed from data. The data were
  /// checked, or their error will be found later.
  virtual mlir::Value computedPlace(mlir::Value place, int64_t extent) { return place; }

  /// Emits for (iv = begin; iv < end; iv += step). The values that the body returns are carried. Values that are made
  /// inside are known only inside.
  llvm::SmallVector<mlir::Value> loop(mlir::Value begin, mlir::Value end, mlir::Value step, mlir::ValueRange carried,
                                      Body body);
  llvm::SmallVector<mlir::Value> loop(int64_t extent, mlir::ValueRange carried, Body body);
  /// Emits the loop over the rows of block number `block` along RowBlocks::dim, which has this extent.
  llvm::SmallVector<mlir::Value> loopOfBlock(const RowBlocks &blocks, mlir::Value block, int64_t extent,
                                             mlir::ValueRange carried, Body body);
  /// Runs `make`; values that it makes are known only in it.
  template <typename Make> void scoped(Make make) {
    scopes.emplace_back();
    make();
    scopes.pop_back();
  }

  mlir::Value indexConstant(int64_t value);
  static llvm::SmallVector<mlir::Value> bases(llvm::ArrayRef<Index> indices);

  /// Emits the element of `tensor` at `indices`; in lanes, laneCount elements.
  mlir::Value evaluate(mlir::Value tensor, llvm::ArrayRef<Index> indices);
  /// Records that this element is `value` from here on in this scope.
  void know(mlir::Value tensor, llvm::ArrayRef<Index> indices, mlir::Value value);
  /// Emits the next value of a reduction's `sum`, at `loops`.
  mlir::Value accumulate(mlir::linalg::GenericOp generic, llvm::ArrayRef<Index> loops, mlir::Value sum);
  /// The loops of a generic at a place of its result. Loops that the result does not have are left open.
  static llvm::SmallVector<Index> loopsOf(mlir::linalg::GenericOp generic, llvm::ArrayRef<Index> indices);
  /// Emits the initial value of a reduction, as a scalar, or as a splat when in lanes.
  mlir::Value startOf(mlir::linalg::GenericOp generic) { return startOf(generic, lanes); }
  mlir::Value startOf(mlir::linalg::GenericOp generic, bool inLanes);
  /// Emits the element, or in lanes the elements, at a place of memory.
  mlir::Value load(mlir::Value source, llvm::ArrayRef<Index> indices);
  /// Combines 2 n lanes to n lanes repeatedly, until there is one.
  mlir::Value foldLanes(mlir::linalg::GenericOp generic, mlir::Value sum);
  static mlir::Value combine(mlir::OpBuilder &builder, mlir::Location loc, mlir::linalg::GenericOp generic,
                             mlir::Value a, mlir::Value b);

  /// Indices that are known; nothing where an index depends on a loop that is not emitted yet.
  using Places = llvm::SmallVector<std::optional<Index>>;
  static Places symbolic(llvm::ArrayRef<Index> known, size_t rank);
  /// Emits the parts of the computation of these tensors that do not change in the loops that follow. Reductions along
  /// rows of the same length that do not need each other share a loop.
  void hoist(llvm::ArrayRef<std::pair<mlir::Value, Places>> tensors);
  Places operandPlaces(mlir::linalg::GenericOp generic, mlir::OpOperand *input, const Places &loops);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  bool isFlat;
  int64_t laneCount;
  llvm::DenseMap<mlir::Value, mlir::Value> memory; ///< by tensor, the memref in which it lies
  bool lanes = false;                              ///< values are vectors of laneCount elements
  mlir::Value mask;                                ///< the lanes that count; null: all
  std::string error;                               ///< if not empty, what could not be emitted

private:
  /// The key of a value: what it is and at which indices.
  using Key = std::pair<void *, std::vector<std::pair<void *, bool>>>;
  struct Hoisted {
    mlir::linalg::GenericOp generic;
    llvm::SmallVector<Index> indices;
    int64_t level; ///< 1 + the largest level of the reductions that it needs
  };

  bool isBetweenLanes = false; ///< the present value is a scalar that lanes need

  Key keyOf(mlir::Value tensor, llvm::ArrayRef<Index> indices);
  mlir::Value known(const Key &key);
  mlir::Type laneType(mlir::Type element);
  mlir::Value splat(mlir::Value scalar);
  mlir::Value compute(mlir::Value tensor, llvm::ArrayRef<Index> indices);
  mlir::Value gatherLanes(mlir::Value source, llvm::ArrayRef<Index> indices, mlir::Type element);
  mlir::Value laneIndex(mlir::Value base, int64_t lane);
  mlir::Value constantOf(mlir::Value scalar);
  llvm::SmallVector<Index> apply(mlir::AffineMap map, llvm::ArrayRef<Index> loops);
  std::optional<Index> placeOf(mlir::AffineExpr expr, llvm::function_ref<std::optional<Index>(unsigned)> at);
  mlir::Value moved(mlir::Value base, int64_t offset);
  mlir::Value computeParallel(mlir::linalg::GenericOp generic, llvm::ArrayRef<Index> indices);
  mlir::Value inlineBody(mlir::linalg::GenericOp generic, mlir::ValueRange arguments, llvm::ArrayRef<Index> loops);
  mlir::Value mapped(mlir::Value value, mlir::IRMapping &map);
  mlir::Value inlineOp(mlir::Operation *op, mlir::IRMapping &map, llvm::ArrayRef<Index> loops);
  mlir::Value loopIndex(const Index &index);
  bool isByRows(mlir::linalg::GenericOp generic);
  mlir::Value reduce(mlir::linalg::GenericOp generic, llvm::ArrayRef<Index> indices);
  /// How a reduction runs over its loops.
  struct Walk {
    llvm::SmallVector<unsigned> dims;
    bool byRows;                     ///< in lanes along the innermost one
    std::optional<RowBlocks> blocks; ///< of `dims`; a vector of a row counts as one row
  };
  int64_t vectorsOf(int64_t elements) const { return (elements + laneCount - 1) / laneCount; }
  Walk walkOf(mlir::linalg::GenericOp generic);
  mlir::Value reduceDims(mlir::linalg::GenericOp generic, llvm::SmallVector<Index> &loops, const Walk &walk, size_t at,
                         mlir::Value sum);
  llvm::SmallVector<mlir::Value> alongRow(llvm::ArrayRef<mlir::linalg::GenericOp> reductions, int64_t extent,
                                          int64_t vectorsPerBlock, mlir::ValueRange carried, LaneBody body);
  /// The results of a walk over the ops that make tensors.
  struct Collected {
    std::vector<Hoisted> hoisted;
    std::map<Key, int64_t> levels; ///< of the tensors that were visited, at their indices
  };
  Key keyOf(mlir::Value tensor, const Places &places);
  int64_t collect(mlir::Value tensor, const Places &places, Collected &collected);
  int64_t collectNew(mlir::Value tensor, const Places &places, Collected &collected);
  void reduceTogether(llvm::ArrayRef<Hoisted> members);

  std::vector<std::map<Key, mlir::Value>> scopes;
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_PLAN_ELEMENTEVALUATOR_H
