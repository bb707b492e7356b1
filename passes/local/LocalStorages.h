//===- LocalStorages.h - A rank and its storages ----------------------------===//
#ifndef SPLITCAST_PASSES_LOCAL_LOCALSTORAGES_H
#define SPLITCAST_PASSES_LOCAL_LOCALSTORAGES_H

#include "passes/local/LocalizeBoxing.h"

#include "llvm/ADT/StringMap.h"

namespace splitcast {

/// The position of this rank in the mesh.
struct RankView {
  sbp::Placement placement;
  int64_t position = 0;
  std::vector<int64_t> coordinates;

  /// Returns the ranks that differ from this one only along these axes, which ascend.
  AxisGroup group(llvm::ArrayRef<int64_t> axes) const;
};

/// Returns the part of a slot, which is a tensor of this shape and signature, that lies in the rank's chunk of the
/// bucket.
sbp::SlotPiece flatPiece(const sbp::Shape &shape, const sbp::NdSbp &signature, const RankView &rank);

/// The storages of the module: one for each bucket and role, and one for each variable outside of buckets.
class Storages {
public:
  Storages(mlir::ModuleOp module, const RankView &rank);

  void emit(mlir::OpBuilder &builder, const RankView &rank);

  /// Returns the name of the storage of a bucket's members, or of their states of one role.
  static std::string nameOf(llvm::StringRef bucket, llvm::StringRef role);
  /// Returns the offset of the variable's piece in its storage, in elements.
  static int64_t offsetOf(sbp::VariableOp variable, const RankView &rank);

  llvm::StringMap<std::string> names; ///< by variable, the name of its storage
  llvm::StringMap<mlir::RankedTensorType> types;
  llvm::StringMap<llvm::SmallVector<sbp::VariableOp>> members;

private:
  void define(sbp::VariableOp variable, const RankView &rank);

  std::vector<std::string> order;
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_LOCAL_LOCALSTORAGES_H
