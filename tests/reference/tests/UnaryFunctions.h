//===- UnaryFunctions.h - The elementwise ops that are functions of one number --===//
//
// Tests get the names of these ops from MLIR, so that they also cover new ones.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_REFERENCE_TESTS_UNARYFUNCTIONS_H
#define SPLITCAST_TESTS_REFERENCE_TESTS_UNARYFUNCTIONS_H

#include "dialects/nn/Nn.h"

#include <string>
#include <vector>

namespace splitcast::nn {

/// Returns the names of the ops of nn that apply a differentiable function of one number to each element and have no
/// attributes, such as nn.exp, in alphabetical order. The dialect must be loaded.
inline std::vector<std::string> unaryFunctions(mlir::MLIRContext &context) {
  std::vector<std::string> names;
  for (mlir::RegisteredOperationName name : context.getRegisteredOperations())
    if (name.getDialectNamespace() == "nn" && name.hasTrait<mlir::OpTrait::Elementwise>() &&
        name.getAttributeNames().empty())
      names.push_back(name.getStringRef().str());
  return names;
}

} // namespace splitcast::nn

#endif // SPLITCAST_TESTS_REFERENCE_TESTS_UNARYFUNCTIONS_H
