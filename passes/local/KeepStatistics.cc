// Keeps the statistics of attention's rows, which backward would compute again.
//
//   before   %y = nn.attention %q, %k, %v       ..   nn.attention_grad %g, %q, %k, %v
//   after    %y, %s = nn.attention %q, %k, %v   ..   nn.attention_grad %g, %q, %k, %v, %y, %s
//
// A gradient takes the results of the last attention before it that has its
// operands: if forward is recomputed, that is the one in backward, and nothing is
// kept from forward. (Operands are compared behind fences, since those of
// recomputed ops are fenced.) So a gradient that is alone recomputes its rows.
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

/// Returns what the scores of an attention, or of a gradient, depend on, and the
/// value.
template <typename OpT> SmallVector<const void *> keyOf(OpT op) {
  SmallVector<const void *> key = {op.getScaleAttr().getAsOpaquePointer(), op.getCausalAttr().getAsOpaquePointer()};
  for (Value operand : {Value(op.getQuery()), Value(op.getKey()), Value(op.getValue()), Value(op.getMask())})
    key.push_back(operand ? behindFences(operand).getAsOpaquePointer() : nullptr);
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
    std::map<SmallVector<const void *>, nn::AttentionOp> made;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto attention = dyn_cast<nn::AttentionOp>(op))
        made[keyOf(attention)] = attention;
      auto gradient = dyn_cast<nn::AttentionGradOp>(op);
      auto found = gradient ? made.find(keyOf(gradient)) : made.end();
      if (found == made.end() || gradient.getStatistics() || !usesStatistics(gradient, traits))
        continue;
      nn::AttentionOp &attention = found->second;
      if (!attention.getStatistics())
        attention = withStatistics(attention);
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
  static nn::AttentionOp withStatistics(nn::AttentionOp op) {
    OpBuilder builder(op);
    auto kept = builder.create<nn::AttentionOp>(
        op.getLoc(), op.getResult().getType(), nn::AttentionOp::statisticsTypeOf(op.getQuery().getType()),
        op.getQuery(), op.getKey(), op.getValue(), op.getMask(), op.getScaleAttr(), op.getCausalAttr());
    kept->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    op.getResult().replaceAllUsesWith(kept.getResult());
    op.erase();
    return kept;
  }
};

} // namespace
