#include "tests/property/FunctionBuilder.h"
#include "tests/reference/tests/UnaryFunctions.h"

#include <numeric>
#include <set>

using namespace mlir;

namespace splitcast::property {

FunctionBuilder::FunctionBuilder(ModelState &model, const std::string &name, bool ofIntegers)
    : model(model), random(model.random), b(model.module->getContext()), ofIntegers(ofIntegers),
      batch(model.extent(1, 9)) {
  if (model.splitsBatch())
    batch += batch % 2;
  b.setInsertionPointToEnd(model.module->getBody());
  function = b.create<func::FuncOp>(b.getUnknownLoc(), name, b.getFunctionType({}, {}));
  b.setInsertionPointToEnd(function.addEntryBlock());
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value FunctionBuilder::signedAtRandom(Operation *op) {
  Value result = op->getResult(0);
  // Where the signatures of all operands are said, the op's own rules leave little choice.
  bool isOpen =
      op->getNumOperands() == 0 || llvm::any_of(op->getOperands(), [](Value v) { return !sbp::signatureOf(v); });
  if (isOpen && random.chance(4))
    result.setType(sbp::withSignature(result.getType(), model.signature(shapeOf(result), false)));
  return result;
}

void FunctionBuilder::know(Value value, double bound) { pool.push_back({value, std::max(bound, 1.0)}); }

std::optional<FunctionBuilder::Known> FunctionBuilder::any(Condition condition) {
  std::vector<Known> fitting;
  for (const Known &known : pool)
    if (condition(known))
      fitting.push_back(known);
  if (fitting.empty())
    return std::nullopt;
  auto isOther = [](const Known &known) { return !isHalf(elementOf(known.value)); };
  if (model.hasHalves() && random.chance(40) && !llvm::all_of(fitting, isOther))
    llvm::erase_if(fitting, isOther);
  // What came last, more often than not, so that graphs are deep.
  return random.chance(50) ? fitting.back() : random.pick(fitting);
}

std::optional<FunctionBuilder::Known> FunctionBuilder::anyOf(int64_t rank) {
  return any([&](const Known &known) { return static_cast<int64_t>(shapeOf(known.value).size()) == rank; });
}

Value FunctionBuilder::addInput(const sbp::Shape &shape, Type element, int64_t low, int64_t high) {
  RankedTensorType type = model.typed(shape, element, 60);
  if (model.splitsBatch()) { // as models for training do
    sbp::NdSbp signature(model.placement.getNumAxes(), sbp::Sbp::broadcast());
    if (!shape.empty() && shape.front() > 0 && shape.front() % batch == 0)
      signature.front() = sbp::Sbp::split(0);
    type = sbp::withSignature(type, sbp::NdAttr::get(model.placement, signature));
  }
  Value value = function.getBody().front().addArgument(type, b.getUnknownLoc());
  inputs.push_back({value, low, high});
  return value;
}

FunctionBuilder::Known FunctionBuilder::readVariable(const sbp::Shape &shape, Type element) {
  sbp::VariableOp variable = model.variable(shape, element, /*mayBeFrozen=*/hasTrainable);
  hasTrainable = true;
  auto type = RankedTensorType::get(shape, element);
  return {b.create<sbp::ReadOp>(b.getUnknownLoc(), type, variable.getSymName()), 2.0};
}

/// Something to combine elementwise with `like`: of its shape, or of one that broadcasts to it.
FunctionBuilder::Known FunctionBuilder::partner(const Known &like) {
  sbp::Shape shape = shapeOf(like.value);
  Type element = elementOf(like.value);
  if (random.chance(model.hasSquares() ? 70 : 40)) // of a square tensor also its transpose
    if (auto known = any([&](const Known &k) { return shapeOf(k.value) == shape && elementOf(k.value) == element; }))
      return *known;
  if (random.chance(50))
    shape.erase(shape.begin(), shape.begin() + random.between(0, shape.size()));
  for (int64_t &extent : shape)
    if (random.chance(15))
      extent = 1;
  if (random.chance(75))
    return readVariable(shape, element);
  double number = random.between(1, 2);
  return {make<nn::ConstantOp>(RankedTensorType::get(shape, element), b.getF64FloatAttr(number)), number};
}

FunctionBuilder::Known FunctionBuilder::asMatrix(const Known &known) {
  sbp::Shape shape = shapeOf(known.value);
  if (shape.size() == 2)
    return known;
  int64_t last = shape.empty() ? 1 : shape.back();
  sbp::Shape matrix = {last ? sbp::numElements(shape) / last : 0, last};
  return {make<nn::ReshapeOp>(RankedTensorType::get(matrix, elementOf(known.value)), known.value), known.bound};
}

FunctionBuilder::Known FunctionBuilder::asMatrices(const Known &known) {
  sbp::Shape shape = shapeOf(known.value);
  if (shape.size() >= 3)
    return known;
  Known matrix = asMatrix(known);
  shape = shapeOf(matrix.value);
  int64_t count = random.between(1, 4);
  while (shape[0] % count != 0)
    --count;
  sbp::Shape matrices = {count, shape[0] / count, shape[1]};
  return {make<nn::ReshapeOp>(RankedTensorType::get(matrices, elementOf(known.value)), matrix.value), known.bound};
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void FunctionBuilder::build(int64_t ops) {
  model.startLayer();
  int64_t features = model.extent(1, 7);
  if (random.chance(25)) {
    embedding();
  } else {
    sbp::Shape shape = {batch, features};
    if (model.hasSquares() && batch * features * features <= model.mostElements() && random.chance(40))
      shape.push_back(features);
    know(addInput(shape, model.element(), -2, 2), 2);
    matmul();
    if (!hasTrainable) // the product would have been too large
      pool.push_back(readVariable({features}, b.getF32Type()));
  }
  if (random.chance(30))
    know(addInput({batch, model.extent(1, 6)}, random.chance(80) ? model.element() : Type(b.getF64Type()), -2, 2), 2);
  for (int64_t i = 0; i < ops; ++i) {
    if (random.chance(25))
      model.startLayer();
    addRandomOp();
  }
}

void FunctionBuilder::addRandomOp() {
  if (model.hasHalves() && random.chance(15))
    return castOfHalves();
  using Maker = void (FunctionBuilder::*)();
  static const std::vector<Maker> exact = {
      &FunctionBuilder::convolution,  &FunctionBuilder::maxPool,   &FunctionBuilder::compare,
      &FunctionBuilder::stopGradient, &FunctionBuilder::unary,     &FunctionBuilder::unary,
      &FunctionBuilder::binary,       &FunctionBuilder::binary,    &FunctionBuilder::binary,
      &FunctionBuilder::matmul,       &FunctionBuilder::matmul,    &FunctionBuilder::matmul,
      &FunctionBuilder::cast,         &FunctionBuilder::notEqual,  &FunctionBuilder::reduceSum,
      &FunctionBuilder::broadcast,    &FunctionBuilder::reshape,   &FunctionBuilder::slice,
      &FunctionBuilder::transpose,    &FunctionBuilder::concat,    &FunctionBuilder::constant,
      &FunctionBuilder::dropout,      &FunctionBuilder::embedding, &FunctionBuilder::boxing,
      &FunctionBuilder::assignByHand};
  static const std::vector<Maker> inexact = {
      &FunctionBuilder::smooth,       &FunctionBuilder::smooth,    &FunctionBuilder::smooth,
      &FunctionBuilder::quotient,     &FunctionBuilder::softmax,   &FunctionBuilder::layerNorm,
      &FunctionBuilder::crossEntropy, &FunctionBuilder::attention, &FunctionBuilder::attention};
  (this->*random.pick(!ofIntegers && random.chance(model.hasHalves() ? 65 : 45) ? inexact : exact))();
}

/// Whether something that is known has been computed from the results of the op, such that gradients flow back.
bool FunctionBuilder::leadsOn(Operation *op) {
  if (op->hasTrait<nn::StopsGradient>())
    return false;
  for (Value result : op->getResults()) {
    if (llvm::any_of(pool, [&](const Known &known) { return known.value == result; }))
      return true;
    if (llvm::any_of(result.getUsers(), [&](Operation *user) { return leadsOn(user); }))
      return true;
  }
  return false;
}

void FunctionBuilder::minimize(Attribute optimizer) {
  Value loss;
  std::vector<Known> ends;
  llvm::copy_if(pool, std::back_inserter(ends), [&](const Known &known) {
    return llvm::none_of(known.value.getUsers(), [&](Operation *user) { return leadsOn(user); });
  });
  for (const Known &end : ends) {
    Value value = end.value;
    if (isHalf(elementOf(value)) && random.chance(70)) // sums are exact, and may be over ranks
      value = make<nn::CastOp>(value, b.getF32Type());
    SmallVector<int64_t> dims(shapeOf(value).size());
    std::iota(dims.begin(), dims.end(), 0);
    Value sum = dims.empty() ? value : make<nn::ReduceSumOp>(value, dims);
    if (!elementOf(sum).isF32())
      sum = make<nn::CastOp>(sum, b.getF32Type());
    loss = loss ? make<nn::AddOp>(loss, sum) : sum;
  }
  // Powers of two: what is exact stays exact.
  loss = make<nn::ScaleOp>(loss, ofIntegers ? 0.5 : 0.0625);
  know(loss, 1);
  b.create<nn::MinimizeOp>(b.getUnknownLoc(), loss, optimizer, /*schedule=*/Attribute(), /*clip_norm=*/FloatAttr(),
                           /*clip_value=*/FloatAttr(), /*loss_scale=*/nn::LossScaleAttr(), /*groups=*/ArrayAttr(),
                           /*variables=*/ArrayAttr());
  isMinimized = true;
}

void FunctionBuilder::useUpdated(int64_t ops) {
  for (; ops > 0; --ops) {
    sbp::VariableOp variable = model.known();
    auto type = RankedTensorType::get(sbp::shapeOf(variable.getType()), variable.getTensorType().getElementType());
    know(b.create<sbp::ReadOp>(b.getUnknownLoc(), type, variable.getSymName()), 4);
    addRandomOp();
  }
}

void FunctionBuilder::finish() {
  SmallVector<Value> results = {pool.back().value};
  llvm::append_range(results, returned);
  for (int64_t i = random.below(3); i > 0; --i)
    results.push_back(random.pick(pool).value);
  returnAll(results);
}

void FunctionBuilder::returnAll(ArrayRef<Value> results) {
  b.create<func::ReturnOp>(b.getUnknownLoc(), results);
  function.setFunctionType(
      b.getFunctionType(function.getBody().front().getArgumentTypes(), ValueRange(results).getTypes()));
}

differential::Call FunctionBuilder::call() {
  differential::Call call{function.getName().str(), {}};
  for (const Input &input : inputs)
    call.inputs.push_back(model.integers(shapeOf(input.value), elementOf(input.value), input.low, input.high));
  return call;
}

//===----------------------------------------------------------------------===//
// Elementwise ops
//===----------------------------------------------------------------------===//

void FunctionBuilder::unary() {
  std::optional<Known> x = any([](const Known &) { return true; });
  switch (random.below(4)) {
  case 0:
    return know(make<nn::ReluOp>(x->value), x->bound);
  case 1:
    return know(make<nn::NegOp>(x->value), x->bound);
  case 2:
    return know(make<nn::ScaleOp>(x->value, random.pick(std::vector<double>{0.5, -1.0, 2.0})), 2 * x->bound);
  default:
    return know(make<nn::ShiftOp>(x->value, static_cast<double>(random.between(-2, 2))), x->bound + 2);
  }
}

void FunctionBuilder::binary() {
  std::optional<Known> x = any([](const Known &k) { return k.bound <= kLargestBound; });
  if (!x)
    return;
  Known y = partner(*x);
  Value left = x->value, right = y.value;
  if (random.chance(30))
    std::swap(left, right);
  if (x->bound * y.bound <= kLargestBound && random.chance(40))
    return know(make<nn::MulOp>(left, right), x->bound * y.bound);
  know(random.chance(50) ? make<nn::AddOp>(left, right) : make<nn::SubOp>(left, right), x->bound + y.bound);
}

void FunctionBuilder::cast() {
  std::optional<Known> x = any([](const Known &) { return true; });
  if (!elementOf(x->value).isF32())
    return know(make<nn::CastOp>(x->value, b.getF32Type()), x->bound);
  if (random.chance(40))
    return know(make<nn::CastOp>(x->value, b.getF64Type()), x->bound);
  Value integers = addInput({batch}, random.chance(50) ? b.getI64Type() : b.getI32Type(), -2, 2);
  know(make<nn::CastOp>(integers, model.element()), 2);
}

/// To bf16 or f16, or from there.
void FunctionBuilder::castOfHalves() {
  std::optional<Known> x = any([](const Known &) { return true; });
  std::vector<Type> targets = model.traits.halves;
  if (isHalf(elementOf(x->value)))
    targets.insert(targets.end(), {b.getF32Type(), b.getF32Type(), b.getF64Type()});
  Value result = make<nn::CastOp>(x->value, random.pick(targets));
  know(random.chance(25) ? make<nn::ReluOp>(result) : result, x->bound);
}

void FunctionBuilder::notEqual() {
  sbp::Shape shape = {batch};
  if (random.chance(30))
    shape.push_back(model.extent(1, 3));
  Value integers = addInput(shape, random.chance(50) ? b.getI64Type() : b.getI32Type(), -2, 2);
  const Type element = elementOfTruth();
  knowTruth(make<nn::NotEqualOp>(integers, element, random.between(-2, 2)));
}

Type FunctionBuilder::elementOfTruth() {
  return random.pick(std::vector<Type>{model.element(), b.getF32Type(), b.getF64Type(), b.getI32Type()});
}

/// 0s and 1s.
void FunctionBuilder::knowTruth(Value value) {
  know(isa<FloatType>(elementOf(value)) ? value : make<nn::CastOp>(value, b.getF32Type()), 1);
}

/// Two tensors; and one of two by what came out, perhaps.
void FunctionBuilder::compare() {
  std::optional<Known> x = any([](const Known &k) { return k.bound <= kLargestBound; });
  if (!x)
    return;
  // Where numbers are rounded, only what is given compares alike at each level.
  const bool ofGiven = !ofIntegers || random.chance(30), selects = random.chance(40);
  const sbp::Shape shape = shapeOf(x->value);
  Known other = ofGiven && !selects ? *x : partner(*x);
  Value left = x->value, right = other.value;
  if (ofGiven) {
    const Type type = random.pick(std::vector<Type>{b.getI32Type(), b.getI64Type(), elementOf(x->value)});
    const double number = random.between(-2, 2);
    left = addInput(shape, type, -2, 2);
    right = random.chance(50) ? addInput(shape, type, -2, 2)
                              : make<nn::ConstantOp>(RankedTensorType::get({}, type), b.getF64FloatAttr(number));
  }
  const char *predicate = random.pick(std::vector<const char *>{"eq", "ne", "lt", "le", "gt", "ge"});
  const Type element = selects ? elementOf(x->value) : elementOfTruth();
  Value holds = make<nn::CompareOp>(left, right, predicate, element);
  if (!selects)
    return knowTruth(holds);
  know(make<nn::SelectOp>(RankedTensorType::get(shape, element), holds, x->value, other.value),
       std::max(x->bound, other.bound));
  model.features.insert(Feature::Selected);
}

/// Rarely, as no gradient of the graph is checked then: quotients of its loss know of none that is stopped.
void FunctionBuilder::stopGradient() {
  if (random.chance(65))
    return unary();
  std::optional<Known> x = any([](const Known &) { return true; });
  know(make<nn::StopGradientOp>(x->value), x->bound);
  model.features.insert(Feature::StoppedGradient);
}

/// Or the indices of the second dimension.
void FunctionBuilder::constant() {
  sbp::Shape shape = {batch, model.extent(1, 6)};
  double number = random.between(-2, 2);
  Type element = model.element();
  auto type = RankedTensorType::get(shape, element);
  Value value = number == 2 ? make<nn::IotaOp>(type, 1) // to 5
                            : make<nn::ConstantOp>(type, b.getF64FloatAttr(number));
  if (number == 2)
    return know(value, 5);
  if (random.chance(50)) // for several users, which may each want it otherwise
    return know(value, 2);
  know(make<nn::MulOp>(value, readVariable(shape, element).value), 4);
}

/// Functions of one number that `unary` and `smooth` do not draw by name.
static std::vector<std::string> otherFunctions(MLIRContext &context) {
  const std::set<std::string> named = {"nn.neg",  "nn.relu", "nn.exp", "nn.log", "nn.sqrt",
                                       "nn.tanh", "nn.sin",  "nn.cos", "nn.erf", "nn.sigmoid"};
  std::vector<std::string> others = nn::unaryFunctions(context);
  llvm::erase_if(others, [&](const std::string &name) { return named.count(name) == 1; });
  return others;
}

/// exp, log, sqrt, tanh, sin, cos, erf, sigmoid and gelu, of arguments in their domains; any other function of one
/// number, of arguments between 1 and 2.
void FunctionBuilder::smooth() {
  std::optional<Known> x = any([](const Known &k) { return k.bound <= kLargestBound; });
  if (!x)
    return;
  // Where tanh is flat, 1 - tanh^2 has no correct digit.
  auto flattened = [&] { return make<nn::TanhOp>(make<nn::ScaleOp>(x->value, 0.0625)); };
  auto positive = [&] { return make<nn::ShiftOp>(make<nn::MulOp>(x->value, x->value), 1.0); };
  // Whole turns away from 0, but not so many that its last digits are all that counts of the argument.
  auto angle = [&] { return make<nn::ScaleOp>(x->value, 0.5); };
  const std::vector<std::string> others = otherFunctions(*model.module->getContext());
  const int64_t drawn = random.below(10 + static_cast<int64_t>(others.size()));
  switch (drawn) {
  case 0:
    return know(make<nn::ExpOp>(flattened()), 3);
  case 1:
    return know(make<nn::LogOp>(positive()), 8);
  case 2:
    return know(make<nn::SqrtOp>(positive()), x->bound + 1);
  case 3:
    return know(flattened(), 1);
  case 4:
    return know(make<nn::SinOp>(angle()), 1);
  case 5:
    return know(make<nn::CosOp>(angle()), 1);
  case 6:
    return know(make<nn::ErfOp>(angle()), 1);
  case 7:
    return know(make<nn::SigmoidOp>(angle()), 1);
  case 8:
  case 9:
    return know(make<nn::GeluOp>(x->value, /*tanh=*/random.chance(50)), x->bound);
  default:
    x->value = flattened();
    OperationState op(b.getUnknownLoc(), others[drawn - 10]);
    op.addOperands(positive());
    op.addTypes(nn::elementwiseResultType(op.operands));
    return know(signedAtRandom(b.create(op)), 8);
  }
}

void FunctionBuilder::quotient() {
  std::optional<Known> x = any([](const Known &k) { return k.bound <= kLargestBound; });
  if (!x)
    return;
  Known y = partner(*x);
  Value divisor = make<nn::ShiftOp>(make<nn::MulOp>(y.value, y.value), 1.0);
  know(make<nn::DivOp>(x->value, divisor), x->bound);
}

//===----------------------------------------------------------------------===//
// Products, sums and lookups
//===----------------------------------------------------------------------===//

void FunctionBuilder::matmul() {
  std::optional<Known> found = any([](const Known &k) { return k.bound <= kLargestBound; });
  if (!found)
    return;
  Known x = random.chance(35) ? asMatrices(*found) : asMatrix(*found);
  sbp::Shape shape = shapeOf(x.value), others(shape.begin(), shape.end() - 2);
  shape.erase(shape.begin(), shape.end() - 2);
  bool transposeX = random.chance(20), transposeY = random.chance(40), isLeft = random.chance(80);
  // The contracted extent is the one of x that its flag and side say.
  int64_t contracted = shape[isLeft != transposeX ? 1 : 0], free = model.extent(1, 7);
  if (x.bound * 2 * contracted > 4 * kLargestBound)
    return;
  bool contractsFirst = isLeft != transposeY;
  for (int64_t extent : contractsFirst ? sbp::Shape{contracted, free} : sbp::Shape{free, contracted})
    others.push_back(extent);
  if (sbp::numElements(others) > model.mostElements())
    return;
  Known y = factor(x, contracted, others);
  Value result = isLeft ? make<nn::MatmulOp>(x.value, y.value, transposeX, transposeY)
                        : make<nn::MatmulOp>(y.value, x.value, transposeY, transposeX);
  know(result, x.bound * contracted * y.bound / 2);
}

/// A variable of this shape; among squares also what was computed, x itself perhaps.
FunctionBuilder::Known FunctionBuilder::factor(const Known &x, int64_t contracted, const sbp::Shape &shape) {
  auto fits = [&](const Known &k) {
    return shapeOf(k.value) == shape && elementOf(k.value) == elementOf(x.value) &&
           x.bound * k.bound * contracted <= 4 * kLargestBound;
  };
  if (model.hasSquares() && hasTrainable && random.chance(50))
    if (std::optional<Known> known = any(fits))
      return *known;
  return readVariable(shape, elementOf(x.value));
}

void FunctionBuilder::reduceSum() {
  std::optional<Known> x = any([](const Known &k) { return !shapeOf(k.value).empty() && k.bound <= kLargestBound; });
  if (!x)
    return;
  SmallVector<int64_t> dims;
  double bound = x->bound;
  for (auto [dim, extent] : llvm::enumerate(shapeOf(x->value)))
    if (random.chance(50)) {
      dims.push_back(dim);
      bound *= extent;
    }
  know(make<nn::ReduceSumOp>(x->value, dims), bound);
}

void FunctionBuilder::embedding() {
  int64_t vocabulary = model.extent(1, 9), width = model.extent(1, 5);
  sbp::Shape ids = {batch};
  if (random.chance(40))
    ids.push_back(model.extent(1, 3));
  if (sbp::numElements(ids) * width > model.mostElements())
    ids.pop_back();
  Value rows = addInput(ids, random.chance(70) ? b.getI64Type() : b.getI32Type(), 0, vocabulary - 1);
  Known table = readVariable({vocabulary, width}, model.element());
  know(make<nn::EmbeddingOp>(table.value, rows), table.bound);
}

//===----------------------------------------------------------------------===//
// Shapes and signatures
//===----------------------------------------------------------------------===//

void FunctionBuilder::broadcast() {
  std::optional<Known> x = any([](const Known &k) { return shapeOf(k.value).size() <= 2; });
  if (!x)
    return;
  sbp::Shape shape = shapeOf(x->value);
  SmallVector<int64_t> dims;
  for (int64_t added = random.between(1, 2); added > 0; --added) {
    int64_t dim = random.between(dims.empty() ? 0 : dims.back() + 1, shape.size());
    shape.insert(shape.begin() + dim, model.extent(1, 4));
    dims.push_back(dim);
    if (dim + 1 > static_cast<int64_t>(shape.size()) - 1)
      break;
  }
  if (sbp::numElements(shape) > model.mostElements())
    return;
  know(make<nn::BroadcastOp>(RankedTensorType::get(shape, elementOf(x->value)), x->value, dims), x->bound);
}

void FunctionBuilder::reshape() {
  std::optional<Known> x = any([](const Known &k) { return !shapeOf(k.value).empty(); });
  if (!x)
    return;
  sbp::Shape shape = shapeOf(x->value);
  int64_t elements = sbp::numElements(shape), outer = random.between(1, 4);
  switch (random.below(4)) {
  case 0:
    shape = {elements};
    break;
  case 1: // one more dimension, cut out of all elements
    shape = elements % outer == 0 ? sbp::Shape{outer, elements / outer} : sbp::Shape{elements, 1};
    break;
  case 2: // not a transpose: elements stay in order
    std::reverse(shape.begin(), shape.end());
    break;
  default:
    shape.insert(shape.begin() + random.between(0, shape.size()), 1);
  }
  know(make<nn::ReshapeOp>(RankedTensorType::get(shape, elementOf(x->value)), x->value), x->bound);
}

void FunctionBuilder::slice() {
  std::optional<Known> x = any([](const Known &k) { return !shapeOf(k.value).empty(); });
  if (!x)
    return;
  sbp::Shape shape = shapeOf(x->value);
  int64_t dim = random.below(shape.size()), extent = shape[dim], start = random.below(extent);
  shape[dim] = random.between(1, extent - start);
  auto type = RankedTensorType::get(shape, elementOf(x->value));
  know(make<nn::SliceOp>(type, x->value, b.getI64IntegerAttr(dim), b.getI64IntegerAttr(start)), x->bound);
}

void FunctionBuilder::transpose() {
  std::optional<Known> x = any([](const Known &k) { return shapeOf(k.value).size() >= 2; });
  if (!x)
    return;
  SmallVector<int64_t> permutation(shapeOf(x->value).size());
  std::iota(permutation.begin(), permutation.end(), 0);
  for (size_t i = permutation.size(); i > 1; --i)
    std::swap(permutation[i - 1], permutation[random.below(i)]);
  know(make<nn::TransposeOp>(x->value, permutation), x->bound);
}

void FunctionBuilder::concat() {
  std::optional<Known> x = any([](const Known &k) { return !shapeOf(k.value).empty(); });
  if (!x)
    return;
  sbp::Shape shape = shapeOf(x->value);
  int64_t dim = random.below(shape.size());
  SmallVector<Value> parts = {x->value};
  double bound = x->bound;
  for (int64_t more = random.between(0, 2); more > 0; --more) {
    auto fits = [&](const Known &k) {
      sbp::Shape other = shapeOf(k.value);
      if (other.size() != shape.size() || elementOf(k.value) != elementOf(x->value))
        return false;
      other[dim] = shape[dim];
      return other == shape;
    };
    std::optional<Known> other = any(fits);
    parts.push_back(other->value);
    bound = std::max(bound, other->bound);
  }
  shape[dim] = 0;
  for (Value part : parts)
    shape[dim] += shapeOf(part)[dim];
  if (sbp::numElements(shape) > model.mostElements())
    return;
  auto type = RankedTensorType::get(shape, elementOf(x->value));
  know(make<nn::ConcatOp>(type, parts, b.getI64IntegerAttr(dim)), bound);
}

void FunctionBuilder::boxing() {
  std::optional<Known> x = any([](const Known &) { return true; });
  Type type = sbp::withSignature(x->value.getType(), model.signature(shapeOf(x->value), false));
  know(b.create<sbp::BoxingOp>(b.getUnknownLoc(), type, x->value, nullptr), x->bound);
}

/// counter = counter / 2 + something, read before and sometimes after; what is read after goes into no loss, since no
/// gradient goes through a variable.
void FunctionBuilder::assignByHand() {
  // Where gradients are checked, nothing is minimized, and so nothing that is assigned may depend on it.
  if (isMinimized || random.chance(60))
    return;
  std::optional<Known> x = any([](const Known &k) { return k.bound <= kLargestBound; });
  if (!x)
    return;
  sbp::Shape shape = shapeOf(x->value);
  sbp::VariableOp variable = model.counter(shape, elementOf(x->value));
  auto type = RankedTensorType::get(shape, elementOf(x->value));
  Value before = b.create<sbp::ReadOp>(b.getUnknownLoc(), type, variable.getSymName());
  // With no signature of its own, which must be the variable's.
  Value next = b.create<nn::AddOp>(b.getUnknownLoc(), make<nn::ScaleOp>(before, 0.5), x->value);
  if (random.chance(25)) // what nothing that is known goes into
    next = b.create<nn::ConstantOp>(b.getUnknownLoc(), type, b.getF64FloatAttr(random.between(-2, 2)));
  else if (random.chance(25))
    know(next, x->bound + 1);
  b.create<sbp::AssignOp>(b.getUnknownLoc(), variable.getSymName(), next);
  if (random.chance(50))
    returned.push_back(b.create<sbp::ReadOp>(b.getUnknownLoc(), type, variable.getSymName()));
}

} // namespace splitcast::property
