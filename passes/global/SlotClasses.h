//===- SlotClasses.h - Which slots are parts of one range ----------------------===//
//
// Members of a bucket for which the same is done have slots that are parts of one range: one op makes all of them, and
// one gather has them whole. Where members are updated differently, each has a range of its own; what is gathered of
// several such is laid side by side first.
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

  /// What gathers of a bucket have in common that may be one, if this is a gather of what was computed, and the members
  /// that are gathered so are parts of several ranges; else nothing.
  std::optional<std::string> joinedGather(sbp::BoxingOp op) const;

private:
  void visit(mlir::Operation *op);
  std::string keyOf(mlir::Operation *op);

  llvm::DenseMap<mlir::Value, int64_t> classes;             ///< of slots, from 1 on
  std::map<std::string, int64_t> numbers;                   ///< of classes, by how their slots are made
  llvm::DenseMap<mlir::Attribute, int64_t> timesAssigned;   ///< so far, by variable
  std::map<std::string, int64_t> timesBoxed;                ///< so far, by step and slot
  std::map<std::string, std::set<int64_t>> classesGathered; ///< by what the gathers have in common
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_SLOTCLASSES_H
