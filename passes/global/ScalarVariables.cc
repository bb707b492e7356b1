#include "passes/global/ScalarVariables.h"

using namespace mlir;

namespace splitcast {

sbp::VariableOp scalarVariable(SymbolTable &symbols, StringRef name, Type element, double initial,
                               sbp::VariableOp like) {
  if (Operation *taken = symbols.lookup(name)) {
    auto known = dyn_cast<sbp::VariableOp>(taken);
    const bool isOurs = known && nn::undecided(known.getType()) == RankedTensorType::get({}, element);
    return isOurs ? known : sbp::VariableOp();
  }
  OpBuilder b(like);
  sbp::NdAttr signature = like.getLogical() ? sbp::NdAttr::broadcast(like.getLogical().getPlacement()) : sbp::NdAttr();
  auto init = sbp::ConstantInitAttr::get(b.getContext(), b.getF64FloatAttr(initial));
  auto variable =
      b.create<sbp::VariableOp>(like.getLoc(), name, RankedTensorType::get({}, element, signature), init, "optimizer");
  variable.setFrozen(true);
  symbols.insert(variable);
  return variable;
}

Value readUndecided(OpBuilder &b, Location loc, sbp::VariableOp variable) {
  return b.create<sbp::ReadOp>(loc, nn::undecided(variable.getType()),
                               FlatSymbolRefAttr::get(variable.getSymNameAttr()));
}

} // namespace splitcast
