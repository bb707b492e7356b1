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

/// What part of a training step is for; in the order in which they end.
enum class Phase { Forward, Backward, Update };
/// "forward", "backward", "update"
mlir::StringRef nameOf(Phase phase);

/// Attribute of a function that updates by a gradient: in how many micro-batches it is computed, an integer.
inline constexpr llvm::StringLiteral kMicroBatchesName = "sbp.micro_batches";
/// Of a step. Each is a run of a plan, and more of them are a mistake.
inline constexpr int64_t kMostMicroBatches = int64_t{1} << 20;
/// And in which order their gradients are added up: the text of an AccumulateOrder.
inline constexpr llvm::StringLiteral kAccumulateOrderName = "sbp.accumulate_order";

/// And whether its bits are those of as many micro-batches on another number of ranks, or in another order: a boolean.
inline constexpr llvm::StringLiteral kReproducibleName = "sbp.reproducible";

/// Attribute of a function whose sums over the batch have been made so ('sbp-exact-sums'): the name of the axis that
/// splits the batch.
inline constexpr llvm::StringLiteral kExactSumsName = "sbp.exact_sums";

/// What variables' values live in.
struct VariableResource : mlir::SideEffects::Resource::Base<VariableResource> {
  mlir::StringRef getName() final { return "sbp.variable"; }
};

/// What `sbp.scope` allocates, so that no two scopes are merged.
struct ScopeResource : mlir::SideEffects::Resource::Base<ScopeResource> {
  mlir::StringRef getName() final { return "sbp.scope"; }
};

/// The role of a bucket's members themselves, which no state has.
inline constexpr llvm::StringLiteral kParameterRole = "parameter";

/// Of ShardingOpInterface: see there.
mlir::LogicalResult verifySharding(mlir::Operation *op);

/// Which row an op has along an axis: #sbp.row.
struct RowAxis {
  enum class Kind { Replicated, Splits, Sums, Linear, Slot, At };
  mlir::StringAttr axis;
  Kind kind = Kind::Replicated;
  int64_t tensor = 0; ///< of Splits: a result; of Sums: an operand
  int64_t dim = 0;    ///< of that tensor: what the split loop is the loop of
  int64_t unit = 1;   ///< iterations that stay together
  bool operator==(const RowAxis &other) const;
  friend llvm::hash_code hash_value(const RowAxis &row) { // NOLINT(readability-identifier-naming): LLVM looks for it
    return llvm::hash_combine(row.axis, row.kind, row.tensor, row.dim, row.unit);
  }
};

/// What wanted a boxing: #sbp.wanted.
struct Wanted {
  enum class Kind { Operand, Result, Forward, Backward, Update, Assign };
  Kind kind = Kind::Operand;
  mlir::StringAttr of; ///< of an operand or result: the op's name; else a variable
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

/// The signature of a tensor type; null when it has none (yet), or when `type` is no ranked tensor.
NdAttr signatureOf(mlir::Type type);
inline NdAttr signatureOf(mlir::Value value) { return signatureOf(value.getType()); }

/// The same tensor with another signature (null: none).
mlir::RankedTensorType withSignature(mlir::Type type, NdAttr signature);

/// Type of the piece that the rank at `coordinates` holds; the type itself when it has no signature.
mlir::RankedTensorType localType(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> coordinates);

/// Bytes of one element; an i1 takes a byte.
int64_t elementBytes(mlir::Type type);

Shape shapeOf(mlir::Type type);

/// Whether a tensor that lies so (null: whole) has room in a slot: its largest piece, and the bucket in bytes. The
/// tensor's own bytes have been verified.
mlir::LogicalResult verifyRoom(SlotAttr slot, llvm::ArrayRef<int64_t> shape, mlir::Type elementType, NdAttr signature,
                               llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// The placement of a module: that of the `sbp.placement` attribute, else of the first signature found in a variable or
/// a function's type; null when there is none.
PlacementAttr placementOf(mlir::ModuleOp module);

/// What a module's groups say of its variables.
class GroupPolicies {
public:
  /// An error when the group was added before.
  mlir::LogicalResult add(GroupOp group);
  /// What the variable says, over what its groups say, the innermost first.
  Policy policyOf(VariableOp variable);
  /// Whether policyOf found each group, which then has a variable; an error names one that it did not.
  mlir::LogicalResult verifyAllUsed();

private:
  struct Entry {
    GroupOp group;
    bool hasVariable;
  };
  llvm::MapVector<mlir::StringRef, Entry> groups;
};

/// The location with a reason, #sbp.row or #sbp.wanted, in place of the one that it had.
mlir::Location withReason(mlir::Location location, mlir::Attribute reason);

/// Whether the op uses nothing of the operand but where it is.
bool isPlaceAlone(mlir::OpOperand &operand);

/// The operands that a LoopSpec speaks of.
llvm::SmallVector<mlir::Value> tensorOperands(mlir::Operation *op);

} // namespace splitcast::sbp

#endif // SPLITCAST_DIALECTS_SBP_SBP_H
