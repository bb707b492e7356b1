//===- Tensor.h - The tensors of the oracle -----------------------------------===//
//
// The oracle is simple and slow on purpose. It stores every floating-point element as a double and every integer as an
// int64_t, whatever its type in the IR, and rounds to that type after each scalar operation.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_REFERENCE_TENSOR_H
#define SPLITCAST_TESTS_REFERENCE_TENSOR_H

#include "dialects/sbp/Sbp.h"

#include "absl/status/statusor.h"

#include <memory>
#include <string>
#include <vector>

namespace splitcast::reference {

/// How floating-point values are rounded after each scalar operation.
enum class Precision {
  F32, ///< to their type in the IR, to the nearest number, ties to even
  F64, ///< not at all: they are doubles, whatever the IR says; for finite differences
};

/// A tensor. Its elements are in row-major order, in the vector for the element type; the other vector is empty.
/// Integers are sign-extended to 64 bits. This includes i1, for which true is -1.
struct Tensor {
  sbp::Shape shape;
  mlir::Type elementType;
  std::vector<double> floats;
  std::vector<int64_t> integers;

  /// Requires a type that checkHoldable accepts.
  static Tensor zeros(const sbp::Shape &shape, mlir::Type elementType);
  static Tensor zeros(mlir::RankedTensorType type) { return zeros(type.getShape().vec(), type.getElementType()); }

  bool isFloat() const { return mlir::isa<mlir::FloatType>(elementType); }
  int64_t numElements() const { return sbp::numElements(shape); }
};

/// A shared tensor. Tensors never change after they were computed.
using TensorRef = std::shared_ptr<const Tensor>;

inline TensorRef share(Tensor tensor) { return std::make_shared<const Tensor>(std::move(tensor)); }

/// Returns InvalidArgument unless the type is a tensor of f64, f32, bf16, f16, index or integers up to 64 bits, with a
/// static shape.
absl::Status checkHoldable(mlir::Type type);

/// Returns InvalidArgument unless `tensor` has the shape, the element type and the number of elements of `type`, whose
/// signature is ignored. `what` names the tensor in the message.
absl::Status checkIs(const Tensor &tensor, mlir::RankedTensorType type, const std::string &what);

/// The number of bytes of all elements in their type of the IR.
int64_t bytesOf(const Tensor &tensor);

/// Whether element `i` of `a` and element `j` of `b` have the same bits, or are both NaN, whose bits are
/// not specified. Both tensors must have the same element type.
bool sameBits(const Tensor &a, int64_t i, const Tensor &b, int64_t j);

/// Returns the element as text, for messages.
std::string elementText(const Tensor &tensor, int64_t index);

/// Copies elements [from, from + count) of `source` to elements [to, to + count) of `target`. Both tensors must have
/// the same element type, and both ranges must exist.
void copyElements(const Tensor &source, int64_t from, int64_t count, Tensor &target, int64_t to);

/// Returns the text of anything that MLIR can print.
template <typename T> std::string printed(const T &object) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << object;
  return text;
}

/// Returns the text of a type without its signature.
std::string printedShape(mlir::RankedTensorType type);

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_TENSOR_H
