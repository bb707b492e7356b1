//===- Sbp.h - The sbp dialect ----------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_SBP_SBP_H
#define SPLITCAST_DIALECTS_SBP_SBP_H

#include "dialects/sbp/algebra/Boxing.h"
#include "dialects/sbp/algebra/Factors.h"
#include "dialects/sbp/algebra/Policy.h"
#include "dialects/sbp/algebra/Signature.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace splitcast::sbp {

/// The phases of a training step, in the order in which they end.
enum class Phase { Forward, Backward, Update };
/// Returns "forward", "backward" or "update".
mlir::StringRef nameOf(Phase phase);

/// An attribute of a function that updates variables by a gradient: the number of micro-batches in which the gradient
/// is computed, an integer.
inline constexpr llvm::StringLiteral kMicroBatchesName = "sbp.micro_batches";
/// The most micro-batches that a step may have. Each is a run of a plan; a larger number is a mistake.
inline constexpr int64_t kMostMicroBatches = int64_t{1} << 20;
/// An attribute of the same function: the order in which the gradients of its micro-batches are added up, as the text
/// of an AccumulateOrder.
inline constexpr llvm::StringLiteral kAccumulateOrderName = "sbp.accumulate_order";

/// An attribute of the same function, a boolean: whether its bits are the same on another number of ranks, or in
/// another order, for the same number of micro-batches.
inline constexpr llvm::StringLiteral kReproducibleName = "sbp.reproducible";

/// An attribute of a function whose sums over the batch are exact ('sbp-exact-sums'): the name of the axis that splits
/// the batch.
inline constexpr llvm::StringLiteral kExactSumsName = "sbp.exact_sums";

/// The resource that holds the values of variables.
struct VariableResource : mlir::SideEffects::Resource::Base<VariableResource> {
  mlir::StringRef getName() final { return "sbp.variable"; }
};

/// The resource that `sbp.scope` allocates, so that no two scopes are merged.
struct ScopeResource : mlir::SideEffects::Resource::Base<ScopeResource> {
  mlir::StringRef getName() final { return "sbp.scope"; }
};

/// The role of a bucket's members themselves; no state has it.
inline constexpr llvm::StringLiteral kParameterRole = "parameter";

/// The verifier of ShardingOpInterface, where it is described.
mlir::LogicalResult verifySharding(mlir::Operation *op);

/// The row of an op along one axis; an element of #sbp.row.
struct RowAxis {
  enum class Kind { Replicated, Splits, Sums, Linear, Slot, At };
  mlir::StringAttr axis;
  Kind kind = Kind::Replicated;
  int64_t tensor = 0; ///< for Splits a result, for Sums an operand
  int64_t dim = 0;    ///< the dimension of that tensor that the split loop runs over
  int64_t unit = 1;   ///< iterations that stay together
  bool operator==(const RowAxis &other) const;
  friend llvm::hash_code hash_value(const RowAxis &row) { // NOLINT(readability-identifier-naming): LLVM looks for it
    return llvm::hash_combine(row.axis, row.kind, row.tensor, row.dim, row.unit);
  }
};

/// The use that needs a boxing: #sbp.wanted.
struct Wanted {
  enum class Kind { Operand, Result, Forward, Backward, Update, Assign };
  Kind kind = Kind::Operand;
  mlir::StringAttr of; ///< for an operand or result the op's name, else a variable
  int64_t number = 0;  ///< of the operand or result

  static Wanted by(mlir::OpOperand &operand);
  bool isOfOp() const { return kind == Kind::Operand || kind == Kind::Result; }
  bool operator==(const Wanted &other) const;
  friend llvm::hash_code hash_value(const Wanted &wanted) { // NOLINT(readability-identifier-naming): LLVM looks for it
    return llvm::hash_combine(wanted.kind, wanted.of, wanted.number);
  }
};

} // namespace splitcast::sbp

#include "dialects/sbp/SbpDialect.h.inc"
#include "dialects/sbp/SbpOpInterfaces.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/sbp/SbpAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/sbp/SbpTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/sbp/SbpOps.h.inc"

namespace splitcast::sbp {

/// Returns the signature of a tensor type; null when it has none (yet), or when `type` is no ranked tensor.
NdAttr signatureOf(mlir::Type type);
inline NdAttr signatureOf(mlir::Value value) { return signatureOf(value.getType()); }

/// Returns the same tensor type with another signature; null means none.
mlir::RankedTensorType withSignature(mlir::Type type, NdAttr signature);

/// The type of the piece that the rank at `coordinates` holds; the type itself when it has no signature.
mlir::RankedTensorType localType(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> coordinates);

/// The size of one element in bytes; an i1 takes one byte.
int64_t elementBytes(mlir::Type type);

Shape shapeOf(mlir::Type type);

/// Verifies that the slot has room for the largest piece of a tensor with this signature (null: for the whole tensor),
/// and that the bucket's bytes can be counted. The tensor's own bytes have been verified.
mlir::LogicalResult verifyRoom(SlotAttr slot, llvm::ArrayRef<int64_t> shape, mlir::Type elementType, NdAttr signature,
                               llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// The placement of a module: that of the `sbp.placement` attribute, else of the first signature found in a variable or
/// a function's type; null when there is none.
PlacementAttr placementOf(mlir::ModuleOp module);

/// The policies that a module's groups set for its variables.
class GroupPolicies {
public:
  /// Adds a group. It is an error if the group was added before.
  mlir::LogicalResult add(GroupOp group);
  /// The variable's own policy, completed by those of its groups, the innermost first.
  Policy policyOf(VariableOp variable);
  /// Verifies that each group has a variable: that policyOf found it. The error names a group that it did not find.
  mlir::LogicalResult verifyAllUsed();

private:
  struct Entry {
    GroupOp group;
    bool hasVariable;
  };
  llvm::MapVector<mlir::StringRef, Entry> groups;
};

/// Returns the location with this reason, #sbp.row or #sbp.wanted; it replaces the one that the location had.
mlir::Location withReason(mlir::Location location, mlir::Attribute reason);

/// Whether the op uses only the operand's signature, and none of its elements.
bool isPlaceAlone(mlir::OpOperand &operand);

/// The operands that a LoopSpec describes.
llvm::SmallVector<mlir::Value> tensorOperands(mlir::Operation *op);

} // namespace splitcast::sbp

#endif // SPLITCAST_DIALECTS_SBP_SBP_H
