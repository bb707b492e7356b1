// Clips gradients where updates take them. Norms are computed from parts whose
// sums are exact.
//
//   before   nn.update @w, %g in %s {clip_norm = 1.0, clip_set = 0} ...    nn.update @v, %h in %t {...} ...
//   after    %f = sbp.fence %g in %s             %k = sbp.fence %h in %t
//            %p = nn.square_parts %f             %q = nn.square_parts %k
//            %all = nn.sum_parts %p, %q          %square = nn.total_of_parts %all
//            %c = 1.0 / (1.0 + relu(sqrt(%square) + 1e-6 - 1.0))
//            nn.update @w, %f * %c in %s         nn.update @v, %k * %c in %t
#include "passes/global/GroupSums.h"
#include "passes/global/Passes.h"
#include "passes/global/UpdateScopes.h"

#include "dialects/sbp/algebra/Sizes.h"

#include <map>

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_CLIPGRADIENTSPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

constexpr double kBesideNorm = 1e-6; ///< as PyTorch adds to a norm before it divides by it

nn::Expr exprOf(OpBuilder &b, Location loc, Value value) { return {b, loc, value}; }

Value fencedGradient(OpBuilder &b, nn::UpdateOp update) {
  return b.create<sbp::FenceOp>(update.getLoc(), update.getGradient(), update.getScope());
}

void setClipped(nn::UpdateOp update, Value gradient) {
  update.getGradientMutable().assign(gradient);
  update.removeClipNormAttr();
  update.removeClipValueAttr();
  update.removeClipSetAttr();
}

void clipByValue(nn::UpdateOp update) {
  OpBuilder b(update);
  const double most = update.getClipValueAttr().getValueAsDouble();
  setClipped(update, b.create<nn::ClampOp>(update.getLoc(), fencedGradient(b, update), -most, most));
}

/// Updates of one function that share a norm, in their order.
class SharedNorm {
public:
  SharedNorm(ArrayRef<nn::UpdateOp> updates, const SymbolTable &symbols)
      : updates(updates), first(updates.front()), symbols(symbols), b(first) {}

  LogicalResult verify() {
    int64_t elements = 0;
    for (nn::UpdateOp update : updates) {
      if (update.getClipNormAttr() != first.getClipNormAttr())
        return update.emitOpError() << "of @" << update.getVariable() << " shares a norm with that of @"
                                    << first.getVariable()
                                    << ", but they have clip_norm = " << update.getClipNormAttr().getValueAsDouble()
                                    << " and " << first.getClipNormAttr().getValueAsDouble()
                                    << "; give both the same, or one of them another clip_set";
      Operation *maker = update.getGradient().getDefiningOp();
      if (maker && !maker->isBeforeInBlock(first))
        return update.emitOpError() << "of @" << update.getVariable() << " shares a norm with that of @"
                                    << first.getVariable() << ", which comes before its gradient; make all gradients "
                                    << "before the first update, or give it another clip_set";
      elements = sbp::cappedSum(elements, sbp::numElements(sbp::shapeOf(update.getGradient().getType())));
    }
    if (elements > nn::SquarePartsOp::kMostElements)
      return first.emitOpError() << "of @" << first.getVariable() << " shares a norm of " << elements
                                 << " elements; squares are added up without rounding up to "
                                 << static_cast<int64_t>(nn::SquarePartsOp::kMostElements)
                                 << ", so clip by value, or with several clip_sets";
    return success();
  }

  void write() {
    GroupSums parts;
    SmallVector<Value> fenced;
    moveScopesBefore(updates, first);
    b.setInsertionPoint(first);
    for (nn::UpdateOp update : updates) {
      fenced.push_back(fencedGradient(b, update));
      parts.add(symbols.lookup<sbp::VariableOp>(update.getVariable()),
                b.create<nn::SquarePartsOp>(update.getLoc(), fenced.back()));
    }
    const nn::Expr coefficient = coefficientOf(parts);
    for (size_t i = 0; i < updates.size(); ++i) {
      nn::UpdateOp update = updates[i];
      const nn::Expr whole = exprOf(b, update.getLoc(), fenced[i]);
      setClipped(update, (whole * coefficient.as(whole)).value());
    }
  }

private:
  nn::Expr coefficientOf(const GroupSums &parts) {
    const Location loc = first.getLoc();
    const nn::Expr square = exprOf(b, loc, b.create<nn::TotalOfPartsOp>(loc, parts.total(b, loc)));
    const double most = first.getClipNormAttr().getValueAsDouble();
    const nn::Expr numerator = exprOf(b, loc, nn::splat(b, loc, square.value().getType(), most));
    // The coefficient is exactly 1 where the norm is less than `most`.
    return numerator / (relu(sqrt(square) + (kBesideNorm - most)) + most);
  }

  ArrayRef<nn::UpdateOp> updates;
  nn::UpdateOp first;
  const SymbolTable &symbols;
  OpBuilder b;
};

struct ClipGradients : splitcast::impl::ClipGradientsPassBase<ClipGradients> {
  void runOnOperation() override {
    const SymbolTable symbols(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(clip(function, symbols)))
        return signalPassFailure();
  }

  static LogicalResult clip(func::FuncOp function, const SymbolTable &symbols) {
    std::map<int64_t, SmallVector<nn::UpdateOp>> sets;
    for (auto update : llvm::make_early_inc_range(function.getOps<nn::UpdateOp>())) {
      if (update.getClipNormAttr())
        sets[update.getClipSetAttr().getInt()].push_back(update);
      else if (update.getClipValueAttr())
        clipByValue(update);
    }
    for (const auto &[number, updates] : sets) {
      SharedNorm norm(updates, symbols);
      if (failed(norm.verify()))
        return failure();
      norm.write();
    }
    return success();
  }
};

} // namespace
