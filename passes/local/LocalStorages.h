//===- LocalStorages.h - A rank, and what it stores ----------------------------===//
#ifndef SPLITCAST_PASSES_LOCAL_LOCALSTORAGES_H
#define SPLITCAST_PASSES_LOCAL_LOCALSTORAGES_H

#include "passes/local/LocalizeBoxing.h"

#include "llvm/ADT/StringMap.h"

namespace splitcast {

/// Where this rank stands.
struct RankView {
  sbp::Placement placement;
  int64_t position = 0;
  std::vector<int64_t> coordinates;

  /// The ranks that differ only along these axes, which ascend.
  AxisGroup group(llvm::ArrayRef<int64_t> axes) const;
};

/// The part of a slot, a tensor of this shape and signature, that lies in the rank's chunk of the bucket.
sbp::SlotPiece flatPiece(const sbp::Shape &shape, const sbp::NdSbp &signature, const RankView &rank);

/// The storages of the module: each bucket and role, each other variable, is one.
class Storages {
public:
  Storages(mlir::ModuleOp module, const RankView &rank);

  void emit(mlir::OpBuilder &builder, const RankView &rank);

  /// The storage of a bucket's members, or of their states of one role.
  static std::string nameOf(llvm::StringRef bucket, llvm::StringRef role);
  /// The first element of the variable's piece in its storage.
  static int64_t offsetOf(sbp::VariableOp variable, const RankView &rank);

  llvm::StringMap<std::string> names; ///< of the storage that holds a variable
  llvm::StringMap<mlir::RankedTensorType> types;
  llvm::StringMap<llvm::SmallVector<sbp::VariableOp>> members;

private:
  void define(sbp::VariableOp variable, const RankView &rank);

  std::vector<std::string> order;
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_LOCAL_LOCALSTORAGES_H
