//===- Tensor.h - What the oracle computes with -------------------------------===//
//
// The oracle is plain and slow on purpose: every floating-point element is held as a double and every integer as an
// int64_t, whatever its type in the IR, and is rounded to that type after each scalar operation.
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

/// How floating-point values are held after each scalar operation.
enum class Precision {
  F32, ///< rounded to their type in the IR, to nearest even
  F64, ///< as doubles whatever the IR says: for finite differences
};

/// Elements in row-major order, in the vector that the element type asks for; the other one is empty. Integers are
/// sign-extended to 64 bits, also i1: true is -1.
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

/// Values are never changed once made, so they are shared.
using TensorRef = std::shared_ptr<const Tensor>;

inline TensorRef share(Tensor tensor) { return std::make_shared<const Tensor>(std::move(tensor)); }

/// InvalidArgument unless the type is a statically shaped tensor of f64, f32, bf16, f16, index or integers up to 64
/// bits.
absl::Status checkHoldable(mlir::Type type);

/// InvalidArgument unless `tensor` has the shape, element type (signatures are ignored) and number of elements of
/// `type`; `what` says in the message which tensor it is.
absl::Status checkIs(const Tensor &tensor, mlir::RankedTensorType type, const std::string &what);

/// Bytes of all elements in their type of the IR.
int64_t bytesOf(const Tensor &tensor);

/// Whether element `i` of `a` and element `j` of `b`, of one element type, have the same bits.
bool sameBits(const Tensor &a, int64_t i, const Tensor &b, int64_t j);

/// The element as text, for messages.
std::string elementText(const Tensor &tensor, int64_t index);

/// Elements [from, from + count) of `source` to `target` from `to` on. Requires one element type and that both ranges
/// exist.
void copyElements(const Tensor &source, int64_t from, int64_t count, Tensor &target, int64_t to);

/// Anything that MLIR prints, as text.
template <typename T> std::string printed(const T &object) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << object;
  return text;
}

/// A type without its signature, as text.
std::string printedShape(mlir::RankedTensorType type);

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_TENSOR_H
