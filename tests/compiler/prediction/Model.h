//===- Model.h - A model whose plans are measured ---------------------------------===//
#ifndef SPLITCAST_TESTS_COMPILER_PREDICTION_MODEL_H
#define SPLITCAST_TESTS_COMPILER_PREDICTION_MODEL_H

#include "compiler/graph/Graph.h"

#include <cstdint>

namespace splitcast::prediction {

/// Returns a module for `ranks` ranks. Its function "train" has three layers of ragged sizes (the first two about
/// `width` wide), cross-entropy and Adam; its function "predict" needs less memory.
inline absl::StatusOr<std::string> modelText(int64_t ranks, int64_t width = 53) {
  Graph graph({.deviceKind = "cpu", .axes = {{"dp", ranks}}});
  graph.function("train");
  Tensor x = graph.input("x", runtime::ElementType::F32, {22, 37}, split(0));
  Tensor labels = graph.input("labels", runtime::ElementType::I64, {22}, split(0));
  Tensor hidden = gelu(linear(relu(linear(x, "first", width)), "second", width - 12));
  Tensor loss = mean(softmaxCrossEntropy(linear(hidden, "third", 10), labels));
  graph.minimize(loss, Adam{.lr = 0.01});
  graph.output("loss", loss);
  graph.function("predict");
  Tensor row = graph.input("row", runtime::ElementType::F32, {1, 37});
  graph.output("first", linear(row, "first", width));
  return graph.text();
}

} // namespace splitcast::prediction

#endif // SPLITCAST_TESTS_COMPILER_PREDICTION_MODEL_H
