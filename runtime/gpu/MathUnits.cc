#include "runtime/gpu/MathUnits.h"
#include "runtime/codegen/Tanh.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace splitcast::runtime {
namespace {

using namespace mlir;

/// Creates ops on scalars, or on vectors of one shape.
class Numbers {
public:
  Numbers(OpBuilder &builder, Location loc, Type type)
      : b(builder), loc(loc), floats(type), ints(like(b.getI32Type())) {}

  Value number(double value) { return constant(floats, b.getF32FloatAttr(static_cast<float>(value))); }
  Value integer(int32_t value) { return constant(ints, b.getI32IntegerAttr(value)); }
  template <typename OpT, typename... Args> Value make(Args... args) { return b.create<OpT>(loc, args...).getResult(); }
  Value bitsOf(Value x) { return make<arith::BitcastOp>(ints, x); }
  Value floatOf(Value bits) { return make<arith::BitcastOp>(floats, bits); }
  Value isBelow(Value x, double bound) { return make<arith::CmpFOp>(arith::CmpFPredicate::OLT, x, number(bound)); }

  /// Applies an f32 instruction to each element of x.
  Value instruction(StringRef name, Value x) {
    auto one = [&](Value operand) -> Value {
      return b.create<LLVM::CallIntrinsicOp>(loc, operand.getType(), b.getStringAttr(name), ValueRange{operand})
          ->getResult(0);
    };
    auto vector = dyn_cast<VectorType>(x.getType());
    if (!vector)
      return one(x);
    Value result = number(0.0);
    for (int64_t lane = 0; lane < vector.getNumElements(); ++lane)
      result = make<vector::InsertOp>(one(make<vector::ExtractOp>(x, lane)), result, lane);
    return result;
  }

private:
  Type like(Type element) const {
    auto vector = dyn_cast<VectorType>(floats);
    return vector ? Type(vector.clone(element)) : element;
  }
  Value constant(Type type, TypedAttr value) {
    if (auto vector = dyn_cast<VectorType>(type))
      value = SplatElementsAttr::get(vector, value);
    return make<arith::ConstantOp>(value);
  }

