// Keys for ops that draw random numbers.
#include "compiler/graph/GraphState.h"

namespace splitcast {
namespace {

// A key is seed * 2^36 + step * 2^16 + number of the op, modulo 2^64.
constexpr double kSeedUnit = 0x1p36, kStepUnit = 0x1p16;
constexpr double kSeeds = 0x1p24; ///< f32 can represent every integer below this

constexpr char kSeedName[] = "random.seed", kStepName[] = "random.step";

} // namespace

bool GraphBuilder::isOfRandomKey(const std::string &variable) { return variable == kSeedName || variable == kStepName; }

Tensor GraphBuilder::randomKey() {
  GraphFunction &function = operandFunction();
  VariableOptions options;
  options.group = "random";
  options.trainable = false;
  Tensor seed = variable(function, kSeedName, {}, Init::uniform(0.0, kSeeds), options);
  options.type = ElementType::I64;
  Tensor step = variable(function, kStepName, {}, Init::zeros(), options);
  if (!seed.isValid() || !step.isValid())
    return step.isValid() ? seed : step;
  function.drawsRandom = true;
  mlir::Type integer = state.builder.getI64Type();
  auto constant = [&](double value) {
    return make<nn::ConstantOp>(mlir::RankedTensorType::get({}, integer), number(value)).value;
  };
  Tensor whole = make<nn::CastOp>(seed.value, integer);
  Tensor high = make<nn::MulOp>(whole.value, constant(kSeedUnit));
  Tensor middle = make<nn::MulOp>(step.value, constant(kStepUnit));
  Tensor sum = make<nn::AddOp>(high.value, middle.value);
  return make<nn::AddOp>(sum.value, constant(static_cast<double>(state.draws++)));
}

void GraphBuilder::countStep(GraphState &state, GraphFunction &function) {
  mlir::OpBuilder &b = state.builder;
  mlir::Location loc = function.op.getLoc();
  b.setInsertionPointToEnd(&function.op.getBody().front());
  mlir::Value step = function.reads[kStepName];
  mlir::Value one = b.create<nn::ConstantOp>(loc, step.getType(), b.getF64FloatAttr(1.0));
  b.create<sbp::AssignOp>(loc, mlir::FlatSymbolRefAttr::get(b.getContext(), kStepName),
                          b.create<nn::AddOp>(loc, step, one));
}

} // namespace splitcast
