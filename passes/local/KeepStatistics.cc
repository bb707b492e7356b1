// Keeps the statistics of attention's rows, which backward would compute again.
//
//   before   %y = nn.attention %q, %k, %v       ..   nn.attention_grad %g, %q, %k, %v
//   after    %y, %s = nn.attention %q, %k, %v   ..   nn.attention_grad %g, %q, %k, %v, %y, %s
//
// A gradient takes the results of the last attention before it that has its
// operands: if forward is recomputed, that is the one in backward, and nothing is
// kept from forward. Operands are equal if the same ops make them of the same
// values, behind fences: of an attention that is not recomputed, an operand may
// be. Whether rows are computed again decides how they are rounded, and must not
// depend on what is recomputed. A gradient that is alone recomputes its rows.
#include "passes/local/Aliases.h"
#include "passes/local/DeviceTraits.h"
#include "passes/local/Passes.h"

#include <map>

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_KEEPSTATISTICSPASS
#include "passes/local/Passes.h.inc"
} // namespace splitcast

namespace {

/// Numbers values: two have the same number if ops without effects, with the
/// same attributes, make them of operands with the same numbers.
class ValueNumbers {
public:
  const void *of(Value value) {
    value = behindFences(value);
    auto known = numbers.find(value);
    if (known != numbers.end())
      return known->second;
    const void *number = value.getAsOpaquePointer();
    Operation *op = value.getDefiningOp();
    if (op && isMemoryEffectFree(op) && op->getNumRegions() == 0) {
      std::vector<const void *> key = {op->getName().getAsOpaquePointer(), op->getAttrDictionary().getAsOpaquePointer(),
                                       value.getType().getAsOpaquePointer()};
      for (Value operand : op->getOperands())
        key.push_back(of(operand));
      key.push_back(reinterpret_cast<const void *>(uintptr_t{cast<OpResult>(value).getResultNumber()}));
      number = made.try_emplace(std::move(key), number).first->second;
    }
    return numbers[value] = number;
  }

  /// Gives a value the number of the one whose place it takes, which is erased.
  void replace(Value old, Value value) {
    numbers[value] = of(old);
    numbers.erase(old);
  }

private:
  DenseMap<Value, const void *> numbers;
  std::map<std::vector<const void *>, const void *> made; ///< the number by what makes it
};

/// Returns what the scores of an attention, or of a gradient, depend on, and the
/// value.
template <typename OpT> SmallVector<const void *> keyOf(OpT op, ValueNumbers &numbers) {
  SmallVector<const void *> key = {op.getScaleAttr().getAsOpaquePointer(), op.getCausalAttr().getAsOpaquePointer()};
  for (Value operand : {Value(op.getQuery()), Value(op.getKey()), Value(op.getValue()), Value(op.getMask())})
    key.push_back(operand ? numbers.of(operand) : nullptr);
  return key;
}

struct KeepStatistics : splitcast::impl::KeepStatisticsPassBase<KeepStatistics> {
  void runOnOperation() override {
    const DeviceTraits traits = deviceTraitsOf(getOperation()->getParentOfType<ModuleOp>());
    if (!traits.takesStatistics)
      return;
    for (Block &block : getOperation().getBody())
      keepIn(block, traits);
  }

private:
  static void keepIn(Block &block, const DeviceTraits &traits) {
    ValueNumbers numbers;
    std::map<SmallVector<const void *>, nn::AttentionOp> made;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto attention = dyn_cast<nn::AttentionOp>(op))
        made[keyOf(attention, numbers)] = attention;
      auto gradient = dyn_cast<nn::AttentionGradOp>(op);
      auto found = gradient ? made.find(keyOf(gradient, numbers)) : made.end();
      if (found == made.end() || gradient.getStatistics() || !usesStatistics(gradient, traits))
        continue;
      nn::AttentionOp &attention = found->second;
      if (!attention.getStatistics())
        attention = withStatistics(attention, numbers);
      gradient.getKeptMutable().append({attention.getResult(), attention.getStatistics()});
    }
  }

  /// Whether the gradient becomes a library call that is faster with
  /// statistics.
  static bool usesStatistics(nn::AttentionGradOp gradient, const DeviceTraits &traits) {
    const std::optional<nn::LibraryCall> call = traits.libraryCallOf(gradient);
    auto attention = call ? dyn_cast<exec::AttentionAttr>(call->call) : exec::AttentionAttr();
    return attention && traits.takesStatistics(attention.getExtents());
  }

  /// Replaces the op by one that has the statistics, too.
  static nn::AttentionOp withStatistics(nn::AttentionOp op, ValueNumbers &numbers) {
    OpBuilder builder(op);
    auto kept = builder.create<nn::AttentionOp>(
        op.getLoc(), op.getResult().getType(), nn::AttentionOp::statisticsTypeOf(op.getQuery().getType()),
        op.getQuery(), op.getKey(), op.getValue(), op.getMask(), op.getScaleAttr(), op.getCausalAttr());
    kept->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    numbers.replace(op.getResult(), kept.getResult());
    op.getResult().replaceAllUsesWith(kept.getResult());
    op.erase();
    return kept;
  }
};

} // namespace
