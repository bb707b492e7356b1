//===- SlotClasses.h - Which slots are parts of one range ----------------------===//
//
// If the same ops are applied to all members of a bucket, their slots are parts of one range: one op makes all of them,
// and one gather makes them whole. Where members are updated in different ways, each way has a range of its own; to
// gather slots of several such ranges, they are first packed into one.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_SLOTCLASSES_H
#define SPLITCAST_PASSES_GLOBAL_SLOTCLASSES_H

#include "dialects/sbp/Sbp.h"

#include <map>
#include <optional>
#include <set>
#include <string>

namespace splitcast {

class SlotClasses {
public:
  explicit SlotClasses(mlir::Block &block);

  /// Returns the key of the gathers of a bucket that may be joined with this one, if this is a gather of computed
  /// values, and the members that are gathered with this key are parts of several ranges; else nothing.
  std::optional<std::string> joinedGather(sbp::BoxingOp op) const;

private:
  void visit(mlir::Operation *op);
  std::string keyOf(mlir::Operation *op);

  llvm::DenseMap<mlir::Value, int64_t> classes;             ///< of slots, counted from 1
  std::map<std::string, int64_t> numbers;                   ///< of classes, by the ops that make their slots
  llvm::DenseMap<mlir::Attribute, int64_t> timesAssigned;   ///< so far, by variable
  std::map<std::string, int64_t> timesBoxed;                ///< so far, by step and slot
  std::map<std::string, std::set<int64_t>> classesGathered; ///< by the key of the gathers
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_SLOTCLASSES_H
