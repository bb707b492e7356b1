//===- JoinPlan.h - Which ops of a bucket's members become one, and their order ------------===//
//
// Some ops wait for others of their bucket and become one op with them, a *bundle*: boxings that put members into a
// range (a reduction, or a slice of values that lie in no range yet), gathers of values that were computed from members
// in several ways, and assignments. Ops of a bundle have the same bucket, step and *depth*: the number of bundles on
// the longest path to them. A path from one bundle to another raises the depth, so no bundle ever waits for itself, in
// any program. The order is the old one, except for ops that have to wait; a bundle stands at the place of its last op.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_JOINPLAN_H
#define SPLITCAST_PASSES_GLOBAL_JOINPLAN_H

#include "passes/global/SlotClasses.h"

#include <map>
#include <tuple>

namespace splitcast {

/// The variables that are stored as one range: a bucket's members, or their states of one role.
struct RangeStorage {
  sbp::BucketOp bucket;
  mlir::StringAttr role;
  int64_t variables = 0; ///< the number of variables in it
};

/// The range of each variable with a slot. Borrows the module, whose variables and buckets must not change.
class BucketTable {
public:
  /// Fails, after an error on the variable, if a variable's slot names a bucket that does not have it as a member.
  static mlir::FailureOr<BucketTable> create(mlir::ModuleOp module);

  bool empty() const { return buckets.empty(); }
  sbp::BucketOp bucket(mlir::StringAttr name) const { return buckets.lookup(name); }
  sbp::VariableOp variable(mlir::FlatSymbolRefAttr symbol) const { return variables.lookup(symbol.getAttr()); }
  /// Returns the range of a variable; null if the variable lies in no bucket.
  RangeStorage *storageOf(mlir::FlatSymbolRefAttr variable) const;
  /// Returns the slot into which a boxing puts its operand, if there is one: its result is S(@bucket), or B along the
  /// bucket's axis with `bucket`.
  std::optional<sbp::Slot> targetSlot(sbp::BoxingOp op) const;

private:
  mlir::LogicalResult add(sbp::VariableOp variable, const llvm::DenseSet<mlir::Attribute> &members);

  llvm::DenseMap<mlir::Attribute, sbp::BucketOp> buckets;
  llvm::DenseMap<mlir::Attribute, sbp::VariableOp> variables;
  llvm::DenseMap<mlir::Attribute, size_t> places;                            ///< in `storages`, by variable
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Attribute>, size_t> known; ///< in `storages`, by bucket and role
  mutable std::vector<RangeStorage> storages; ///< mutable, since accessors of op handles are not const
};

/// The single step of a boxing of a bucket, after such boxings have been split up; for a boxing of no bucket, the
/// change along the first axis that changes. The axis is -1 if none does.
struct SingleStep {
  int64_t axis = -1;
  sbp::Sbp from, to;
};
SingleStep singleStepOf(sbp::BoxingOp op);

/// Returns a text such as "|backward|h.0": phase and group of the fence that the boxing's operand comes from, if there
/// is one.
std::string fenceText(sbp::BoxingOp op);

/// Whether the value's type is S(@bucket) on an axis.
bool isSlot(mlir::Value value);

class JoinPlan {
public:
  JoinPlan(mlir::Block &block, const BucketTable &table);

  /// Whether a value is, as a whole, a member with this slot of a range that was read or gathered.
  bool liesAt(mlir::Value value, const sbp::Slot &slot) const;

  /// Calls `write` for each op that stays alone and for each bundle, each after all those that it waits for.
  mlir::LogicalResult inOrder(llvm::function_ref<mlir::LogicalResult(llvm::ArrayRef<mlir::Operation *>)> write);

private:
  struct Node {
    llvm::SmallVector<mlir::Operation *, 1> ops;
    int64_t index = 0; ///< of the last op
    llvm::SmallVector<int64_t, 2> users;
    int64_t waitsFor = 0;
  };
  /// The depths that order the next read or assignment of a variable after earlier ones.
  struct Access {
    int64_t depth = 0;     ///< the least depth of the next one
    int64_t readDepth = 0; ///< the largest depth of the reads so far
  };
  using Accesses = llvm::DenseMap<mlir::Attribute, Access>;
  using Assignments = llvm::DenseMap<mlir::Attribute, mlir::Operation *>; ///< by variable, the last one so far
  using Kind = std::pair<const void *, std::string>; ///< of a bundle: an assigned storage, or the boxing's step

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
  llvm::DenseMap<mlir::Value, int64_t> depths; ///< by value, the least depth of its users
  llvm::DenseMap<mlir::Value, sbp::Slot> homes;
  std::map<std::tuple<Kind, int64_t, int64_t>, int64_t> bundles; ///< node by kind, depth and repeat
  std::map<std::tuple<Kind, int64_t, int64_t>, int64_t> repeats; ///< by kind, depth and offset of the slot
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_JOINPLAN_H
