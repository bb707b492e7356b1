//===- ParameterGroups.h - Which variable which optimizer updates --------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_PARAMETERGROUPS_H
#define SPLITCAST_PASSES_GLOBAL_PARAMETERGROUPS_H

#include "dialects/nn/Nn.h"

#include "llvm/ADT/SmallBitVector.h"

namespace splitcast {

/// The groups of one nn.minimize, asked for each variable that it trains.
class ParameterGroups {
public:
  explicit ParameterGroups(nn::MinimizeOp minimize) : minimize(minimize) {
    if (minimize.getGroupsAttr())
      llvm::append_range(groups, minimize.getGroupsAttr().getAsRange<nn::ParametersAttr>());
    isUsed.resize(groups.size());
  }

  /// The variable's group; null: it is in none. Failure, after an error on the op: it is in two.
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

  /// Failure, after an error, when a group had none of the variables that were asked for.
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
