//===- StorageLayout.h - Where storages lie -----------------------------------------------===//
//
// What outlives a step lies in the persistent space, one storage after the other. What is carried from run to run of a
// schedule lies at the beginning of the arena of its step: other steps may use these bytes. That is so where every
// assignment assigns all of it; the bytes of a storage that is assigned by parts are zero where nobody assigned them,
// so it lies in the persistent space, too. (On a rank where one part is all of it, it does not: ranks may differ.)
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

/// What ends `bytes` from `begin` on, aligned; nothing when that is more than an int64_t holds.
std::optional<int64_t> alignedEnd(int64_t begin, std::optional<int64_t> bytes);

class StorageLayout {
public:
  /// A storage in the arena.
  struct Carried {
    mlir::StringAttr storage;
    exec::RangeAttr range;
    exec::Role role;
  };

  /// Of a module whose functions have one block each. An error where the storages of a space have more bytes than an
  /// int64_t counts.
  static mlir::FailureOr<StorageLayout> create(mlir::ModuleOp module);

  int64_t persistentBytes() const { return persistentEnd; }
  /// The storages that are carried through the step of which the function is a run.
  llvm::ArrayRef<Carried> carriedOf(mlir::func::FuncOp function) const;
  /// Where these end in the arena, a multiple of sbp::kAlignmentBytes.
  int64_t carriedBytes(mlir::func::FuncOp function) const;
  /// Bytes of a storage of the module, from `offset` on.
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
