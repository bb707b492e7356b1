// The ops of FunctionBuilder over windows of the last two dimensions: convolutions, either way, and pooling.
#include "tests/property/FunctionBuilder.h"

#include "dialects/exec/Window.h"

#include <array>

using namespace mlir;

namespace splitcast::property {

namespace {

using exec::Window;
using Windows = std::array<Window, 2>; ///< down and across

/// Of a convolution.
struct Weight {
  Windows along;
  int64_t groups = 1;
  int64_t others = 1; ///< channels that are made of a group of those that are there
};

SmallVector<int64_t> both(const Windows &along, int64_t Window::*number) {
  return {along[0].*number, along[1].*number};
}

/// The largest number up to `most` that divides `number`.
int64_t divisorUpTo(int64_t number, int64_t most) {
  while (number % most != 0)
    --most;
  return most;
}

/// With as many taps as fit.
Window fitted(Window window, int64_t extent) {
  while (window.windows(extent) < 1)
    --window.kernel;
  return window;
}

Weight randomWeight(ModelState &model, const sbp::Shape &images) {
  Random &random = model.random;
  const int64_t channels = images[1];
  Weight weight;
  for (unsigned i : {0, 1})
    weight.along[i] =
        fitted({random.between(1, 3), random.between(1, 2), random.between(0, 1), random.between(1, 2)}, images[2 + i]);
  weight.groups = random.pick(std::vector<int64_t>{1, 1, divisorUpTo(channels, 2), channels});
  weight.others = weight.groups == 1 ? model.extent(1, 4) : random.between(1, 2);
  return weight;
}

/// All four extents are `side`. So much padding that it fits onto one element.
Weight cubicWeight(Random &random, int64_t side) {
  Weight weight;
  weight.others = side;
  for (Window &window : weight.along)
    window = {side, random.between(1, 2), side / 2, 1};
  return weight;
}

/// How many products are added up, at most, of what has this shape.
int64_t addendsOf(const Weight &weight, const sbp::Shape &images) {
  int64_t addends = images[1] / weight.groups;
  for (unsigned i : {0, 1}) // taps beside all elements add nothing
    addends *= std::min(weight.along[i].kernel, images[2 + i]);
  return addends;
}

/// One of those that have so many windows; of padding less, perhaps, as there has to be an element beside it.
int64_t extentOf(Random &random, Window &window, int64_t windows) {
  auto least = [&] { return (windows - 1) * window.stride + window.span() - 2 * window.padding; };
  if (least() < 1)
    window.padding = 0;
  return least() + random.below(window.stride);
}

sbp::Shape shapeOf(const Weight &weight, int64_t channels, bool isTransposed) {
  sbp::Shape shape = {channels, weight.others};
  if (!isTransposed)
    shape = {weight.groups * weight.others, channels / weight.groups};
  llvm::append_range(shape, both(weight.along, &Window::kernel));
  return shape;
}

/// What comes out. A transposed convolution may need less padding than the weight says.
sbp::Shape convolvedShape(Random &random, Weight &weight, const sbp::Shape &images, bool isTransposed) {
  sbp::Shape shape = {images[0], weight.groups * weight.others};
  for (unsigned i : {0, 1}) {
    Window &window = weight.along[i];
    shape.push_back(isTransposed ? extentOf(random, window, images[2 + i]) : window.windows(images[2 + i]));
  }
  return shape;
}

} // namespace

FunctionBuilder::Known FunctionBuilder::asImages(const Known &known, int64_t channels) {
  const sbp::Shape shape = shapeOf(known.value);
  int64_t left = sbp::numElements(shape);
  channels = divisorUpTo(left, channels);
  left /= channels;
  // More often than not rows stay samples.
  const int64_t most = !shape.empty() && random.chance(70) ? shape.front() : model.extent(1, 4);
  const int64_t samples = divisorUpTo(left, most);
  left /= samples;
  const int64_t height = divisorUpTo(left, model.extent(1, 4));
  auto type = RankedTensorType::get({samples, channels, height, left / height}, elementOf(known.value));
  return {make<nn::ReshapeOp>(type, known.value), known.bound};
}

/// By a variable; also transposed, by which one has the gradients of either. Among squares the weight often is a cube.
void FunctionBuilder::convolution() {
  const int64_t side = model.extent(1, 3);
  const bool isCubic = model.hasSquares() && side * side * side * side <= model.mostElements() && random.chance(70);
  std::optional<Known> found = any([&](const Known &k) {
    return k.bound <= kLargestBound && (!isCubic || sbp::numElements(shapeOf(k.value)) % side == 0);
  });
  if (!found)
    return;
  const bool isThere = !isCubic && shapeOf(found->value).size() == 4;
  const Known x = isThere ? *found : asImages(*found, isCubic ? side : random.between(1, 4));
  const sbp::Shape images = shapeOf(x.value);
  Weight weight = isCubic ? cubicWeight(random, side) : randomWeight(model, images);
  if (x.bound * 2 * addendsOf(weight, images) > 4 * kLargestBound)
    weight = {{}, images[1], 1}; // sums of one product
  const bool isTransposed = random.chance(25);
  const sbp::Shape result = convolvedShape(random, weight, images, isTransposed),
                   shape = shapeOf(weight, images[1], isTransposed);
  if (sbp::numElements(result) > model.mostElements() || sbp::numElements(shape) > model.mostElements())
    return;
  const int64_t addends = addendsOf(weight, images);
  const Known y = factor(x, addends, shape);
  auto type = RankedTensorType::get(result, elementOf(x.value));
  const auto strides = both(weight.along, &Window::stride), padding = both(weight.along, &Window::padding),
             dilation = both(weight.along, &Window::dilation);
  know(isTransposed ? make<nn::ConvolutionDataGradOp>(type, x.value, y.value, strides, padding, dilation)
                    : make<nn::ConvolutionOp>(type, x.value, y.value, strides, padding, dilation),
       x.bound * addends * y.bound / 2);
}

/// Less a number that grows from element to element of the last two dimensions. Which of elements that are equal but
/// for rounding is the largest differs from level to level, and so whose the gradient is.
FunctionBuilder::Known FunctionBuilder::withoutTies(const Known &known) {
  constexpr double kStep = 0.037; // by no few of which numbers that are made of small integers differ
  const sbp::Shape shape = shapeOf(known.value), last(shape.end() - 2, shape.end());
  const int64_t elements = sbp::numElements(last);
  Value numbers = make<nn::IotaOp>(RankedTensorType::get({elements}, b.getF32Type()), 0);
  Value steps = make<nn::ReshapeOp>(RankedTensorType::get(last, b.getF32Type()), make<nn::ScaleOp>(numbers, kStep));
  if (!elementOf(known.value).isF32())
    steps = make<nn::CastOp>(steps, elementOf(known.value));
  return {make<nn::SubOp>(known.value, steps), known.bound + kStep * static_cast<double>(elements)};
}

/// Of small integers many are equal: the first of a window has its gradient.
void FunctionBuilder::maxPool() {
  std::optional<Known> found =
      any([](const Known &k) { return shapeOf(k.value).size() >= 2 && k.bound <= kLargestBound; });
  if (!found)
    return;
  const Known x = ofIntegers ? *found : withoutTies(*found);
  sbp::Shape shape = shapeOf(x.value);
  Windows along;
  for (auto [window, extent] : llvm::zip(along, MutableArrayRef(shape).take_back(2))) {
    window = {random.between(1, 3), random.between(1, 2), 0, random.between(1, 2)};
    // Each window covers an element: the largest of none is -infinity.
    if (window.kernel > 1 && window.dilation == 1)
      window.padding = random.between(0, 1);
    window = fitted(window, extent);
    extent = window.windows(extent);
  }
  auto type = RankedTensorType::get(shape, elementOf(x.value));
  know(make<nn::MaxPoolOp>(type, x.value, both(along, &Window::kernel), both(along, &Window::stride),
                           both(along, &Window::padding), both(along, &Window::dilation)),
       x.bound);
}

} // namespace splitcast::property
