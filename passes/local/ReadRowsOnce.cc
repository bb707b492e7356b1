#include "passes/local/ReadRowsOnce.h"

#include "passes/local/Aliases.h"
#include "passes/local/BlockOrder.h"
#include "passes/local/OpLoops.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace splitcast {
namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Returns the tensor that lies in memory: an extension is computed where it is
/// used.
Value storedOf(Value value) {
  Operation *made = value.getDefiningOp();
  return made && onlyExtends(made) ? made->getOperand(0) : value;
}

/// Returns the tensor, as it lies in memory, along whose rows an op walks; null
/// for other ops.
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

/// Moves an op up behind the earlier op that reads the same rows.
class Mover {
public:
  Mover(Operation *op, Value rows, Operation *earlier, BlockOrder &order, const DeviceTraits &traits)
      : op(op), rows(rows), earlier(earlier), order(order), traits(traits) {}

  /// Finds the ops that have to move, too, and returns whether all of them may.
  bool mayMove() {
    int64_t bytes = 0;
    for (Value result : op->getResults())
      bytes += storedBytes(result);
    return bytes <= bytesOf(rows) && isLastReader() && mayMoveOperandsOf(op);
  }

  void move() {
    llvm::sort(moved, [&](Operation *a, Operation *b) { return order.isBefore(a, b); });
    moved.push_back(op);
    for (Value result : op->getResults())
      for (Operation *user : result.getUsers())
        if (isa<nn::CastOp>(user))
          moved.push_back(user);
    Operation *behind = earlier;
    for (Operation *next : moved) {
      order.placeBehind(next, behind);
      behind = next;
    }
  }

private:
  static int64_t bytesOf(Value value) {
    return typeOf(value).getNumElements() * sbp::elementBytes(typeOf(value).getElementType());
  }

  /// Returns the bytes that the kernel stores of a result: if only casts use
  /// it, those of the results of the casts.
  static int64_t storedBytes(Value result) {
    int64_t bytes = 0;
    for (Operation *user : result.getUsers()) {
      if (!isa<nn::CastOp>(user))
        return bytesOf(result);
      bytes += bytesOf(user->getResult(0));
    }
    return bytes;
  }

  /// Whether only the op reads the rows, by any name, after the earlier op; and
  /// whether they are no argument and no storage, whose place nothing may take.
  bool isLastReader() const {
    Operation *made = rows.getDefiningOp();
    return made && isa<nn::ComputeOpInterface>(made) && !aliasedBy(made) && areReadBefore(rows);
  }
  bool areReadBefore(Value value) const {
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      if (aliasedBy(user) || onlyExtends(user))
        return areReadBefore(user->getResult(0));
      return user == op || user == earlier || order.isBefore(user, earlier);
    });
  }

  /// Whether the operands exist before the earlier op, or may be moved there
  /// because they have at most one element per row, such as the slope of a
  /// loss.
  bool mayMoveOperandsOf(Operation *user) {
    return llvm::all_of(user->getOperands(), [&](Value operand) {
      Operation *made = operand.getDefiningOp();
      if (!made || order.isBefore(made, earlier) || llvm::is_contained(moved, made))
        return true;
      const bool isOfRows = storedOf(operand) == rows;
      if (moved.size() >= kMostMoved || !(isOfRows || isLittle(made)))
        return false;
      moved.push_back(made);
      return mayMoveOperandsOf(made);
    });
  }

  bool isLittle(Operation *made) const {
    if (isa<sbp::ScopeOp>(made))
      return true;
    if (!isa<sbp::FenceOp, nn::ReshapeOp>(made) && !isFusible(made, traits))
      return false;
    const int64_t rowCount = typeOf(rows).getNumElements() / std::max<int64_t>(1, typeOf(rows).getShape().back());
    return llvm::all_of(made->getResults(), [&](Value result) {
      return typeOf(result).getNumElements() <= std::max<int64_t>(1, rowCount);
    });
  }

  static constexpr size_t kMostMoved = 16;

  Operation *const op;
  const Value rows;
  Operation *const earlier;
  BlockOrder &order;
  const DeviceTraits &traits;
  SmallVector<Operation *> moved; ///< besides the op
};

} // namespace

void readRowsOnce(Block &block, const DeviceTraits &traits) {
  DenseMap<Value, Operation *> readers; // by rows: the last op so far that reads them
  BlockOrder order(block);
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  for (Operation *op : ops) {
    Value rows = rowsOf(op, traits);
    if (!rows)
      continue;
    Operation *&earlier = readers[rows];
    if (earlier)
      if (Mover mover(op, rows, earlier, order, traits); mover.mayMove())
        mover.move();
    earlier = op;
  }
}

} // namespace splitcast
