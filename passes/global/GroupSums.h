//===- GroupSums.h - Sums of numbers that variables contribute -------------------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_GROUPSUMS_H
#define SPLITCAST_PASSES_GLOBAL_GROUPSUMS_H

#include "dialects/nn/Nn.h"

#include "llvm/ADT/MapVector.h"

namespace splitcast {

/// Exact sums of the values that each variable of a step contributes. The values of each group are summed first:
/// gradients of one group lie alike, whatever the policies of other groups are, so that ranks add up one number, or one
/// row of parts, for each group.
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
