//===- Nn.h - The nn dialect --------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_NN_NN_H
#define SPLITCAST_DIALECTS_NN_NN_H

#include "dialects/exec/Exec.h"
#include "dialects/nn/LossScale.h"
#include "dialects/nn/Optimizer.h"
#include "dialects/sbp/Sbp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <functional>
#include <optional>

namespace splitcast::nn {

/// A call of a vendor library in a plan. Its operands are the op's operands, then the op's results, then, unless
/// `workspaceBytes` is 0, so many bytes of scratch memory.
struct LibraryCall {
  exec::LibraryCallAttrInterface call;
  int64_t workspaceBytes = 0;
};

/// Operand `operand` holds indices that are at least 0 and less than `places`, or equal to `ignored`.
struct IndexOperand {
  unsigned operand = 0;
  int64_t places = 0;
  std::optional<int64_t> ignored;
};

template <typename ConcreteOp>
class ConvertsElements : public mlir::OpTrait::TraitBase<ConcreteOp, ConvertsElements> {};

/// Differentiation treats the op's results as constants.
template <typename ConcreteOp> class StopsGradient : public mlir::OpTrait::TraitBase<ConcreteOp, StopsGradient> {};

/// Products: with mixed types, they are computed in the 16-bit type if one operand has it.
template <typename ConcreteOp> class ProductOp : public mlir::OpTrait::TraitBase<ConcreteOp, ProductOp> {};

/// Ops whose operands and results need more precision than a 16-bit type has, such as sums and norms.
template <typename ConcreteOp> class WideOp : public mlir::OpTrait::TraitBase<ConcreteOp, WideOp> {};

/// Ops whose results are elements of an operand, at the beginning of a residual stream: they are computed in a 16-bit
/// type, and the result is then extended, so that additions to it are computed in the wider type.
template <typename ConcreteOp> class WideResultOp : public mlir::OpTrait::TraitBase<ConcreteOp, WideResultOp> {};

mlir::LogicalResult verifyCompute(mlir::Operation *op);

// The element types that ops accept.
inline bool isIndexElement(mlir::Type type) { return type.isInteger(32) || type.isInteger(64); }
/// The element types of inputs: those that a rank's memory has.
inline bool isStoredElement(mlir::Type type) {
  return type.isSignlessInteger(1) || type.isSignlessInteger(8) || type.isSignlessInteger(32) ||
         type.isSignlessInteger(64) || type.isF16() || type.isBF16() || type.isF32() || type.isF64();
}
inline bool isFloatElement(mlir::Type type) { return type.isF16() || type.isBF16() || type.isF32() || type.isF64(); }
inline bool isDoubleElement(mlir::Type type) { return type.isF64(); }
inline bool isElement(mlir::Type type) { return isIndexElement(type) || isFloatElement(type); }

/// Builds one element.
using ScalarBuilder = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

/// Returns the linear sets of a cast. It is linear where it extends floats, since a sum of extended addends is then the
/// extended sum.
std::vector<sbp::LinearSet> linearIfExtending(mlir::Operation *cast);

// The rules that all elementwise ops share.
sbp::LoopSpec elementwiseLoopSpec(mlir::Operation *op, std::vector<sbp::LinearSet> linear);
/// Returns the broadcast of the operands' shapes with the first operand's element type. If the shapes do not fit, the
/// verifier reports the resulting op.
mlir::RankedTensorType elementwiseResultType(mlir::ValueRange operands);
mlir::LogicalResult inferElementwiseTypes(mlir::Operation *op, llvm::SmallVectorImpl<mlir::RankedTensorType> &types);
mlir::Value lowerElementwise(mlir::Operation *op, mlir::OpBuilder &builder, mlir::ValueRange operands,
                             ScalarBuilder scalar);

} // namespace splitcast::nn

#include "dialects/nn/NnDialect.h.inc"
#include "dialects/nn/NnOpInterfaces.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/nn/NnAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/nn/NnOps.h.inc"

namespace splitcast::nn {

/// Returns the tensor type without its signature.
mlir::RankedTensorType undecided(mlir::Type type);

/// Builds a splat of `value` with the shape and element type of `type`.
mlir::Value splat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, double value);

/// Undoes a broadcast: sums `value` over the dimensions in which `shape` is shorter or 1.
mlir::Value sumToShape(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, llvm::ArrayRef<int64_t> shape);

/// Builds a linalg.generic with one result. `maps` has one map per input and then the result's; `init` is the initial
/// value of a reduction, and absent when every loop is parallel.
mlir::Value buildGeneric(mlir::OpBuilder &builder, mlir::Location loc, mlir::RankedTensorType type,
                         mlir::ValueRange inputs, llvm::ArrayRef<mlir::AffineMap> maps,
                         llvm::ArrayRef<mlir::utils::IteratorType> iterators, std::optional<double> init,
                         llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)> body);

/// Whether `pattern`, in which a star stands for any characters, matches all of `text`.
bool matchesPattern(llvm::StringRef pattern, llvm::StringRef text);
/// Whether one of `patterns`, which are strings, matches all of `text`.
bool matchesAny(mlir::ArrayAttr patterns, llvm::StringRef text);
/// Whether there are elements, and all are strings that are not empty.
bool arePatterns(mlir::ArrayAttr patterns);

/// Builds the index at which part `number` begins, an i64, if each part has `each` indices; `before` is added if it is
/// not null.
mlir::Value partBegin(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value number, int64_t each,
                      mlir::Value before);

/// Builds a constant of an element type, float or integer.
mlir::Value scalarConstant(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, double value);

/// Compares an i32 or i64 with a number that may not fit into an i32.
mlir::Value compareWithNumber(mlir::OpBuilder &builder, mlir::Location loc, mlir::arith::CmpIPredicate predicate,
                              mlir::Value integer, int64_t number);

} // namespace splitcast::nn

#endif // SPLITCAST_DIALECTS_NN_NN_H
