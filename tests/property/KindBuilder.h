//===- KindBuilder.h - Builds a model of a kind ------------------------------------------===//
#ifndef SPLITCAST_TESTS_PROPERTY_KINDBUILDER_H
#define SPLITCAST_TESTS_PROPERTY_KINDBUILDER_H

#include "compiler/graph/Graph.h"
#include "tests/property/GraphGenerator.h"
#include "tests/property/ModelState.h"

#include <functional>

namespace splitcast::property {

using Ways = std::vector<differential::Configuration>;
/// The value of a tensor's element.
using Values = std::function<double(int64_t index)>;

/// A model of a kind under construction (Kinds.h): a graph, and what its inputs and variables hold. It begins with the
/// function "train".
class KindBuilder {
public:
  KindBuilder(Random &random, std::vector<sbp::Axis> axes, bool hasAttention = false)
      : random(random), graph({deviceOf(random, hasAttention), std::move(axes)}) {
    function("train");
  }

  /// Begins a function.
  void function(const std::string &name);
  /// To the function that was begun last.
  Tensor input(const sbp::Shape &shape, const Layout &layout, Values values, ElementType type = ElementType::F32);
  /// With a name that is known, the same variable again.
  Tensor variable(const std::string &name, const sbp::Shape &shape, const Layout &layout, Values values,
                  ElementType type = ElementType::F32, bool trainable = true);
  void minimize(const Tensor &loss, const Optimizer &optimizer, const StepOptions &options = {}) {
    graph.minimize(loss, optimizer, options);
  }
  void output(const std::string &name, const Tensor &value) { graph.output(name, value); }

  /// Tenths from -1 to 1.
  Values tenths() {
    return [this](int64_t) { return 0.1 * random.between(-10, 10); };
  }
  Values integers(int64_t low, int64_t high) {
    return [this, low, high](int64_t) { return random.between(low, high); };
  }
  /// Whole, or split along the second axis.
  Layout maybeSplit(int64_t dim, int percent = 50) {
    return random.chance(percent) ? Layout({broadcast(), split(dim)}) : Layout();
  }

  /// Completes the model. Its two configurations are `change`d.
  GeneratedGraph finish(Feature kind, mlir::MLIRContext &context, llvm::function_ref<void(Ways &)> change);

  Random &random;
  /// The functions that are called, in this order.
  std::vector<std::string> calls = {"train", "train"};
  /// How sessions begin; other runs are given all values.
  Init init = Init::zeros();

private:
  /// On GPUs the gradient of an attention adds up otherwise than without recomputation if its operands alone are
  /// computed again by collectives (nn-keep-statistics), so bits differ.
  static std::string deviceOf(Random &random, bool hasAttention) {
    return random.chance(10) && !hasAttention ? "cuda" : "cpu";
  }
  struct Content {
    sbp::Shape shape;
    ElementType type;
    Values values;
  };
  static differential::Tensor draw(const Content &content, mlir::MLIRContext &context);

  Graph graph;
  std::string current;                                ///< the function that was begun last
  std::map<std::string, std::vector<Content>> inputs; ///< by function
  std::map<std::string, Content> variables;
};

/// Sometimes with the norm of all gradients, for a session to read.
StepOptions someNorm(Random &random);

/// In the second configuration the forward is computed again for backward.
void recomputeInSecond(Ways &ways);

} // namespace splitcast::property

#endif // SPLITCAST_TESTS_PROPERTY_KINDBUILDER_H
