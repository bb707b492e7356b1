//===- LiveTensors.h - The bytes that are live beside each op, before there is a plan ------===//
//
// The bytes of a rank's program that are live at once, counted as in the plan (BufferAssignment.h) except for details:
// views are parts of their operands, operands of packs and gathers are made in their places, stored tensors take none
// of these bytes, and sums stay in their buckets as they would in the present order (SumsInPlace.h). This is an
// estimate, on which no value depends.
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

/// The tensors that take bytes, each with a number, and the ops that use them: a tensor is live from the first of these
/// ops to the last.
class LiveTensors {
public:
  using Numbers = llvm::SmallVector<int64_t>;

  /// Counts the tensors of a function's only block.
  LiveTensors(mlir::Block &block, const DeviceTraits &traits);

  /// Whether the op's result is made in a storage, or in a block of one.
  bool makesStored(mlir::Operation *op) const;
  /// Returns the tensors that the op uses.
  llvm::ArrayRef<int64_t> of(mlir::Operation *op) const { return touchedBy.find(op)->second; }
  /// Returns the tensors that exist before the first op: those of the arguments.
  llvm::ArrayRef<int64_t> ofArguments() const { return arguments; }
  int64_t bytesOf(int64_t tensor) const { return bytes[tensor]; }
  /// Returns the bytes of the op's workspace.
  int64_t workspaceOf(mlir::Operation *op) const { return workspaces.lookup(op); }
  /// Returns, per tensor, the number of ops that use it; being an argument counts as one.
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

  const DeviceTraits traits;
  const SumsInPlace sumsInPlace;
  llvm::DenseMap<mlir::Value, mlir::Value> wholes;         ///< of tensors that are made in the bytes of another
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
