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

/// A call of a vendor library, as a plan has it. Operands are the op's, then its results, then `workspaceBytes` of
/// memory that it may use as it likes, unless they are 0.
struct LibraryCall {
  exec::LibraryCallAttrInterface call;
  int64_t workspaceBytes = 0;
};

/// Operand `operand` holds indices into `places` places, or `ignored`.
struct IndexOperand {
  unsigned operand = 0;
  int64_t places = 0;
  std::optional<int64_t> ignored;
};

template <typename ConcreteOp>
class ConvertsElements : public mlir::OpTrait::TraitBase<ConcreteOp, ConvertsElements> {};

/// Values behind it depend on no variable, for a loss that is differentiated.
template <typename ConcreteOp> class StopsGradient : public mlir::OpTrait::TraitBase<ConcreteOp, StopsGradient> {};

/// A product: of a small type as soon as one operand is, where types are mixed.
template <typename ConcreteOp> class ProductOp : public mlir::OpTrait::TraitBase<ConcreteOp, ProductOp> {};

/// Needs more digits than a small type has, of operands and results: sums and norms, say.
template <typename ConcreteOp> class WideOp : public mlir::OpTrait::TraitBase<ConcreteOp, WideOp> {};

/// Gives elements that an operand has, where a stream of values begins: computed in a small type, and then extended, so
/// that what is added to it is added in the wide one.
template <typename ConcreteOp> class WideResultOp : public mlir::OpTrait::TraitBase<ConcreteOp, WideResultOp> {};

mlir::LogicalResult verifyCompute(mlir::Operation *op);

// Element types that the ops take.
inline bool isIndexElement(mlir::Type type) { return type.isInteger(32) || type.isInteger(64); }
inline bool isFloatElement(mlir::Type type) { return type.isF16() || type.isBF16() || type.isF32() || type.isF64(); }
inline bool isDoubleElement(mlir::Type type) { return type.isF64(); }
inline bool isElement(mlir::Type type) { return isIndexElement(type) || isFloatElement(type); }

/// Computes one element.
using ScalarBuilder = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

/// Of a cast: linear where it keeps every digit, since a sum of what was extended is then the extended sum.
std::vector<sbp::LinearSet> linearIfExtending(mlir::Operation *cast);

// The rules that all elementwise ops share.
sbp::LoopSpec elementwiseLoopSpec(mlir::Operation *op, std::vector<sbp::LinearSet> linear);
/// The broadcast of the operands' shapes with the first operand's element type; what it is when they do not fit is
/// caught by the verifier.
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

/// The tensor type without signature.
mlir::RankedTensorType undecided(mlir::Type type);

/// A splat of `value` with the shape and element type of `type`.
mlir::Value splat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, double value);

/// Undoes a broadcast: sums `value` over the dimensions in which `shape` is shorter or 1.
mlir::Value sumToShape(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, llvm::ArrayRef<int64_t> shape);

/// linalg.generic with one result. `maps` has one map per input and then the result's; `init` is what a reduction
/// starts from, absent when every loop is parallel.
mlir::Value buildGeneric(mlir::OpBuilder &builder, mlir::Location loc, mlir::RankedTensorType type,
                         mlir::ValueRange inputs, llvm::ArrayRef<mlir::AffineMap> maps,
                         llvm::ArrayRef<mlir::utils::IteratorType> iterators, std::optional<double> init,
                         llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)> body);

/// Whether `pattern`, of which each star stands for any characters, is of all of `text`.
bool matchesPattern(llvm::StringRef pattern, llvm::StringRef text);

/// Where part `number` of parts of `each` numbers begins, an i64; `before` is added, if there.
mlir::Value partBegin(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value number, int64_t each,
                      mlir::Value before);

/// A constant of an element type, float or integer.
mlir::Value scalarConstant(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, double value);

/// Compares an i32 or i64 with a number that i32 may not hold.
mlir::Value compareWithNumber(mlir::OpBuilder &builder, mlir::Location loc, mlir::arith::CmpIPredicate predicate,
                              mlir::Value integer, int64_t number);

} // namespace splitcast::nn

#endif // SPLITCAST_DIALECTS_NN_NN_H
