//===- ElementEvaluator.h - The element of a tensor, as code ------------------------------===//
//
// Demand-driven: the element of a tensor asks for those of the operands of the op that makes it, inlining the bodies of
// the ops' linalg definitions. So nothing between is ever stored, and fusing is no transformation of its own. What
// loops there are around, and how a reduction runs over its own, is an emitter's matter (KernelEmitter.h).
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_PLAN_ELEMENTEVALUATOR_H
#define SPLITCAST_PASSES_PLAN_ELEMENTEVALUATOR_H

#include "passes/plan/KernelForm.h"

#include <map>
#include <vector>

namespace splitcast {

/// Where in a tensor: `base`, plus the lane's number when `isLane`.
struct Index {
  mlir::Value base;
  bool isLane = false;
};

class ElementEvaluator {
public:
  /// isFlat: all dimensions of a tensor are one. laneCount: how many elements stand side by side in a vector.
  ElementEvaluator(mlir::OpBuilder &builder, mlir::Location loc, bool isFlat, int64_t laneCount);
  virtual ~ElementEvaluator() = default;

protected:
  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)>;
  using LaneBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(Index, mlir::ValueRange)>;

  /// Runs over [0, extent) in lanes, with `lanes` set and, where not all lanes count, `mask`; what the body gives is
  /// carried. Returns what was carried last.
  virtual llvm::SmallVector<mlir::Value> forLanes(int64_t extent, mlir::ValueRange carried, LaneBody body) = 0;
  /// One value from the lanes that forLanes carried, with the op that the reduction's body combines with.
  virtual mlir::Value addLanes(mlir::linalg::GenericOp generic, mlir::Value sum) = 0;
  /// A place along a dimension of this extent that was computed from data, which was checked, or will be found wrong.
  virtual mlir::Value computedPlace(mlir::Value place, int64_t extent) { return place; }

  /// for (iv = begin; iv < end; iv += step); what the body gives is carried. Values made inside are known inside only.
  llvm::SmallVector<mlir::Value> loop(mlir::Value begin, mlir::Value end, mlir::Value step, mlir::ValueRange carried,
                                      Body body);
  llvm::SmallVector<mlir::Value> loop(int64_t extent, mlir::ValueRange carried, Body body);
  /// Values made by `make` are known in it only.
  template <typename Make> void scoped(Make make) {
    scopes.emplace_back();
    make();
    scopes.pop_back();
  }

  mlir::Value indexConstant(int64_t value);
  static llvm::SmallVector<mlir::Value> bases(llvm::ArrayRef<Index> indices);

  /// The element of `tensor` at `indices`; in lanes, laneCount of them.
  mlir::Value evaluate(mlir::Value tensor, llvm::ArrayRef<Index> indices);
  /// From here on, in this scope, that element is `value`.
  void know(mlir::Value tensor, llvm::ArrayRef<Index> indices, mlir::Value value);
  /// The next value of a reduction's `sum`, at `loops`.
  mlir::Value accumulate(mlir::linalg::GenericOp generic, llvm::ArrayRef<Index> loops, mlir::Value sum);
  /// What a reduction starts from, as a scalar, or splat when in lanes.
  mlir::Value startOf(mlir::linalg::GenericOp generic);
  /// Combines 2 n lanes to n, and so on, to 1.
  mlir::Value foldLanes(mlir::linalg::GenericOp generic, mlir::Value sum);
  static mlir::Value combine(mlir::OpBuilder &builder, mlir::Location loc, mlir::linalg::GenericOp generic,
                             mlir::Value a, mlir::Value b);

  /// Places that are known; nothing where they depend on a loop that is yet to come.
  using Places = llvm::SmallVector<std::optional<Index>>;
  static Places symbolic(llvm::ArrayRef<Index> known, size_t rank);
  /// What of making these tensors does not change in the loops yet to come is computed here: reductions along rows of
  /// one length that do not need each other, in one loop.
  void hoist(llvm::ArrayRef<std::pair<mlir::Value, Places>> tensors);
  Places operandPlaces(mlir::linalg::GenericOp generic, mlir::OpOperand *input, const Places &loops);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  bool isFlat;
  int64_t laneCount;
  llvm::DenseMap<mlir::Value, mlir::Value> memory; ///< the memref in which a tensor lies
  bool lanes = false;                              ///< values are vectors of laneCount
  mlir::Value mask;                                ///< of the lanes that count; null: all
  std::string error;                               ///< not empty: what could not be emitted

private:
  /// Values made at one place in the code, by what they are.
  using Key = std::pair<void *, std::vector<std::pair<void *, bool>>>;
  struct Hoisted {
    mlir::linalg::GenericOp generic;
    llvm::SmallVector<Index> indices;
    int64_t level; ///< 1 + that of the reductions that it needs
  };

  bool isBetweenLanes = false; ///< what is made is one number, asked for by lanes

  Key keyOf(mlir::Value tensor, llvm::ArrayRef<Index> indices);
  mlir::Value known(const Key &key);
  mlir::Type laneType(mlir::Type element);
  mlir::Value splat(mlir::Value scalar);
  mlir::Value compute(mlir::Value tensor, llvm::ArrayRef<Index> indices);
  mlir::Value load(mlir::Value source, llvm::ArrayRef<Index> indices);
  mlir::Value gatherLanes(mlir::Value source, llvm::ArrayRef<Index> indices, mlir::Type element);
  mlir::Value laneIndex(mlir::Value base, int64_t lane);
  mlir::Value constantOf(mlir::Value scalar);
  llvm::SmallVector<Index> apply(mlir::AffineMap map, llvm::ArrayRef<Index> loops);
  mlir::Value computeParallel(mlir::linalg::GenericOp generic, llvm::ArrayRef<Index> indices);
  mlir::Value inlineBody(mlir::linalg::GenericOp generic, mlir::ValueRange arguments, llvm::ArrayRef<Index> loops);
  mlir::Value mapped(mlir::Value value, mlir::IRMapping &map);
  mlir::Value inlineOp(mlir::Operation *op, mlir::IRMapping &map, llvm::ArrayRef<Index> loops);
  mlir::Value loopIndex(const Index &index);
  llvm::SmallVector<Index> loopsOf(mlir::linalg::GenericOp generic, llvm::ArrayRef<Index> indices);
  bool isByRows(mlir::linalg::GenericOp generic);
  mlir::Value reduce(mlir::linalg::GenericOp generic, llvm::ArrayRef<Index> indices);
  mlir::Value reduceDims(mlir::linalg::GenericOp generic, llvm::SmallVector<Index> &loops,
                         llvm::ArrayRef<unsigned> dims, mlir::Value sum, bool byRows);
  /// What a walk over what tensors are made of has found.
  struct Collected {
    std::vector<Hoisted> hoisted;
    std::map<Key, int64_t> levels; ///< of tensors that were visited, at their places
  };
  Key keyOf(mlir::Value tensor, const Places &places);
  int64_t collect(mlir::Value tensor, const Places &places, Collected &collected);
  int64_t collectNew(mlir::Value tensor, const Places &places, Collected &collected);
  void reduceTogether(llvm::ArrayRef<Hoisted> members);

  std::vector<std::map<Key, mlir::Value>> scopes;
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_PLAN_ELEMENTEVALUATOR_H
