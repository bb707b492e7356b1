// Divides the gradients of a scaled loss where updates take them, and skips the
// updates of a step in which a gradient is not finite. The elements that are
// not finite are counted where the gradients lie, so that no gradient is moved
// for it.
//
//   before   nn.update @w, %g scaled by %scale in %s {loss_scale = ...} ...
//            nn.update @v, %h scaled by %scale in %t {loss_scale = ...} ...
//   after    %f = sbp.fence %g in %s      %i = nn.nonfinite (%f * (1 / %scale))
//            %k = sbp.fence %h in %t      %j = nn.nonfinite (%k * (1 / %scale))
//            %n = nn.sum_parts %i, %j
//            sbp.assign @optimizer.loss_scale, (backed off if %n is not 0, grown after enough steps, or as it was)
//            nn.update @w, %f * (1 / %scale) unless %n in %s ...
//            nn.update @v, %k * (1 / %scale) unless %n in %t ...
#include "passes/global/GroupSums.h"
#include "passes/global/Passes.h"
#include "passes/global/ScalarVariables.h"
#include "passes/global/UpdateScopes.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_SCALELOSSESPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

constexpr double kLeastScale = 0x1p-126, kMostScale = 0x1p126; ///< the inverses of both are f32 numbers

nn::Expr exprOf(OpBuilder &b, Location loc, Value value) { return {b, loc, value}; }

/// The updates of one function that are scaled by one value, in order. They may
/// belong to several losses.
class ScaledUpdates {
public:
  ScaledUpdates(ArrayRef<nn::UpdateOp> updates, SymbolTable &symbols) : updates(updates), symbols(symbols) {}

  LogicalResult verify() {
    nn::UpdateOp first = updates.front();
    for (nn::UpdateOp update : updates) {
      if (update.getLossScaleAttr() != first.getLossScaleAttr())
        return update.emitOpError() << "of @" << update.getVariable() << " has the same scale as that of @"
                                    << first.getVariable()
                                    << ", but they have loss_scale = " << update.getLossScaleAttr() << " and "
                                    << first.getLossScaleAttr() << "; give both the same";
      if (update.getUnless())
        return update.emitOpError() << "of @" << update.getVariable()
                                    << " is scaled and has an 'unless'; leave out the 'unless', which this pass adds";
    }
    return success();
  }

  LogicalResult write() {
    const LossScale rule = nn::UpdateOp(updates.front()).getLossScaleAttr().model()->scale();
    OpBuilder b(nn::UpdateOp(updates.front()));
    SmallVector<Value> counts; // by loss: the number of elements that are not finite
    for (ArrayRef<nn::UpdateOp> left = updates; !left.empty();) {
      const ArrayRef<nn::UpdateOp> together = left.take_front(numTogether(left));
      left = left.drop_front(together.size());
      b.setInsertionPoint(nn::UpdateOp(together.front()));
      counts.push_back(divide(together, b));
    }
    if (rule.interval == 0)
      return success();
    const Location loc = nn::UpdateOp(updates.back()).getLoc();
    Value all = counts.size() == 1 ? counts.front() : b.create<nn::SumPartsOp>(loc, counts).getResult();
    return changeScale(rule, exprOf(b, loc, all), b);
  }

private:
  /// Returns how many of the updates have gradients that are made before the
  /// first of them. These are at least those of one loss.
  static size_t numTogether(ArrayRef<nn::UpdateOp> left) {
    nn::UpdateOp first = left.front();
    const auto isBehind = [&](nn::UpdateOp update) {
      Operation *maker = update.getGradient().getDefiningOp();
      return maker && !maker->isBeforeInBlock(first);
    };
    return llvm::find_if(left, isBehind) - left.begin();
  }

  /// Divides the gradients, before the first update. Returns the number of
  /// elements that are not finite.
  Value divide(ArrayRef<nn::UpdateOp> together, OpBuilder &b) {
    nn::UpdateOp first = together.front();
    const nn::Expr scale = exprOf(b, first.getLoc(), first.getScale());
    const nn::Expr inverse =
        exprOf(b, first.getLoc(), nn::splat(b, first.getLoc(), scale.value().getType(), 1.0)) / scale;
    GroupSums counts;
    SmallVector<Value> gradients;
    moveScopesBefore(together, first);
    b.setInsertionPoint(first);
    for (nn::UpdateOp update : together) {
      Value fenced = b.create<sbp::FenceOp>(update.getLoc(), update.getGradient(), update.getScope());
      const nn::Expr gradient = exprOf(b, update.getLoc(), fenced);
      const bool isSmall = getElementTypeOrSelf(fenced.getType()).getIntOrFloatBitWidth() < 32;
      const nn::Expr wide = isSmall ? gradient.as(scale) : gradient; // f16 does not hold all inverses
      gradients.push_back((wide * inverse.as(wide)).as(gradient).value());
      counts.add(symbols.lookup<sbp::VariableOp>(update.getVariable()),
                 b.create<nn::NonfiniteOp>(update.getLoc(), gradients.back()));
    }
    Value nonfinite = counts.total(b, first.getLoc());
    for (size_t i = 0; i < together.size(); ++i) {
      nn::UpdateOp update = together[i];
      update.getGradientMutable().assign(gradients[i]);
      update.getScaleMutable().clear();
      update.getUnlessMutable().assign(nonfinite);
      update.removeLossScaleAttr();
    }
    return nonfinite;
  }

  /// Assigns the scale of the next step, and the number of finite steps for
  /// which the scale has not changed.
  LogicalResult changeScale(const LossScale &rule, const nn::Expr &nonfinite, OpBuilder &b) {
    nn::UpdateOp last = updates.back();
    auto variable = symbols.lookup<sbp::VariableOp>(kLossScaleName);
    const bool isScalar = variable && nn::undecided(variable.getType()) == RankedTensorType::get({}, b.getF32Type());
    auto steps = isScalar ? scalarVariable(symbols, kFiniteStepsName, b.getF64Type(), 0.0, variable) : variable;
    if (!isScalar || !steps)
      return last.emitOpError() << "changes its loss_scale in @" << kLossScaleName << " by the steps in @"
                                << kFiniteStepsName
                                << ", but these are not scalars of f32 and f64; rename them, or run 'nn-differentiate'";
    const Location loc = last.getLoc();
    const nn::Expr scale = exprOf(b, loc, readUndecided(b, loc, variable));
    const nn::Expr now = exprOf(b, loc, readUndecided(b, loc, steps)) + 1.0;
    const nn::Expr isShort = relu(rule.interval - now); // 0 from the last step of an interval on
    const nn::Expr grown = clamp(scale * rule.growth, kLeastScale, kMostScale),
                   less = clamp(scale * rule.backoff, kLeastScale, kMostScale);
    assign(variable, select(nonfinite, less, select(isShort, scale, grown)), b);
    const nn::Expr none = now * 0.0;
    assign(steps, select(nonfinite, none, select(isShort, now, none)), b);
    return success();
  }

  static void assign(sbp::VariableOp variable, const nn::Expr &value, OpBuilder &b) {
    b.create<sbp::AssignOp>(variable.getLoc(), FlatSymbolRefAttr::get(variable.getSymNameAttr()), value.value());
  }

  ArrayRef<nn::UpdateOp> updates;
  SymbolTable &symbols;
};

struct ScaleLosses : splitcast::impl::ScaleLossesPassBase<ScaleLosses> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(divide(function, symbols)))
        return signalPassFailure();
  }

  static LogicalResult divide(func::FuncOp function, SymbolTable &symbols) {
    llvm::MapVector<Value, SmallVector<nn::UpdateOp>> scaled; // by the scale
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
