#include "tests/reference/Tensor.h"

#include "absl/strings/str_cat.h"
#include "llvm/ADT/bit.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace mlir;

namespace splitcast::reference {

Tensor Tensor::zeros(const sbp::Shape &shape, Type elementType) {
  Tensor tensor{shape, elementType, {}, {}};
  if (tensor.isFloat())
    tensor.floats.resize(tensor.numElements());
  else
    tensor.integers.resize(tensor.numElements());
  return tensor;
}

std::string printedShape(RankedTensorType type) { return printed(Type(sbp::withSignature(type, {}))); }

absl::Status checkHoldable(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return absl::InvalidArgumentError(
        absl::StrCat("the oracle holds tensors of static shape, but the type is ", printed(type)));
  Type element = tensor.getElementType();
  if (element.isF64() || element.isF32() || element.isBF16() || element.isF16() || element.isIndex() ||
      (element.isSignlessInteger() && element.getIntOrFloatBitWidth() <= 64))
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the oracle holds elements of f64, f32, bf16, f16, index and signless ",
                   "integers of up to 64 bits, but the type is ", printed(type)));
}

absl::Status checkIs(const Tensor &tensor, RankedTensorType type, const std::string &what) {
  if (absl::Status status = checkHoldable(type); !status.ok())
    return status;
  if (!tensor.elementType || tensor.shape != sbp::shapeOf(type) || tensor.elementType != type.getElementType()) {
    std::string found = tensor.elementType ? printed(Type(RankedTensorType::get(tensor.shape, tensor.elementType)))
                                           : std::string("without a type");
    return absl::InvalidArgumentError(absl::StrCat(what, " is ", found, ", where ", printedShape(type), " is needed"));
  }
  int64_t expected = tensor.numElements();
  int64_t floats = tensor.floats.size(), integers = tensor.integers.size();
  if (floats != (tensor.isFloat() ? expected : 0) || integers != (tensor.isFloat() ? 0 : expected))
    return absl::InvalidArgumentError(absl::StrCat(what, " of type ", printedShape(type), " has ", floats,
                                                   " floating-point elements and ", integers, " integers; it needs ",
                                                   expected, tensor.isFloat() ? " floating-point ones" : " integers"));
  return absl::OkStatus();
}

int64_t bytesOf(const Tensor &tensor) {
  int64_t elementBytes = tensor.elementType.isIndex() ? 8 : sbp::elementBytes(tensor.elementType);
  return tensor.numElements() * elementBytes;
}

bool sameBits(const Tensor &a, int64_t i, const Tensor &b, int64_t j) {
  if (!a.isFloat())
    return a.integers[i] == b.integers[j];
  if (std::isnan(a.floats[i]) && std::isnan(b.floats[j]))
    return true;
  return llvm::bit_cast<uint64_t>(a.floats[i]) == llvm::bit_cast<uint64_t>(b.floats[j]);
}

std::string elementText(const Tensor &tensor, int64_t index) {
  if (!tensor.isFloat())
    return std::to_string(tensor.integers[index]);
  char text[32];
  std::snprintf(text, sizeof(text), "%.17g", tensor.floats[index]);
  return text;
}

void copyElements(const Tensor &source, int64_t from, int64_t count, Tensor &target, int64_t to) {
  if (source.isFloat())
    std::copy_n(source.floats.begin() + from, count, target.floats.begin() + to);
  else
    std::copy_n(source.integers.begin() + from, count, target.integers.begin() + to);
}

} // namespace splitcast::reference
