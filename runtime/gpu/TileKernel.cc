#include "runtime/gpu/TileKernel.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace splitcast::runtime {
namespace {

/// The bits of an f32's mantissa that tf32 lacks.
constexpr int32_t kLastBits = 0x1fff;

} // namespace

/// Half of the last place of tf32 is added, so that ties go away from zero, as cvt.rna.tf32 has it. A NaN stays as it
/// is: the addition may carry out of it.
ThreadKernel::Value TileKernel::rounded(Value element) {
  Value nearest = withoutLast(add(bits(element), word((kLastBits + 1) / 2)));
  Value isNumber = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::ORD, element, element);
  return choose(isNumber, b.create<arith::BitcastOp>(loc, b.getF32Type(), nearest), element);
}

ThreadKernel::Value TileKernel::withoutLast(Value bits) { return make<arith::AndIOp>(bits, word(~kLastBits)); }

/// Splits by cutting off, and not by rounding, which could make the largest
/// numbers infinite.
TileKernel::Operands TileKernel::split(const Values &elements) {
  Operands parts;
  for (Value element : elements) {
    Value upper = withoutLast(bits(element));
    Value left = make<arith::SubFOp>(element, b.create<arith::BitcastOp>(loc, b.getF32Type(), upper));
    parts.upper.push_back(upper);
    parts.lower.push_back(withoutLast(bits(left)));
  }
  return parts;
}

TileKernel::Operands TileKernel::left(const Values &elements) {
  if (!rounds)
    return split(elements);
  Operands operands;
  for (Value element : elements)
    operands.upper.push_back(bits(rounded(element)));
  return operands;
}

TileKernel::Operands TileKernel::right(const Values &elements) {
  if (!rounds)
    return split(elements);
  Operands operands;
  for (Value element : elements)
    operands.upper.push_back(bits(element));
  return operands;
}

/// Small addends come first.
ThreadKernel::Values TileKernel::addProduct(const Operands &left, const Operands &right, const Values &sum) {
  if (rounds)
    return multiply(left.upper, right.upper, sum);
  const Values first = multiply(left.lower, right.upper, Values(4, real(0))),
               second = multiply(left.upper, right.lower, first), third = multiply(left.upper, right.upper, second);
  Values result;
  for (auto [before, product] : llvm::zip(sum, third))
    result.push_back(make<arith::AddFOp>(before, product));
  return result;
}

ThreadKernel::Values TileKernel::multiply(const Values &left, const Values &right, const Values &sum) {
  const SmallVector<Type> four(4, b.getF32Type());
  auto product = b.create<NVVM::MmaOp>(loc, LLVM::LLVMStructType::getLiteral(b.getContext(), four), left, right, sum,
                                       ArrayRef<int64_t>{kTileRows, kTileColumns, kTileDepth}, std::nullopt,
                                       std::nullopt, std::array{NVVM::MMATypes::tf32, NVVM::MMATypes::tf32},
                                       std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  Values result;
  for (int64_t element = 0; element < 4; ++element)
    result.push_back(b.create<LLVM::ExtractValueOp>(loc, product, element));
  return result;
}

} // namespace splitcast::runtime
