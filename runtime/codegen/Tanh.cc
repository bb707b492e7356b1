#include "runtime/codegen/Tanh.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"

namespace splitcast::runtime {

using namespace mlir;

Value buildTanh(OpBuilder &b, Location loc, Value x, function_ref<Value(Value)> far) {
  const auto number = [&](float value) -> Value {
    TypedAttr attribute = b.getF32FloatAttr(value);
    if (auto vector = dyn_cast<VectorType>(x.getType()))
      attribute = DenseElementsAttr::get(vector, value);
    return b.create<arith::ConstantOp>(loc, attribute);
  };
  const auto fma = [&](Value a, Value by, Value add) -> Value { return b.create<math::FmaOp>(loc, a, by, add); };
  const Value m = b.create<math::AbsFOp>(loc, x);
  const Value farValue = far(m);
  const Value square = b.create<arith::MulFOp>(loc, m, m);
  Value p = number(-0.006269119728489186F);
  for (float next : {0.02111095905764215F, -0.053873948851243345F, 0.13332915367021367F, -0.3333333033273309F})
    p = fma(p, square, number(next));
  const Value near = fma(b.create<arith::MulFOp>(loc, p, square), m, m);
  const Value isNear = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OLT, m, number(0.6F));
  return b.create<math::CopySignOp>(loc, b.create<arith::SelectOp>(loc, isNear, near, farValue), x);
}

} // namespace splitcast::runtime
