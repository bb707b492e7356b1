// The optimizers. Each is its update, written with elementwise ops over the variable, its gradient and its state;
// nothing else in the project knows one by name.
#include "dialects/nn/Nn.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace splitcast::nn;

#include "dialects/nn/NnAttrInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/nn/NnAttrs.cpp.inc"

void NnDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/nn/NnAttrs.cpp.inc"
      >();
}

namespace {

/// Tensors with operators.
struct Tensor {
  UpdateBuilder *update;
  Value value;

  template <typename OpTy, typename... Args> Tensor make(Args... args) const {
    return {update, update->builder().create<OpTy>(update->loc(), args...)};
  }
  Tensor cast(Type element) const { return make<CastOp>(value, element); }
  Tensor sqrt() const { return make<SqrtOp>(value); }
};

Tensor operator+(const Tensor &a, const Tensor &b) { return a.make<AddOp>(a.value, b.value); }
Tensor operator-(const Tensor &a, const Tensor &b) { return a.make<SubOp>(a.value, b.value); }
Tensor operator*(const Tensor &a, const Tensor &b) { return a.make<MulOp>(a.value, b.value); }
Tensor operator/(const Tensor &a, const Tensor &b) { return a.make<DivOp>(a.value, b.value); }
Tensor operator*(const Tensor &a, double b) { return a.make<ScaleOp>(a.value, b); }
Tensor operator+(const Tensor &a, double b) { return a.make<ShiftOp>(a.value, b); }

double number(FloatAttr attr) { return attr.getValueAsDouble(); }

/// lr / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon), with m and v updated first.
Tensor adamStep(UpdateBuilder &update, Value gradient, double beta1, double beta2, double epsilon) {
  Tensor g{&update, gradient}, m{&update, update.readState("exp_avg")}, v{&update, update.readState("exp_avg_sq")};
  m = m * beta1 + g * (1 - beta1);
  v = v * beta2 + g * g * (1 - beta2);
  update.assignState("exp_avg", m.value);
  update.assignState("exp_avg_sq", v.value);
  // The corrections in f64: 1 - 0.999 in f32 is off by 1e-5.
  Tensor power1{&update, update.sharedPower("beta1_power", 1.0, beta1)};
  Tensor power2{&update, update.sharedPower("beta2_power", 1.0, beta2)};
  Type element = mlir::cast<RankedTensorType>(gradient.getType()).getElementType();
  Tensor lr{&update, update.learningRate()};
  Tensor stepSize = (lr.cast(update.builder().getF64Type()) / (power1 * -1.0 + 1.0)).cast(element);
  Tensor correction2 = (power2 * -1.0 + 1.0).sqrt().cast(element);
  return stepSize * (m / (v.sqrt() / correction2 + epsilon));
}

} // namespace

Value SgdAttr::expand(UpdateBuilder &update, Value parameter, Value gradient) const {
  Tensor p{&update, parameter}, g{&update, gradient}, lr{&update, update.learningRate()};
  return (p - lr * g).value;
}

Value MomentumAttr::expand(UpdateBuilder &update, Value parameter, Value gradient) const {
  Tensor p{&update, parameter}, g{&update, gradient}, m{&update, update.readState("momentum")};
  Tensor lr{&update, update.learningRate()};
  m = m * number(getMomentum()) + g;
  update.assignState("momentum", m.value);
  return (p - lr * m).value;
}

Value AdamAttr::expand(UpdateBuilder &update, Value parameter, Value gradient) const {
  Tensor p{&update, parameter};
  return (p - adamStep(update, gradient, number(getBeta1()), number(getBeta2()), number(getEpsilon()))).value;
}

Value AdamWAttr::expand(UpdateBuilder &update, Value parameter, Value gradient) const {
  Tensor p{&update, parameter}, lr{&update, update.learningRate()};
  Tensor decayed = p - lr * number(getWeightDecay()) * p;
  return (decayed - adamStep(update, gradient, number(getBeta1()), number(getBeta2()), number(getEpsilon()))).value;
}

bool AdamAttr::countsSteps() const { return true; }
bool AdamWAttr::countsSteps() const { return true; }

double SgdAttr::getInitialLearningRate() const { return number(getLr()); }
double MomentumAttr::getInitialLearningRate() const { return number(getLr()); }
double AdamAttr::getInitialLearningRate() const { return number(getLr()); }
double AdamWAttr::getInitialLearningRate() const { return number(getLr()); }
