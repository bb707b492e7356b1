//===- LocalizeBoxing.h - One step of boxing as collectives ------------------------===//
#ifndef SPLITCAST_PASSES_LOCAL_LOCALIZEBOXING_H
#define SPLITCAST_PASSES_LOCAL_LOCALIZEBOXING_H

#include "dialects/ccl/Ccl.h"
#include "dialects/nn/Nn.h"

namespace splitcast {

/// The ranks that communicate along an axis, or along several at once, and this rank's position among them.
struct AxisGroup {
  std::string axis;               ///< "dp"; for several axes "dp_tp"
  std::vector<int64_t> positions; ///< in the placement
  std::vector<int64_t> ranks;
  int64_t index = 0;

  int64_t size() const { return positions.size(); }
};

/// Emits collectives on local tensors. `what` names them in messages; it is the same on all ranks.
class CollectiveBuilder {
public:
  /// `isStored` says that gathers take the value of a variable or bucket.
  CollectiveBuilder(mlir::OpBuilder &builder, mlir::Location loc, const AxisGroup &group, std::string what,
                    bool isStored)
      : builder(builder), loc(loc), index(group.index), what(std::move(what)), isStored(isStored),
        group(ccl::GroupAttr::get(builder.getContext(), group.axis, group.ranks, group.index)) {}

  /// Returns all blocks, flat.
  mlir::Value allGather(mlir::Value input, llvm::ArrayRef<int64_t> blocks);
  /// Returns this rank's block of the sum of flat inputs.
  mlir::Value reduceScatter(mlir::Value flat, llvm::ArrayRef<int64_t> blocks);
  mlir::Value allReduce(mlir::Value input);
  mlir::Value allToAll(mlir::Value flat, llvm::ArrayRef<int64_t> sent, llvm::ArrayRef<int64_t> received);

  mlir::Value view(mlir::Value input, int64_t offset, llvm::ArrayRef<int64_t> shape);
  mlir::Value pack(mlir::ValueRange inputs, llvm::ArrayRef<int64_t> offsets, mlir::RankedTensorType type);
  /// Packs tensors one after the other, flat.
  mlir::Value packTight(mlir::ValueRange inputs);
  /// Slices the interval of dimension `dim`.
  mlir::Value slice(mlir::Value input, int64_t dim, sbp::Interval interval);
  mlir::Value concat(mlir::ValueRange inputs, int64_t dim);
  /// Swaps the first two of three dimensions.
  mlir::Value swapLeading(mlir::Value input);

private:
  template <typename OpTy>
  mlir::Value run(mlir::Value input, mlir::RankedTensorType result, const ccl::Blocks &blocks,
                  mlir::DenseI64ArrayAttr received = nullptr);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  int64_t index;
  std::string what;
  bool isStored;
  ccl::GroupAttr group;
};

/// Emits one step of a boxing that involves no bucket, as collectives; `shape` is the global one. A tensor that a rank
/// does not hold (sbp::isHeld) has 0 elements, in one dimension.
mlir::Value localizeStep(CollectiveBuilder &build, mlir::Value input, const sbp::BoxingStep &step,
                         const sbp::Shape &shape, const sbp::Placement &placement, const AxisGroup &group);

} // namespace splitcast

#endif // SPLITCAST_PASSES_LOCAL_LOCALIZEBOXING_H
