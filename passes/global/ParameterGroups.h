//===- ParameterGroups.h - Which optimizer updates which variable --------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_PARAMETERGROUPS_H
#define SPLITCAST_PASSES_GLOBAL_PARAMETERGROUPS_H

#include "dialects/nn/Nn.h"

#include "llvm/ADT/SmallBitVector.h"

namespace splitcast {

/// The groups of one nn.minimize. `of` is called for each variable that it trains.
class ParameterGroups {
public:
  explicit ParameterGroups(nn::MinimizeOp minimize) : minimize(minimize) {
    if (minimize.getGroupsAttr())
      llvm::append_range(groups, minimize.getGroupsAttr().getAsRange<nn::ParametersAttr>());
    isUsed.resize(groups.size());
  }

  /// Returns the variable's group; null if it is in none. Fails, after an error on the op, if it is in two.
  mlir::FailureOr<nn::ParametersAttr> of(llvm::StringRef variable) {
    nn::ParametersAttr found;
    for (auto [index, group] : llvm::enumerate(groups)) {
      if (!group.matches(variable))
        continue;
      if (found)
        return minimize.emitOpError() << "has @" << variable << " in groups " << found.getName() << " and "
                                      << group.getName() << "; a variable is in one: say patterns that do not overlap";
      found = group;
      isUsed.set(index);
    }
    return found;
  }

  /// Fails, after an error, if a group has none of the variables that `of` was called for.
  mlir::LogicalResult verifyUsed() {
    for (auto [index, group] : llvm::enumerate(groups))
      if (!isUsed.test(index))
        return minimize.emitOpError() << "has group " << group.getName() << " of " << group.getPatterns()
                                      << ", but trains no variable of such a name; say the names of variables that are "
                                         "not frozen and that the loss depends on";
    return mlir::success();
  }

private:
  nn::MinimizeOp minimize;
  llvm::SmallVector<nn::ParametersAttr> groups;
  llvm::SmallBitVector isUsed; ///< by group
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_PARAMETERGROUPS_H
