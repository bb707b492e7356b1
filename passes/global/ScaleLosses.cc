// Gradients of a loss that was multiplied are divided where updates get them, and the updates of a step in which one of
// them is not finite are left out. What is counted lies as the gradients do, and nothing of them is moved for it.
//
//   before   nn.update @w, %g scaled by %scale in %s {loss_scale = ...} ...    nn.update @v, %h scaled by %scale in %t
//   ... after    %f = sbp.fence %g in %s      %i = nn.nonfinite (%f * (1 / %scale))
//            %k = sbp.fence %h in %t      %j = nn.nonfinite (%k * (1 / %scale))
//            %n = nn.sum_parts %i, %j
//            sbp.assign @optimizer.loss_scale, (backed off if %n is not 0, grown after enough steps, or as it was)
//            nn.update @w, %f * (1 / %scale) unless %n in %s ...               nn.update @v, ... unless %n in %t ...
#include "passes/global/GroupSums.h"
#include "passes/global/Passes.h"
#include "passes/global/ScalarVariables.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_SCALELOSSESPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

constexpr double kLeastScale = 0x1p-126, kMostScale = 0x1p126; ///< whose inverses f32 holds

/// Updates of one function whose gradients are of one scaled loss, in their order.
class ScaledUpdates {
public:
  ScaledUpdates(ArrayRef<nn::UpdateOp> updates, SymbolTable &symbols)
      : updates(updates), first(updates.front()), symbols(symbols), b(first) {}

  LogicalResult verify() {
    for (nn::UpdateOp update : updates) {
      if (update.getLossScaleAttr() != first.getLossScaleAttr())
        return update.emitOpError() << "of @" << update.getVariable() << " is scaled as that of @"
                                    << first.getVariable()
                                    << ", but they have loss_scale = " << update.getLossScaleAttr() << " and "
                                    << first.getLossScaleAttr() << "; say the same";
      if (update.getUnless())
        return update.emitOpError() << "of @" << update.getVariable()
                                    << " is scaled, and left out by a number; steps are left out by their gradients";
      Operation *maker = update.getGradient().getDefiningOp();
      if (maker && !maker->isBeforeInBlock(first))
        return update.emitOpError() << "of @" << update.getVariable() << " is scaled as that of @"
                                    << first.getVariable()
                                    << ", which comes before its gradient; make all gradients before the first update";
    }
    return success();
  }

  LogicalResult write() {
    const nn::Expr scale = expr(first, first.getScale());
    const nn::Expr inverse = expr(first, nn::splat(b, first.getLoc(), scale.value().getType(), 1.0)) / scale;
    GroupSums counts;
    SmallVector<Value> gradients;
    for (nn::UpdateOp update : updates) {
      if (Operation *scope = update.getScope().getDefiningOp(); !scope->isBeforeInBlock(first))
        scope->moveBefore(first);
      b.setInsertionPoint(first);
      Value fenced = b.create<sbp::FenceOp>(update.getLoc(), update.getGradient(), update.getScope());
      const nn::Expr gradient = expr(update, fenced);
      const bool isSmall = getElementTypeOrSelf(fenced.getType()).getIntOrFloatBitWidth() < 32;
      const nn::Expr wide = isSmall ? gradient.as(scale) : gradient; // f16 does not hold all inverses
      gradients.push_back((wide * inverse.as(wide)).as(gradient).value());
      counts.add(symbols.lookup<sbp::VariableOp>(update.getVariable()),
                 b.create<nn::NonfiniteOp>(update.getLoc(), gradients.back()));
    }
    Value nonfinite = counts.total(b, first.getLoc());
    if (failed(changeScale(expr(first, nonfinite))))
      return failure();
    for (size_t i = 0; i < updates.size(); ++i) {
      nn::UpdateOp update = updates[i];
      update.getGradientMutable().assign(gradients[i]);
      update.getScaleMutable().clear();
      update.getUnlessMutable().assign(nonfinite);
      update.removeLossScaleAttr();
    }
    return success();
  }

private:
  /// The scale of the next step, and for how many steps it has been this.
  LogicalResult changeScale(const nn::Expr &nonfinite) {
    const LossScale rule = first.getLossScaleAttr().model()->scale();
    if (rule.interval == 0)
      return success();
    auto variable = symbols.lookup<sbp::VariableOp>(kLossScaleName);
    auto steps = variable ? scalarVariable(symbols, kFiniteStepsName, b.getF64Type(), 0.0, variable) : variable;
    if (!steps)
      return first.emitOpError() << "changes its loss_scale in @" << kLossScaleName << " by the steps in @"
                                 << kFiniteStepsName
                                 << ", but they are no scalars of f32 and f64; rename them, or run 'nn-differentiate'";
    const nn::Expr scale = expr(first, readUndecided(b, first.getLoc(), variable));
    const nn::Expr now = expr(first, readUndecided(b, first.getLoc(), steps)) + 1.0;
    const nn::Expr isShort = now - rule.interval; // not 0 but after the last step of an interval
    const nn::Expr grown = clamp(scale * rule.growth, kLeastScale, kMostScale),
                   less = clamp(scale * rule.backoff, kLeastScale, kMostScale);
    assign(variable, select(nonfinite, less, select(isShort, scale, grown)));
    const nn::Expr none = now * 0.0;
    assign(steps, select(nonfinite, none, select(isShort, now, none)));
    return success();
  }

  nn::Expr expr(nn::UpdateOp update, Value value) { return {b, update.getLoc(), value}; }
  void assign(sbp::VariableOp variable, const nn::Expr &value) {
    b.create<sbp::AssignOp>(first.getLoc(), FlatSymbolRefAttr::get(variable.getSymNameAttr()), value.value());
  }

  ArrayRef<nn::UpdateOp> updates;
  nn::UpdateOp first;
  SymbolTable &symbols;
  OpBuilder b;
};

struct ScaleLosses : splitcast::impl::ScaleLossesPassBase<ScaleLosses> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(divide(function, symbols)))
        return signalPassFailure();
  }

  static LogicalResult divide(func::FuncOp function, SymbolTable &symbols) {
    llvm::MapVector<Value, SmallVector<nn::UpdateOp>> scaled; // by what
    for (auto update : function.getOps<nn::UpdateOp>())
      if (update.getScale())
        scaled[update.getScale()].push_back(update);
    for (const auto &[scale, updates] : scaled) {
      ScaledUpdates together(updates, symbols);
      if (failed(together.verify()) || failed(together.write()))
        return failure();
    }
    return success();
  }
};

} // namespace
