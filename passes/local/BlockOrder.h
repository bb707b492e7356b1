//===- BlockOrder.h - The order of a block whose ops move ------------------------------------------------===//
#ifndef SPLITCAST_PASSES_LOCAL_BLOCKORDER_H
#define SPLITCAST_PASSES_LOCAL_BLOCKORDER_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

#include <cstdint>

namespace splitcast {

/// Answers what Operation::isBeforeInBlock answers, for a block whose ops move meanwhile. After a move MLIR numbers all
/// ops of the block anew, so that moves and questions in turn take time that is quadratic in the ops. Here there is
/// room for about 32 moves to one place before that.
class BlockOrder {
public:
  explicit BlockOrder(mlir::Block &block) : block(block) { number(); }

  bool isBefore(mlir::Operation *a, mlir::Operation *b) const { return numbers.lookup(a) < numbers.lookup(b); }

  /// Moves an op of the block behind another one.
  void placeBehind(mlir::Operation *op, mlir::Operation *other) {
    op->moveAfter(other);
    const uint64_t before = numbers.lookup(other);
    mlir::Operation *next = op->getNextNode();
    const uint64_t behind = next ? numbers.lookup(next) : before + 2 * kStride;
    if (behind - before < 2)
      return number();
    numbers[op] = before + (behind - before) / 2;
  }

private:
  static constexpr uint64_t kStride = uint64_t{1} << 32;

  void number() {
    uint64_t last = 0;
    for (mlir::Operation &op : block)
      numbers[&op] = last += kStride;
  }

  mlir::Block &block;
  llvm::DenseMap<mlir::Operation *, uint64_t> numbers;
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_LOCAL_BLOCKORDER_H
