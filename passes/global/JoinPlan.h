//===- JoinPlan.h - What the members of buckets do together, and in which order ------------===//
//
// Some ops wait for others of their bucket and become one with them, a *bundle*: boxings that lay members into a range
// (a reduction, or a slice of values that lie in no range yet), gathers of what was computed of members in several
// ways, and assignments. Ops of a bundle have the same bucket, step and *depth*: the number of bundles on the longest
// path to them. A path from one bundle to another raises the depth, so no bundle ever waits for itself, whatever the
// program is. The order is the old one, except for what has to wait; a bundle stands where its last op stood.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_JOINPLAN_H
#define SPLITCAST_PASSES_GLOBAL_JOINPLAN_H

#include "passes/global/SlotClasses.h"

#include <map>
#include <tuple>

namespace splitcast {

/// What lies at rest as one range: a bucket's members, or their states of one role.
struct RangeStorage {
  sbp::BucketOp bucket;
  mlir::StringAttr role;
  int64_t variables = 0; ///< that lie in it
};

/// Of each variable with a slot, where it lies. Borrows the module, whose variables and buckets must not change.
class BucketTable {
public:
  /// Failure, after an error on the variable, when one lies in a bucket that does not have it as a member.
  static mlir::FailureOr<BucketTable> create(mlir::ModuleOp module);

  bool empty() const { return buckets.empty(); }
  sbp::BucketOp bucket(mlir::StringAttr name) const { return buckets.lookup(name); }
  sbp::VariableOp variable(mlir::FlatSymbolRefAttr symbol) const { return variables.lookup(symbol.getAttr()); }
  /// Null when the variable lies in no bucket.
  RangeStorage *storageOf(mlir::FlatSymbolRefAttr variable) const;
  /// The slot that a boxing lays its operand into, if it does: S(@bucket), or B along the bucket's axis with `bucket`.
  std::optional<sbp::Slot> targetSlot(sbp::BoxingOp op) const;

private:
  mlir::LogicalResult add(sbp::VariableOp variable, const llvm::DenseSet<mlir::Attribute> &members);

  llvm::DenseMap<mlir::Attribute, sbp::BucketOp> buckets;
  llvm::DenseMap<mlir::Attribute, sbp::VariableOp> variables;
  llvm::DenseMap<mlir::Attribute, size_t> places;                            ///< in `storages`, by variable
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Attribute>, size_t> known; ///< in `storages`, by bucket and role
  mutable std::vector<RangeStorage> storages; ///< ops are handles, whose accessors are not const
};

/// The one step that a boxing of a bucket is, once they have been split up; of one that is of no bucket the first axis
/// that changes. Axis -1 when nothing does.
struct SingleStep {
  int64_t axis = -1;
  sbp::Sbp from, to;
};
SingleStep singleStepOf(sbp::BoxingOp op);

/// "|backward|h.0": phase and group of the fence that the boxing stands behind, if it does.
std::string fenceText(sbp::BoxingOp op);

/// Whether the value's type is S(@bucket) on an axis.
bool isSlot(mlir::Value value);

class JoinPlan {
public:
  JoinPlan(mlir::Block &block, const BucketTable &table);

  /// Whether a value is, whole, a member of a range that was read or gathered, with this slot.
  bool liesAt(mlir::Value value, const sbp::Slot &slot) const;

  /// Calls `write` for each op that stays alone and for each bundle, each after all that it waits for.
  mlir::LogicalResult inOrder(llvm::function_ref<mlir::LogicalResult(llvm::ArrayRef<mlir::Operation *>)> write);

private:
  struct Node {
    llvm::SmallVector<mlir::Operation *, 1> ops;
    int64_t index = 0; ///< of the last op
    llvm::SmallVector<int64_t, 2> users;
    int64_t waitsFor = 0;
  };
  /// What the next read or assignment of a variable comes behind.
  struct Access {
    int64_t depth = 0;     ///< of what comes next, at least
    int64_t readDepth = 0; ///< of the reads so far, at most
  };
  using Accesses = llvm::DenseMap<mlir::Attribute, Access>;
  using Assignments = llvm::DenseMap<mlir::Attribute, mlir::Operation *>; ///< of a variable, the last one so far
  using Kind = std::pair<const void *, std::string>; ///< of a bundle: a storage that is assigned, or a boxing's step

  void place(mlir::Operation *op, Accesses &accesses);
  int64_t depthOf(mlir::Operation *op, Accesses &accesses) const;
  std::optional<Kind> kindOf(mlir::Operation *op) const;
  int64_t slotOffset(mlir::Operation *op) const;
  void joinBundle(mlir::Operation *op, const Kind &kind, int64_t depth);
  void rememberHome(mlir::Operation *op);
  void connect(mlir::Operation *op, Assignments &last);
  void addEdge(mlir::Operation *from, mlir::Operation *to);

  const BucketTable &table;
  SlotClasses classes;
  std::vector<Node> nodes;
  int64_t numOps = 0;
  llvm::DenseMap<mlir::Operation *, int64_t> nodeOf;
  llvm::DenseMap<mlir::Value, int64_t> depths; ///< of what is made from a value, at least
  llvm::DenseMap<mlir::Value, sbp::Slot> homes;
  std::map<std::tuple<Kind, int64_t, int64_t>, int64_t> bundles; ///< node by kind, depth and repeat
  std::map<std::tuple<Kind, int64_t, int64_t>, int64_t> repeats; ///< by kind, depth and offset of the slot
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_JOINPLAN_H
