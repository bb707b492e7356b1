//===- GroupSums.h - Sums of what variables contribute -------------------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_GROUPSUMS_H
#define SPLITCAST_PASSES_GLOBAL_GROUPSUMS_H

#include "dialects/nn/Nn.h"

#include "llvm/ADT/MapVector.h"

namespace splitcast {

/// Sums without rounding of what each variable of a step contributes, those of a group first: gradients of one group
/// lie alike, whatever other groups say, so that ranks add up one number, or one row of parts, for each.
class GroupSums {
public:
  void add(sbp::VariableOp variable, mlir::Value value) { parts[variable.getGroupOrPrefix()].push_back(value); }

  /// Requires that something was added.
  mlir::Value total(mlir::OpBuilder &b, mlir::Location loc) const {
    llvm::SmallVector<mlir::Value> sums;
    for (const auto &[group, ofGroup] : parts)
      sums.push_back(sumOf(ofGroup, b, loc));
    return sumOf(sums, b, loc);
  }

private:
  static mlir::Value sumOf(llvm::ArrayRef<mlir::Value> values, mlir::OpBuilder &b, mlir::Location loc) {
    return values.size() == 1 ? values.front() : b.create<nn::SumPartsOp>(loc, values).getResult();
  }

  llvm::MapVector<llvm::StringRef, llvm::SmallVector<mlir::Value>> parts;
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_GROUPSUMS_H
