// What a function does as a run of a schedule: it reads and assigns what is carried, and knows its micro-batch.
#include "tests/property/FunctionBuilder.h"

using namespace mlir;

namespace splitcast::property {

Value FunctionBuilder::read(const Carried &from) {
  sbp::VariableOp variable = from.variable;
  auto type = RankedTensorType::get(sbp::shapeOf(variable.getType()), variable.getTensorType().getElementType());
  return b.create<sbp::ReadOp>(b.getUnknownLoc(), type, variable.getSymName());
}

void FunctionBuilder::useCarried(const std::vector<Carried> &carried, int64_t ops) {
  for (; ops > 0; --ops) {
    if (!carried.empty()) {
      const Carried &from = random.pick(carried);
      know(read(from), from.bound);
    }
    addRandomOp();
  }
}

void FunctionBuilder::carry(std::vector<Carried> &carried, int64_t times) {
  std::optional<Known> value = any([](const Known &known) {
    return known.bound <= kLargestBound && !isHalf(elementOf(known.value)) && isa<FloatType>(elementOf(known.value));
  });
  if (!value)
    return;
  // Without a signature of its own: boxed as it has to be.
  auto type = RankedTensorType::get(shapeOf(value->value), elementOf(value->value));
  Value open = b.create<nn::ReshapeOp>(b.getUnknownLoc(), type, value->value);
  for (Carried &to : carried)
    if (!to.isFinal && random.chance(60) && sbp::shapeOf(to.variable.getType()) == shapeOf(value->value) &&
        getElementTypeOrSelf(to.variable.getType()) == elementOf(value->value)) {
      const bool isAdded = random.chance(60);
      Value next = isAdded ? b.create<nn::AddOp>(b.getUnknownLoc(), read(to), open) : open;
      b.create<sbp::AssignOp>(b.getUnknownLoc(), to.variable.getSymName(), next);
      to.bound = isAdded ? to.bound + static_cast<double>(times) * value->bound : std::max(to.bound, value->bound);
      return;
    }
  const bool asMade = random.chance(30); // in the signature of one function
  sbp::VariableOp made = model.carried(shapeOf(value->value), elementOf(value->value), asMade);
  b.create<sbp::AssignOp>(b.getUnknownLoc(), made.getSymName(), open);
  carried.push_back({made, value->bound, asMade});
}

void FunctionBuilder::keep(std::vector<Carried> &carried) {
  know(make<nn::ScaleOp>(read({model.known(), 2, false}), 2.0), 4);
  carry(carried, 1);
  for (Carried &made : carried)
    made.isFinal = true;
}

void FunctionBuilder::useNumber() {
  Value argument = function.getBody().front().addArgument(RankedTensorType::get({}, b.getI64Type()), b.getUnknownLoc());
  isNumbered = true;
  std::optional<Known> x = any([](const Known &known) { return known.bound <= kLargestBound; });
  if (!x || !isa<FloatType>(elementOf(x->value)))
    return;
  Value number = b.create<nn::CastOp>(b.getUnknownLoc(), argument, elementOf(x->value));
  know(make<nn::AddOp>(x->value, number), x->bound + 2);
}

void FunctionBuilder::finishRun(Gives gives) {
  SmallVector<Value> results;
  if (gives == Gives::All)
    results.push_back(pool.back().value);
  if (gives != Gives::Nothing)
    llvm::append_range(results, returned);
  for (int64_t i = random.below(3); gives != Gives::Nothing && i > 0; --i)
    results.push_back(random.pick(pool).value);
  if (gives == Gives::Parts)
    llvm::erase_if(results, [](Value value) { return shapeOf(value).empty(); });
  returnAll(results);
}

} // namespace splitcast::property
