// Convolution and pooling. These functions check what the builders of the ops
// rely on (ranks, and how many numbers an option has); the verifiers of the ops
// check the rest.
#include "compiler/graph/GraphState.h"
#include "dialects/nn/Windows.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <cmath>

namespace splitcast {
namespace {

using Numbers = std::vector<int64_t>;

Tensor invalidOf(const Tensor &a, const Tensor &b) {
  GraphState *state = GraphBuilder::stateOf(a) ? GraphBuilder::stateOf(a) : GraphBuilder::stateOf(b);
  return state ? GraphBuilder::tensor(*state, mlir::Value()) : Tensor();
}

/// The window options of an op, two numbers each.
struct WindowNumbers {
  Numbers kernel, strides, padding, dilation;

  /// Returns what is wrong with them, or "" if they can be computed with.
  std::string problem() const {
    constexpr int64_t most = nn::Window::kMost;
    for (auto [name, numbers, least] : {std::tuple("kernel", &kernel, 1),
                                        {"strides", &strides, 1},
                                        {"padding", &padding, 0},
                                        {"dilation", &dilation, 1}})
      if (numbers->size() != 2 ||
          llvm::any_of(*numbers, [least = least](int64_t number) { return number < least || number > most; }))
        return absl::StrCat("has ", name, " ", "[", absl::StrJoin(*numbers, ", "), "]; it must have two numbers from ",
                            least, " to ", most);
    return "";
  }

  nn::Window along(size_t dim) const { return {kernel[dim], strides[dim], padding[dim], dilation[dim]}; }

  /// Returns the shape with windows in the last two dimensions. An extent may
  /// be negative or too large, which the verifier of the op reports.
  sbp::Shape windowsOf(sbp::Shape shape) const {
    for (size_t i : {0, 1}) {
      int64_t &extent = shape[shape.size() - 2 + i];
      extent = along(i).windows(std::min(extent, nn::Window::kMost));
    }
    return shape;
  }
};

mlir::RankedTensorType typeLike(const Tensor &x, const sbp::Shape &shape) {
  return mlir::RankedTensorType::get(shape, mlir::getElementTypeOrSelf(GraphBuilder::valueOf(x).getType()));
}

/// Why these cannot be the operands of a convolution in either direction; empty
/// if they can. Sets `windows` to the windows of the kernel.
template <typename OptionsT>
std::string problemOf(const Tensor &x, const Tensor &weight, const OptionsT &options,
                      std::optional<WindowNumbers> &windows) {
  if (x.shape().size() != 4 || weight.shape().size() != 4)
    return "needs x [samples, channels, height, width] and a weight of four dimensions, the last two of which are the "
           "kernel's";
  windows = {{weight.shape()[2], weight.shape()[3]}, options.strides, options.padding, options.dilation};
  return windows->problem();
}

} // namespace

Tensor convolution(const Tensor &x, const Tensor &weight, const ConvolutionOptions &options, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("convolution", {x, weight}, at);
  if (!builder)
    return invalidOf(x, weight);
  std::optional<WindowNumbers> windows;
  if (std::string problem = problemOf(x, weight, options, windows); !problem.empty())
    return builder->fail(problem);
  sbp::Shape shape = windows->windowsOf(x.shape());
  shape[1] = weight.shape()[0];
  return builder->make<nn::ConvolutionOp>(typeLike(x, shape), GraphBuilder::valueOf(x), GraphBuilder::valueOf(weight),
                                          options.strides, options.padding, options.dilation);
}

Tensor transposedConvolution(const Tensor &x, const Tensor &weight, const TransposedConvolutionOptions &options,
                             Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("transposedConvolution", {x, weight}, at);
  if (!builder)
    return invalidOf(x, weight);
  std::optional<WindowNumbers> windows;
  if (std::string problem = problemOf(x, weight, options, windows); !problem.empty())
    return builder->fail(problem);
  if (weight.shape()[0] != x.shape()[1] || x.shape()[1] < 1 || options.groups < 1 || options.groups > x.shape()[1] ||
      options.outputPadding.size() != 2)
    return builder->fail(
        "needs a weight [channels, outputs / groups, rows, columns] with x's channels, a number of groups from 1 to "
        "the channels, and two numbers of output padding");
  sbp::Shape shape = x.shape();
  shape[1] = weight.shape()[1] * options.groups;
  for (size_t i : {0, 1}) {
    const nn::Window along = windows->along(i);
    const int64_t added = options.outputPadding[i], extent = shape[2 + i];
    if (added < 0 || added >= along.stride)
      return builder->fail(
          absl::StrCat("has output padding ", added, "; it must be at least 0 and below the stride, ", along.stride));
    if (extent < 1 || extent > nn::Window::kMost)
      return builder->fail(absl::StrCat("has ", extent, " elements along dimension ", 2 + i, "; 1 to ",
                                        nn::Window::kMost, " are allowed"));
    shape[2 + i] = (extent - 1) * along.stride - 2 * along.padding + along.span() + added;
    if (shape[2 + i] < 1)
      return builder->fail("gives no elements; use less padding");
  }
  return builder->make<nn::ConvolutionDataGradOp>(typeLike(x, shape), GraphBuilder::valueOf(x),
                                                  GraphBuilder::valueOf(weight), options.strides, options.padding,
                                                  options.dilation);
}

Tensor maxPool(const Tensor &x, const Numbers &kernel, const PoolOptions &options, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("maxPool", x, at);
  if (!builder)
    return invalidOf(x, x);
  const WindowNumbers windows{kernel, options.strides.empty() ? kernel : options.strides, options.padding,
                              options.dilation};
  if (std::string problem = windows.problem(); !problem.empty())
    return builder->fail(problem);
  if (x.shape().size() < 2)
    return builder->fail("has windows in the last two dimensions; its operand must have at least two");
  return builder->make<nn::MaxPoolOp>(typeLike(x, windows.windowsOf(x.shape())), GraphBuilder::valueOf(x),
                                      windows.kernel, windows.strides, windows.padding, windows.dilation);
}

// An average pool is a convolution of each channel by itself.
Tensor averagePool(const Tensor &x, const Numbers &kernel, const PoolOptions &options, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("averagePool", x, at);
  if (!builder)
    return invalidOf(x, x);
  const WindowNumbers windows{kernel, options.strides.empty() ? kernel : options.strides, options.padding,
                              options.dilation};
  if (std::string problem = windows.problem(); !problem.empty())
    return builder->fail(problem);
  if (x.shape().size() != 4)
    return builder->fail("needs x [samples, channels, height, width]");
  const WithinFunction within(x, "averagePool");
  const double taps = static_cast<double>(kernel[0]) * static_cast<double>(kernel[1]);
  Tensor weight =
      builder->make<nn::ConstantOp>(typeLike(x, {x.shape()[1], 1, kernel[0], kernel[1]}), builder->number(1.0 / taps));
  return convolution(x, weight, {windows.strides, windows.padding, windows.dilation}, at);
}

} // namespace splitcast
