//===- StorageLayout.h - Places of storages in memory -----------------------------------------------===//
//
// Storages that outlive a step lie in the persistent space, one after the other. A storage that is carried from run to
// run of a schedule lies at the beginning of the arena of its step: other steps may use these bytes. This requires that
// every assignment assigns the whole storage. A carried storage that is assigned in parts lies in the persistent space,
// too, because bytes that no part assigns must be zero. (On a rank where one part is the whole storage, it lies in the
// arena: ranks may differ.)
//
//   schedule @train runs @first, @next, @last, which use @g.accumulated     arena [0, 64): @g.accumulated
//                                                                                  [64, ...): buffers of each
//   schedule @predict runs @prologue, @main, which use @w.gathered          arena [0, 160): @w.gathered
//                                                                                  [192, ...): buffers of each
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_PLAN_STORAGELAYOUT_H
#define SPLITCAST_PASSES_PLAN_STORAGELAYOUT_H

#include "dialects/ccl/Ccl.h"
#include "dialects/exec/Exec.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <vector>

namespace splitcast {

/// Returns the aligned end of `bytes` from `begin` on; nothing if it does not fit into an int64_t.
std::optional<int64_t> alignedEnd(int64_t begin, std::optional<int64_t> bytes);

class StorageLayout {
public:
  /// A storage in the arena.
  struct Carried {
    mlir::StringAttr storage;
    exec::RangeAttr range;
    exec::Role role;
  };

  /// Lays out the storages of a module whose functions have one block each. It is an error if the storages of a space
  /// have more bytes than an int64_t can count.
  static mlir::FailureOr<StorageLayout> create(mlir::ModuleOp module);

  int64_t persistentBytes() const { return persistentEnd; }
  /// Returns the storages that are carried through the step of which the function is a run.
  llvm::ArrayRef<Carried> carriedOf(mlir::func::FuncOp function) const;
  /// Returns the end of these in the arena, a multiple of sbp::kAlignmentBytes.
  int64_t carriedBytes(mlir::func::FuncOp function) const;
  /// Returns a range of a storage of the module, from `offset` on.
  exec::RangeAttr rangeOf(llvm::StringRef storage, int64_t offset, int64_t bytes) const;

private:
  struct Step {
    std::vector<Carried> carried;
    int64_t end = 0;
  };

  llvm::StringMap<exec::RangeAttr> ranges;
  llvm::DenseMap<mlir::Operation *, size_t> stepOf; ///< of a function
  std::vector<Step> steps;
  int64_t persistentEnd = 0;

  friend class StorageLayoutBuilder;
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_PLAN_STORAGELAYOUT_H
