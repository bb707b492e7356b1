#include "tests/differential/Bytes.h"

#include "llvm/ADT/APFloat.h"

#include <cassert>
#include <cstring>

namespace splitcast::differential {

using reference::Tensor;

namespace {

template <typename Stored, typename Held> std::string pack(const std::vector<Held> &elements) {
  std::string bytes(elements.size() * sizeof(Stored), '\0');
  for (size_t i = 0; i < elements.size(); ++i) {
    Stored stored = static_cast<Stored>(elements[i]);
    std::memcpy(bytes.data() + i * sizeof(Stored), &stored, sizeof(Stored));
  }
  return bytes;
}

template <typename Stored, typename Held> void unpack(const std::string &bytes, std::vector<Held> &elements) {
  assert(bytes.size() == elements.size() * sizeof(Stored) && "bytes of another type, or of another shape");
  for (size_t i = 0; i < elements.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    elements[i] = static_cast<Held>(stored);
  }
}

/// bf16 and f16 by LLVM's arithmetic.
std::string packSmall(const Tensor &tensor) {
  std::vector<uint16_t> bits;
  for (double value : tensor.floats) {
    llvm::APFloat small(value);
    bool losesInformation = false;
    small.convert(mlir::cast<mlir::FloatType>(tensor.elementType).getFloatSemantics(),
                  llvm::APFloat::rmNearestTiesToEven, &losesInformation);
    bits.push_back(static_cast<uint16_t>(small.bitcastToAPInt().getZExtValue()));
  }
  return pack<uint16_t>(bits);
}

void unpackSmall(const std::string &bytes, Tensor &tensor) {
  std::vector<uint16_t> bits(tensor.floats.size());
  unpack<uint16_t>(bytes, bits);
  for (size_t i = 0; i < bits.size(); ++i) {
    llvm::APFloat wide(mlir::cast<mlir::FloatType>(tensor.elementType).getFloatSemantics(), llvm::APInt(16, bits[i]));
    bool losesInformation = false;
    wide.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInformation);
    tensor.floats[i] = wide.convertToDouble();
  }
}

bool isSmall(mlir::Type type) { return type.isBF16() || type.isF16(); }

} // namespace

std::string toBytes(const Tensor &tensor) {
  if (isSmall(tensor.elementType))
    return packSmall(tensor);
  if (tensor.elementType.isF32())
    return pack<float>(tensor.floats);
  if (tensor.elementType.isF64())
    return pack<double>(tensor.floats);
  return tensor.elementType.isInteger(32) ? pack<int32_t>(tensor.integers) : pack<int64_t>(tensor.integers);
}

Tensor fromBytes(const sbp::Shape &shape, mlir::Type elementType, const std::string &bytes) {
  Tensor tensor = Tensor::zeros(shape, elementType);
  if (isSmall(elementType))
    unpackSmall(bytes, tensor);
  else if (elementType.isF32())
    unpack<float>(bytes, tensor.floats);
  else if (elementType.isF64())
    unpack<double>(bytes, tensor.floats);
  else if (elementType.isInteger(32))
    unpack<int32_t>(bytes, tensor.integers);
  else
    unpack<int64_t>(bytes, tensor.integers);
  return tensor;
}

} // namespace splitcast::differential
