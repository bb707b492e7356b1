// The ops of FunctionBuilder that work on rows, attention, and random numbers.
#include "tests/property/FunctionBuilder.h"

#include <cmath>

using namespace mlir;

namespace splitcast::property {

void FunctionBuilder::softmax() {
  std::optional<Known> x = any([](const Known &k) { return !shapeOf(k.value).empty() && k.bound <= kLargestBound; });
  if (!x)
    return;
  // Not so wide that one weight is 1 and the others have no correct digit.
  Value narrow = make<nn::ScaleOp>(x->value, 0.125);
  const auto columns = static_cast<double>(shapeOf(narrow).back());
  if (shapeOf(narrow).back() % 3 == 0)
    know(make<nn::LogSumExpOp>(narrow), x->bound / 8 + std::log(columns) + 1);
  else
    know(make<nn::SoftmaxOp>(narrow), 1);
}

void FunctionBuilder::layerNorm() {
  std::optional<Known> x = any([](const Known &k) { return !shapeOf(k.value).empty() && k.bound <= kLargestBound; });
  if (!x)
    return;
  int64_t columns = shapeOf(x->value).back();
  Known weight = readVariable({columns}, elementOf(x->value)), bias = readVariable({columns}, elementOf(x->value));
  // Rows of one value have no variance: with a small epsilon their rounding would be all that is seen.
  double epsilon = random.chance(50) ? 0.5 : 1.0;
  know(make<nn::LayerNormOp>(x->value, weight.value, bias.value, epsilon),
       2 * std::sqrt(static_cast<double>(columns)) + 2);
}

void FunctionBuilder::crossEntropy() {
  std::optional<Known> x = any([](const Known &k) {
    return !shapeOf(k.value).empty() && !elementOf(k.value).isF64() && k.bound <= kLargestBound;
  });
  if (!x)
    return;
  sbp::Shape rows = shapeOf(x->value);
  int64_t classes = rows.back();
  rows.pop_back();
  // A label that stands for no class, or for one.
  std::optional<int64_t> ignored;
  if (random.chance(50))
    ignored = random.chance(60) ? -1 : random.below(classes);
  Value labels =
      addInput(rows, random.chance(70) ? b.getI64Type() : b.getI32Type(), ignored == -1 ? -1 : 0, classes - 1);
  Value losses =
      make<nn::SoftmaxCrossEntropyOp>(x->value, labels, ignored ? b.getI64IntegerAttr(*ignored) : IntegerAttr());
  know(losses, 2 * x->bound);
  // Of what is given, as it has no gradient: the compiler makes it of losses that have theirs.
  if (classes % 4 != 1)
    know(make<nn::TakeOp>(addInput(shapeOf(x->value), elementOf(x->value), -2, 2), labels,
                          ignored ? b.getI64IntegerAttr(*ignored) : IntegerAttr()),
         2);
  if (!ignored || random.chance(50))
    return;
  // The mean over those that count, were it not for the 1, without which it is a NaN where none does.
  Value count = make<nn::NotEqualOp>(labels, elementOf(losses), *ignored);
  for (Value *value : {&losses, &count}) {
    auto dims = llvm::to_vector(llvm::seq<int64_t>(0, rows.size()));
    *value = dims.empty() ? *value : make<nn::ReduceSumOp>(*value, dims);
  }
  know(make<nn::DivOp>(losses, make<nn::ShiftOp>(count, 1.0)), 2 * x->bound);
}

FunctionBuilder::Known FunctionBuilder::asHeads(const Known &matrix, int64_t samples, int64_t heads, int64_t width) {
  sbp::Shape shape = shapeOf(matrix.value);
  Type element = elementOf(matrix.value);
  Known weight = readVariable({shape[1], heads * width}, element);
  Value product = make<nn::MatmulOp>(matrix.value, weight.value, false, false);
  auto type = RankedTensorType::get({samples, shape[0] / samples, heads, width}, element);
  return {make<nn::ReshapeOp>(type, product), matrix.bound * shape[1]};
}

void FunctionBuilder::attention() {
  std::optional<Known> found = any([](const Known &k) { return k.bound <= kLargestBound; });
  if (!found)
    return;
  Known x = asMatrix(*found), y = x;
  int64_t rows = shapeOf(x.value)[0], samples = model.extent(1, 4), heads = model.extent(1, 3),
          width = model.extent(1, 3);
  while (rows % samples != 0)
    --samples;
  if (rows * heads * width > model.mostElements())
    return;
  // Keys of another number than positions, when something fits.
  auto fits = [&](const Known &k) {
    sbp::Shape shape = shapeOf(k.value);
    return shape.size() == 2 && shape[0] % samples == 0 && elementOf(k.value) == elementOf(x.value) &&
           shape[0] * heads * width <= model.mostElements() && k.bound <= kLargestBound;
  };
  if (random.chance(50))
    y = any(fits).value_or(x);
  Known query = asHeads(x, samples, heads, width), key = asHeads(y, samples, heads, width),
        value = asHeads(y, samples, heads, width);
  int64_t keys = shapeOf(key.value)[1];
  Value mask;
  if (random.chance(40))
    mask = addInput({samples, keys}, random.chance(50) ? b.getI64Type() : b.getI32Type(), 0, 1);
  // Scores of a few units: wider ones leave one weight of 1, and others without a correct digit.
  double scale = std::exp2(-std::ceil(std::log2(query.bound * key.bound)));
  Value result = make<nn::AttentionOp>(query.value, key.value, value.value, mask, scale, random.chance(50));
  if (random.chance(50)) {
    auto type = RankedTensorType::get({rows, heads * width}, elementOf(x.value));
    result = make<nn::ReshapeOp>(type, result);
  }
  know(result, value.bound);
}

/// Rates that leave integers what they are.
void FunctionBuilder::dropout() {
  std::optional<Known> x = any([](const Known &k) { return k.bound <= kLargestBound; });
  if (!x)
    return;
  auto type = RankedTensorType::get({}, b.getI64Type());
  Value key = make<nn::ConstantOp>(type, b.getF64FloatAttr(static_cast<double>(random.below(1 << 20))));
  if (random.chance(60)) // of each step, as it should be
    key = make<nn::AddOp>(addInput({}, b.getI64Type(), 0, 1 << 20), key);
  if (random.chance(20)) { // 1 for some elements, else 0
    auto half = make<nn::ConstantOp>(RankedTensorType::get({}, elementOf(x->value)), b.getF64FloatAttr(0.5));
    return know(make<nn::CompareOp>(make<nn::UniformOp>(x->value, key), half, "lt", elementOf(x->value)), 1);
  }
  double rate = random.pick(std::vector<double>{0.5, 0.5, 0.75, 0.0});
  if (random.chance(75))
    return know(make<nn::DropoutOp>(x->value, key, rate), x->bound / (1 - rate));
  sbp::Shape shape = shapeOf(x->value), offsets(shape.size());
  for (auto [extent, offset] : llvm::zip(shape, offsets)) {
    offset = random.between(0, 3);
    extent += offset + random.between(0, 3);
  }
  know(make<nn::DropoutOp>(RankedTensorType::get(shapeOf(x->value), elementOf(x->value)), x->value, key, Value(),
                           b.getF64FloatAttr(rate), b.getDenseI64ArrayAttr(offsets), b.getDenseI64ArrayAttr(shape)),
       x->bound / (1 - rate));
  model.features.insert(Feature::PartOfPart);
}

} // namespace splitcast::property
