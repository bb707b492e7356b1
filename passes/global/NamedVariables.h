//===- NamedVariables.h - The variables that a step trains ---------------------------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_NAMEDVARIABLES_H
#define SPLITCAST_PASSES_GLOBAL_NAMEDVARIABLES_H

#include "dialects/nn/Nn.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <optional>
#include <utility>

namespace splitcast {

/// The `variables` of an nn.minimize. Names without a star are looked up, so that a list of all of a model's variables
/// takes linear time.
class NamedVariables {
public:
  explicit NamedVariables(mlir::ArrayAttr patterns) : isLimited(static_cast<bool>(patterns)) {
    if (!patterns)
      return;
    for (auto pattern : patterns.getAsRange<mlir::StringAttr>())
      if (pattern.getValue().contains('*'))
        withStars.push_back({pattern.getValue(), false});
      else
        names[pattern.getValue()] = false;
  }

  bool mayTrain(llvm::StringRef variable) const {
    return !isLimited || names.contains(variable) ||
           llvm::any_of(withStars, [&](const auto &of) { return nn::matchesPattern(of.first, variable); });
  }
  /// Notes that the variable is trained.
  void note(llvm::StringRef variable) {
    if (auto found = names.find(variable); found != names.end())
      found->second = true;
    for (auto &[pattern, isUsed] : withStars)
      isUsed = isUsed || nn::matchesPattern(pattern, variable);
  }
  /// Returns a pattern that no noted variable matches, if there is one.
  std::optional<llvm::StringRef> unused() const {
    for (const auto &name : names)
      if (!name.second)
        return name.first();
    for (const auto &[pattern, isUsed] : withStars)
      if (!isUsed)
        return pattern;
    return std::nullopt;
  }

private:
  const bool isLimited;
  llvm::StringMap<bool> names; ///< whether each is used, like the second of these
  llvm::SmallVector<std::pair<llvm::StringRef, bool>> withStars;
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_NAMEDVARIABLES_H
