//===- LiveTensors.h - The bytes that are live beside each op, before there is a plan ------===//
//
// What a rank's program keeps at once, counted as the plan will have it (BufferAssignment.h) but for details: views are
// part of what they look at, what is packed or gathered is made in its place, what is stored takes none of these bytes,
// and sums stay in their buckets as they would in the order that is there (SumsInPlace.h). An estimate, on which no
// value depends.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_LOCAL_LIVETENSORS_H
#define SPLITCAST_PASSES_LOCAL_LIVETENSORS_H

#include "passes/local/DeviceTraits.h"
#include "passes/local/SumsInPlace.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace splitcast {

/// The tensors that take bytes, each with a number, and the ops that touch them: a tensor is live from the first of
/// these to the last.
class LiveTensors {
public:
  using Numbers = llvm::SmallVector<int64_t>;

  /// Of a function's only block.
  LiveTensors(mlir::Block &block, const DeviceTraits &traits);

  /// Whether its result is made in a storage, or in a block of one.
  bool makesStored(mlir::Operation *op) const;
  /// Tensors that it touches.
  llvm::ArrayRef<int64_t> of(mlir::Operation *op) const { return touchedBy.find(op)->second; }
  /// Tensors that are there before the first op: those of the arguments.
  llvm::ArrayRef<int64_t> ofArguments() const { return arguments; }
  int64_t bytesOf(int64_t tensor) const { return bytes[tensor]; }
  /// Bytes that it needs while it runs.
  int64_t workspaceOf(mlir::Operation *op) const { return workspaces.lookup(op); }
  /// By tensor, how many ops touch it; to be an argument counts as one.
  const std::vector<int64_t> &allTouches() const { return touches; }

private:
  int64_t add(int64_t tensorBytes);
  int64_t numberOf(mlir::Value value);
  mlir::Value firstName(mlir::Value value) const;
  mlir::Value rootOf(mlir::Value value) const;
  bool isMovedOut(mlir::Operation *wait) const;
  bool isUsedBehind(mlir::Value first, mlir::Operation *op) const;
  void join(mlir::Operation *op);
  void makeIn(mlir::Value part, mlir::Value whole);
  Numbers touched(mlir::Operation *op);

  const SumsInPlace sumsInPlace;
  llvm::DenseMap<mlir::Value, mlir::Value> wholes;         ///< of what is made in another's bytes
  llvm::DenseMap<mlir::Value, mlir::Operation *> lastUses; ///< by any name
  llvm::DenseSet<mlir::Value> stored;
  llvm::DenseMap<mlir::Value, int64_t> numbers;        ///< of roots
  llvm::DenseMap<mlir::Operation *, int64_t> stagings; ///< numbers, too
  llvm::DenseMap<mlir::Operation *, int64_t> workspaces;
  std::vector<int64_t> bytes, touches;
  Numbers arguments;
  llvm::DenseMap<mlir::Operation *, Numbers> touchedBy;
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_LOCAL_LIVETENSORS_H
