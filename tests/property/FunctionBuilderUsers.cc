// What users write besides a model: variables copied and counted, inputs that nothing uses, empty tensors, fences.
#include "tests/property/FunctionBuilder.h"

#include <numeric>

using namespace mlir;

namespace splitcast::property {

void FunctionBuilder::addFeatures(int64_t count) {
  using Maker = void (FunctionBuilder::*)();
  static const std::vector<Maker> makers = {&FunctionBuilder::copyVariable,  &FunctionBuilder::copyVariable,
                                            &FunctionBuilder::countIntegers, &FunctionBuilder::addEmpty,
                                            &FunctionBuilder::fenceByHand,   &FunctionBuilder::updateByHand,
                                            &FunctionBuilder::rowsOfProduct, &FunctionBuilder::useInputWhileMoved};
  for (; count > 0; --count)
    (this->*random.pick(makers))();
  if (random.chance(40)) {
    addInput({batch * 4}, b.getF32Type(), -100, 100);
    model.features.insert(Feature::UnusedInput);
  }
}

void FunctionBuilder::copyVariable() {
  sbp::VariableOp source = model.known(), target = model.copyOf(source);
  auto type = RankedTensorType::get(sbp::shapeOf(source.getType()), source.getTensorType().getElementType());
  Value value = b.create<sbp::ReadOp>(b.getUnknownLoc(), type, source.getSymName());
  b.create<sbp::AssignOp>(b.getUnknownLoc(), target.getSymName(), value);
  model.features.insert(Feature::CopyOfVariable);
  if (random.chance(40)) { // and from there to another
    sbp::VariableOp third = model.copyOf(target);
    Value again = b.create<sbp::ReadOp>(b.getUnknownLoc(), type, target.getSymName());
    b.create<sbp::AssignOp>(b.getUnknownLoc(), third.getSymName(), again);
    returned.push_back(again);
  }
}

void FunctionBuilder::countIntegers() {
  sbp::Shape shape = {model.extent(1, 7)};
  if (random.chance(50))
    shape.push_back(model.extent(1, 5));
  auto type = RankedTensorType::get(shape, random.chance(50) ? b.getI64Type() : b.getI32Type());
  sbp::VariableOp variable = model.counter(shape, type.getElementType());
  Value before = b.create<sbp::ReadOp>(b.getUnknownLoc(), type, variable.getSymName());
  Value one = b.create<nn::ConstantOp>(b.getUnknownLoc(), type, b.getF64FloatAttr(random.between(1, 3)));
  Value after = b.create<nn::AddOp>(b.getUnknownLoc(), before, one);
  b.create<sbp::AssignOp>(b.getUnknownLoc(), variable.getSymName(), after);
  model.features.insert(Feature::IntegerVariable);
  if (random.chance(40)) { // and overwritten, while what it had been given is still needed
    Value other =          // without a signature of its own: boxed as it has to be
        b.create<nn::ReshapeOp>(b.getUnknownLoc(), type, addInput(shape, type.getElementType(), -3, 3));
    b.create<sbp::AssignOp>(b.getUnknownLoc(), variable.getSymName(), other);
    returned.push_back(after);
    model.features.insert(Feature::AssignedTwice);
    return;
  }
  returned.push_back(random.chance(50) ? before : after);
}

void FunctionBuilder::addEmpty() {
  sbp::Shape shape = random.pick(std::vector<sbp::Shape>{{0}, {0, 3}, {4, 0}, {2, 0, 5}});
  auto type = RankedTensorType::get(shape, b.getF32Type());
  sbp::VariableOp variable = model.counter(shape, b.getF32Type());
  Value read = b.create<sbp::ReadOp>(b.getUnknownLoc(), type, variable.getSymName());
  Value sum = make<nn::AddOp>(read, addInput(shape, b.getF32Type(), -2, 2));
  b.create<sbp::AssignOp>(b.getUnknownLoc(), variable.getSymName(), b.create<nn::ScaleOp>(b.getUnknownLoc(), sum, 0.5));
  SmallVector<int64_t> dims(shape.size());
  std::iota(dims.begin(), dims.end(), 0);
  returned.push_back(random.chance(50) ? sum : make<nn::ReduceSumOp>(sum, dims));
  model.features.insert(Feature::EmptyTensor);
}

/// Of anything, in any phase; what is made of it is returned.
void FunctionBuilder::fenceByHand() {
  std::optional<Known> x = any([](const Known &known) { return known.bound <= kLargestBound; });
  if (!x)
    return;
  auto phase = sbp::PhaseAttr::get(b.getContext(), random.pick(std::vector<sbp::Phase>{
                                                       sbp::Phase::Forward, sbp::Phase::Backward, sbp::Phase::Update}));
  auto group = random.chance(50) ? b.getStringAttr("by_hand") : StringAttr();
  Value scope = b.create<sbp::ScopeOp>(b.getUnknownLoc(), phase, group, FlatSymbolRefAttr());
  Value fenced = b.create<sbp::FenceOp>(b.getUnknownLoc(), x->value, scope);
  returned.push_back(make<nn::ScaleOp>(fenced, 0.5));
  model.features.insert(Feature::UserFence);
}

/// Of a product that nothing else needs, by way of another kernel's worth: what is stored over it reads other rows.
void FunctionBuilder::rowsOfProduct() {
  const int64_t rows = model.extent(2, 6);
  Value factor = readVariable({rows, model.extent(1, 4)}, b.getF32Type()).value;
  Value table = b.create<nn::ReluOp>(b.getUnknownLoc(), make<nn::MatmulOp>(factor, factor, false, true));
  returned.push_back(make<nn::EmbeddingOp>(table, addInput({rows}, b.getI64Type(), 0, rows - 1)));
  model.features.insert(Feature::ComputedPlaces);
}

/// Rows of a product, which are split by columns, or columns by rows, and a kernel that may be stored over them.
/// Columns are moved from where the product lies. Where the rows are a variable's, a function that runs again may keep
/// what is moved.
void FunctionBuilder::useWhileMoved(bool ofVariable) {
  auto boxed = [&](Value value, int64_t dim) {
    sbp::NdSbp signature(model.placement.getNumAxes(), sbp::Sbp::broadcast());
    signature.front() = sbp::Sbp::split(dim);
    Type type = sbp::withSignature(value.getType(), sbp::NdAttr::get(model.placement, signature));
    return b.create<sbp::BoxingOp>(b.getUnknownLoc(), type, value, nullptr);
  };
  const sbp::Shape shape = {model.extent(2, 7), model.extent(1, 5)};
  Value rows = ofVariable ? readVariable(shape, b.getF32Type()).value : addInput(shape, b.getF32Type(), -2, 2);
  Value factor = readVariable({shape.back(), model.extent(2, 6)}, b.getF32Type()).value;
  const int64_t dim = random.below(2);
  (dim == 0 ? rows : factor) = boxed(dim == 0 ? rows : factor, dim);
  Value product = b.create<nn::MatmulOp>(b.getUnknownLoc(), rows, factor, false, false);
  returned.push_back(boxed(product, 1 - dim));
  Value kernel = b.create<nn::ReluOp>(b.getUnknownLoc(), product);
  // Returned, or an operand of what no kernel is fused with: then it may lie where the product did.
  const int64_t extent = shapeOf(product)[1 - dim];
  if (random.chance(30))
    returned.push_back(kernel);
  else if (dim == 0)
    returned.push_back(make<nn::MatmulOp>(kernel, readVariable({extent, 2}, b.getF32Type()).value, false, false));
  else
    returned.push_back(make<nn::MatmulOp>(readVariable({2, extent}, b.getF32Type()).value, kernel, false, false));
  model.features.insert(Feature::UsedWhileMoved);
}

/// In the update of a variable, which is assigned or not: elementwise, transposed by the identity, beside addends; and
/// summed.
void FunctionBuilder::updateByHand() {
  sbp::VariableOp variable = model.known();
  sbp::Shape shape = sbp::shapeOf(variable.getType());
  Type element = variable.getTensorType().getElementType();
  if (shape.empty() || isHalf(element))
    return;
  auto type = RankedTensorType::get(shape, element);
  Value scope = b.create<sbp::ScopeOp>(b.getUnknownLoc(), sbp::PhaseAttr::get(b.getContext(), sbp::Phase::Update),
                                       StringAttr(), FlatSymbolRefAttr::get(variable.getSymNameAttr()));
  Value value = b.create<sbp::FenceOp>(b.getUnknownLoc(),
                                       b.create<sbp::ReadOp>(b.getUnknownLoc(), type, variable.getSymName()), scope);
  SmallVector<int64_t> dims(shape.size());
  std::iota(dims.begin(), dims.end(), 0);
  if (random.chance(40))
    value = b.create<nn::TransposeOp>(b.getUnknownLoc(), value, dims);
  if (random.chance(50) && sbp::numElements(shape) * batch <= model.mostElements()) {
    sbp::Shape samples = shape;
    samples.insert(samples.begin(), batch);
    Value addends =
        b.create<nn::ReduceSumOp>(b.getUnknownLoc(), addInput(samples, element, -1, 1), ArrayRef<int64_t>{0});
    value = b.create<nn::MulOp>(b.getUnknownLoc(), value, addends);
  }
  value =
      b.create<nn::ScaleOp>(b.getUnknownLoc(), value, 0.5); // of what maps zero to zero: padding is checked to stay so
  returned.push_back(b.create<nn::ReduceSumOp>(b.getUnknownLoc(), value, dims));
  if (random.chance(50))
    b.create<sbp::AssignOp>(b.getUnknownLoc(), model.copyOf(variable).getSymName(), value);
  model.features.insert(Feature::UserUpdate);
}

void FunctionBuilder::minimizeAgain(Attribute optimizer) {
  useUpdated(random.between(1, 3));
  matmul();
  model.startLayer();
  if (random.chance(60))
    pool.push_back(readVariable({model.extent(1, 5)}, b.getF32Type()));
  minimize(optimizer);
  model.features.insert(Feature::TwoSteps);
}

} // namespace splitcast::property
