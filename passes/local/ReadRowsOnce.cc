#include "passes/local/ReadRowsOnce.h"

#include "passes/local/OpLoops.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace splitcast {
namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// What lies in memory: an extension is made where it is used.
Value storedOf(Value value) {
  Operation *made = value.getDefiningOp();
  return made && onlyExtends(made) ? made->getOperand(0) : value;
}

/// The tensor that an op of this kind walks over, as it lies in memory, or null.
Value rowsOf(Operation *op, const DeviceTraits &traits) {
  if (!isFusible(op, traits))
    return {};
  const OpLoops loops(op);
  if (loops.pattern == LoopPattern::Rows)
    for (Value operand : op->getOperands())
      if (sbp::shapeOf(operand.getType()) == loops.shape)
        return storedOf(operand);
  return {};
}

class Mover {
public:
  Mover(Operation *op, Value rows, Operation *earlier) : op(op), rows(rows), earlier(earlier) {}

  bool mayMove() const {
    int64_t bytes = 0;
    for (Value result : op->getResults())
      bytes += storedBytes(result);
    return bytes <= bytesOf(rows) && isLastReader() && llvm::all_of(op->getOperands(), [&](Value operand) {
             return isBefore(operand) || (storedOf(operand) == rows && isBefore(rows));
           });
  }

  void move() const {
    Operation *behind = earlier;
    for (Value operand : op->getOperands())
      if (!isBefore(operand)) {
        operand.getDefiningOp()->moveAfter(behind);
        behind = operand.getDefiningOp();
      }
    op->moveAfter(behind);
    for (Value result : op->getResults())
      for (Operation *user : result.getUsers())
        if (isa<nn::CastOp>(user))
          user->moveAfter(op);
  }

private:
  static int64_t bytesOf(Value value) {
    return typeOf(value).getNumElements() * sbp::elementBytes(typeOf(value).getElementType());
  }

  /// Of what the kernel stores of a result: where only casts take it, what they make of it.
  static int64_t storedBytes(Value result) {
    int64_t bytes = 0;
    for (Operation *user : result.getUsers()) {
      if (!isa<nn::CastOp>(user))
        return bytesOf(result);
      bytes += bytesOf(user->getResult(0));
    }
    return bytes;
  }

  bool isBefore(Value value) const {
    Operation *made = value.getDefiningOp();
    return !made || made->isBeforeInBlock(earlier);
  }

  bool isLastReader() const {
    return llvm::all_of(rows.getUsers(), [&](Operation *user) {
      return onlyExtends(user) ? llvm::all_of(user->getUsers(), [&](Operation *other) { return isOver(other); })
                               : isOver(user);
    });
  }
  bool isOver(Operation *user) const { return user == op || user->isBeforeInBlock(op); }

  Operation *const op;
  const Value rows;
  Operation *const earlier;
};

} // namespace

void readRowsOnce(Block &block, const DeviceTraits &traits) {
  DenseMap<Value, Operation *> readers; // the last so far
  for (Operation &op : llvm::make_early_inc_range(block)) {
    Value rows = rowsOf(&op, traits);
    if (!rows)
      continue;
    Operation *&earlier = readers[rows];
    if (earlier)
      if (const Mover mover(&op, rows, earlier); mover.mayMove())
        mover.move();
    earlier = &op;
  }
}

} // namespace splitcast
