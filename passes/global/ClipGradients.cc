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
#include "passes/global/ScalarVariables.h"
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

void clipByValue(nn::UpdateOp update) {
  OpBuilder b(update);
  const double most = update.getClipValueAttr().getValueAsDouble();
  update.getGradientMutable().assign(b.create<nn::ClampOp>(update.getLoc(), fencedGradient(b, update), -most, most));
  update.removeClipValueAttr();
}

/// Updates of one function that share a norm, in their order.
class SharedNorm {
public:
  SharedNorm(ArrayRef<nn::UpdateOp> updates, SymbolTable &symbols)
      : updates(updates), first(updates.front()), symbols(symbols), b(first) {}

  LogicalResult verify() {
    int64_t elements = 0;
    for (nn::UpdateOp update : updates) {
      if (update.getClipNormAttr() != first.getClipNormAttr() || update.getGradientNorm() != first.getGradientNorm())
        return update.emitOpError() << "of @" << update.getVariable() << " shares a norm with that of @"
                                    << first.getVariable() << ", but they have " << describe(update) << " and "
                                    << describe(first) << "; give both the same, or one of them another clip_set";
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

  LogicalResult write() {
    llvm::MapVector<int64_t, GroupSums> parts; // by their number: an f64 has more
    SmallVector<Value> fenced;
    moveScopesBefore(updates, first);
    b.setInsertionPoint(first);
    for (nn::UpdateOp update : updates) {
      fenced.push_back(fencedGradient(b, update));
      auto squares = b.create<nn::SquarePartsOp>(update.getLoc(), fenced.back());
      parts[squares.numParts()].add(symbols.lookup<sbp::VariableOp>(update.getVariable()), squares);
    }
    const Location loc = first.getLoc();
    std::optional<nn::Expr> square;
    for (const auto &[number, ofSquares] : parts) {
      const nn::Expr total = exprOf(b, loc, b.create<nn::TotalOfPartsOp>(loc, ofSquares.total(b, loc)));
      square = square ? *square + total : total;
    }
    const nn::Expr norm = sqrt(*square);
    if (first.getGradientNorm() && failed(keep(norm)))
      return failure();
    if (first.getClipNormAttr())
      clip(fenced, coefficientOf(norm));
    for (nn::UpdateOp update : updates) {
      update.removeClipNormAttr();
      update.removeClipSetAttr();
      update.removeGradientNormAttr();
    }
    return success();
  }

private:
  static std::string describe(nn::UpdateOp update) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    if (update.getClipNormAttr())
      stream << "clip_norm = " << update.getClipNormAttr().getValueAsDouble();
    if (update.getGradientNorm())
      stream << (text.empty() ? "" : " with ") << "gradient_norm";
    return text;
  }

  /// Assigns the norm to its variable.
  LogicalResult keep(const nn::Expr &norm) {
    auto like = symbols.lookup<sbp::VariableOp>(first.getVariable());
    sbp::VariableOp kept = scalarVariable(symbols, kGradientNormName, b.getF64Type(), 0.0, like);
    if (!kept)
      return first.emitOpError() << "keeps the norm of gradients in @" << kGradientNormName
                                 << ", but that is something else; rename it";
    b.create<sbp::AssignOp>(first.getLoc(), FlatSymbolRefAttr::get(kept.getSymNameAttr()), norm.value());
    return success();
  }

  nn::Expr coefficientOf(const nn::Expr &norm) {
    const double most = first.getClipNormAttr().getValueAsDouble();
    const nn::Expr numerator = exprOf(b, first.getLoc(), nn::splat(b, first.getLoc(), norm.value().getType(), most));
    // The coefficient is exactly 1 where the norm is less than `most`.
    return numerator / (relu(norm + (kBesideNorm - most)) + most);
  }

  void clip(ArrayRef<Value> fenced, const nn::Expr &coefficient) {
    for (auto [update, gradient] : llvm::zip(updates, fenced)) {
      const nn::Expr whole = exprOf(b, nn::UpdateOp(update).getLoc(), gradient);
      nn::UpdateOp(update).getGradientMutable().assign((whole * coefficient.as(whole)).value());
    }
  }

  ArrayRef<nn::UpdateOp> updates;
  nn::UpdateOp first;
  SymbolTable &symbols;
  OpBuilder b;
};

struct ClipGradients : splitcast::impl::ClipGradientsPassBase<ClipGradients> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(clip(function, symbols)))
        return signalPassFailure();
  }

  static LogicalResult clip(func::FuncOp function, SymbolTable &symbols) {
    std::map<int64_t, SmallVector<nn::UpdateOp>> sets;
    for (auto update : llvm::make_early_inc_range(function.getOps<nn::UpdateOp>())) {
      if (update.getClipNormAttr() || update.getGradientNorm())
        sets[update.getClipSetAttr().getInt()].push_back(update);
      else if (update.getClipValueAttr())
        clipByValue(update);
    }
    for (const auto &[number, updates] : sets) {
      SharedNorm norm(updates, symbols);
      if (failed(norm.verify()) || failed(norm.write()))
        return failure();
      for (nn::UpdateOp update : updates)
        if (update.getClipValueAttr())
          clipByValue(update);
    }
    return success();
  }
};

} // namespace