  OpBuilder &b;
  const Location loc;
  const Type floats, ints;
};

constexpr double kLog2E = 1.44269502162933349609375; // log2(e) rounded to f32, and below the rest
constexpr double kLog2ERest = 1.925963033500011079e-8;
constexpr char kPowerOfTwo[] = "llvm.nvvm.ex2.approx.ftz.f", kReciprocal[] = "llvm.nvvm.rcp.approx.ftz.f";

/// exp(x) is 2^n 2^f, where n is the integer nearest to x log2(e). The sum of n
/// and 1.5 * 2^23 has n in its last bits, from where it is shifted to the
/// exponent. 2^n is made as twice 2^(n-1), which is finite whenever exp(x) is.
Value exponential(Numbers &m, Value x) {
  const double lastBits = 12582912;
  const Value bounded = m.make<arith::MinimumFOp>(x, m.number(89));
  const Value log2E = m.number(kLog2E);
  const Value shifted = m.make<math::FmaOp>(bounded, log2E, m.number(lastBits));
  const Value n = m.make<arith::SubFOp>(shifted, m.number(lastBits));
  Value f = m.make<math::FmaOp>(bounded, log2E, m.make<arith::NegFOp>(n));
  f = m.make<math::FmaOp>(bounded, m.number(kLog2ERest), f);
  const Value exponent = m.make<arith::ShLIOp>(m.bitsOf(shifted), m.integer(23));
  const Value half = m.floatOf(m.make<arith::AddIOp>(exponent, m.integer(126 << 23)));
  const Value power = m.make<arith::MulFOp>(m.make<arith::MulFOp>(m.instruction(kPowerOfTwo, f), half), m.number(2));
  return m.make<arith::SelectOp>(m.isBelow(x, -86.6), m.number(0), power);
}

Value hyperbolicTangent(OpBuilder &b, Numbers &m, Value x) {
  return buildTanh(b, x.getLoc(), x, [&](Value magnitude) -> Value {
    const Value one = m.number(1);
    const Value power = m.instruction(kPowerOfTwo, m.make<arith::MulFOp>(magnitude, m.number(2 * kLog2E)));
    const Value quotient = m.instruction(kReciprocal, m.make<arith::AddFOp>(power, one));
    return m.make<math::FmaOp>(quotient, m.number(-2), one);
  });
}

/// Rounds f32 to bf16, two elements at once. For a scalar, one of the two
/// results is used.
Value rounded(OpBuilder &b, arith::TruncFOp op) {
  const Location loc = op.getLoc();
  const Type pair = VectorType::get({2}, b.getBF16Type());
  auto two = [&](Value low, Value high) -> Value {
    return b.create<LLVM::CallIntrinsicOp>(loc, pair, b.getStringAttr("llvm.nvvm.ff2bf16x2.rn"), ValueRange{high, low})
        ->getResult(0);
  };
  const auto vector = dyn_cast<VectorType>(op.getType());
  if (!vector)
    return b.create<vector::ExtractOp>(loc, two(op.getIn(), op.getIn()), 0);
  Value result = b.create<arith::ConstantOp>(loc, b.getZeroAttr(vector));
  const int64_t count = vector.getNumElements();
  // All elements before the first call: LLVM splits a load of which only elements
  // are used, and joins the parts again only if no call is between them.
  SmallVector<Value> lanes;
  for (int64_t lane = 0; lane < count; ++lane)
    lanes.push_back(b.create<vector::ExtractOp>(loc, op.getIn(), lane));
  for (int64_t lane = 0; lane < count; lane += 2) {
    const Value both = two(lanes[lane], lanes[std::min(lane + 1, count - 1)]);
    for (int64_t i = 0; i < 2 && lane + i < count; ++i)
      result = b.create<vector::InsertOp>(loc, b.create<vector::ExtractOp>(loc, both, i), result, lane + i);
  }
  return result;
}

bool isF32(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return getElementTypeOrSelf(type).isF32() && (!vector || vector.getRank() == 1);
}

struct UseMathUnitsPass : PassWrapper<UseMathUnitsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(UseMathUnitsPass)
  explicit UseMathUnitsPass(bool roundsToBFloat16) : roundsToBFloat16(roundsToBFloat16) {}
  StringRef getArgument() const override { return "splitcast-use-math-units"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, LLVM::LLVMDialect, math::MathDialect, vector::VectorDialect>();
  }
  void runOnOperation() override {
    getOperation()->walk([this](Operation *op) {
      const Value by = byUnits(op);
      if (!by)
        return;
      op->getResult(0).replaceAllUsesWith(by);
      op->erase();
    });
  }

private:
  Value byUnits(Operation *op) const {
    OpBuilder b(op);
    if (auto round = dyn_cast<arith::TruncFOp>(op)) {
      const bool isToBFloat16 = isF32(round.getIn().getType()) && getElementTypeOrSelf(round.getType()).isBF16();
      return roundsToBFloat16 && isToBFloat16 ? rounded(b, round) : Value();
    }
    if (!isa<math::ExpOp, math::TanhOp>(op) || !isF32(op->getResult(0).getType()))
      return {};
    Numbers numbers(b, op->getLoc(), op->getResult(0).getType());
    return isa<math::ExpOp>(op) ? exponential(numbers, op->getOperand(0))
                                : hyperbolicTangent(b, numbers, op->getOperand(0));
  }

  const bool roundsToBFloat16;
};

} // namespace

std::unique_ptr<Pass> createUseMathUnitsPass(bool roundsToBFloat16) {
  return std::make_unique<UseMathUnitsPass>(roundsToBFloat16);
}

} // namespace splitcast::runtime
