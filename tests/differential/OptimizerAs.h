//===- OptimizerAs.h - Converts an attribute to an optimizer's struct --------===//
#ifndef SPLITCAST_TESTS_DIFFERENTIAL_OPTIMIZERAS_H
#define SPLITCAST_TESTS_DIFFERENTIAL_OPTIMIZERAS_H

#include "dialects/nn/Nn.h"
#include "dialects/nn/Optimizers.h"
#include "dialects/nn/RateSchedules.h"

namespace splitcast::differential {

/// Returns the optimizer or schedule T that the attribute describes; nothing if it describes another one.
template <typename T, typename AttrT = nn::OptimizerAttr> std::optional<T> optimizerAs(mlir::Attribute attr) {
  auto held = mlir::cast<AttrT>(attr);
  if (std::string_view(held.getName().getValue()) != T::kName)
    return std::nullopt;
  T result{};
  size_t next = 0;
  T::numbers(result, [&](std::string_view, double &value, Bounds) { value = held.getValues()[next++]; });
  return result;
}

} // namespace splitcast::differential

#endif // SPLITCAST_TESTS_DIFFERENTIAL_OPTIMIZERAS_H
