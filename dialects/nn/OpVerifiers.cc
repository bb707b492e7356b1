// Verifiers of the ops that are not functions of tensors.
#include "dialects/nn/Nn.h"

using namespace mlir;
using namespace splitcast;
using namespace splitcast::nn;

template <typename OpT> static LogicalResult verifyOptimizer(OpT op) {
  if (!isa<OptimizerAttr>(op.getOptimizer()))
    return op.emitOpError() << "has optimizer " << op.getOptimizer() << "; it must be #nn.NAME, where NAME is "
                            << knownOptimizers();
  if (op.getSchedule() && !isa<RateScheduleAttr>(*op.getSchedule()))
    return op.emitOpError() << "has schedule " << *op.getSchedule() << "; it must be #nn.NAME, where NAME is "
                            << knownRates();
  return success();
}

/// Whether the numbers by which gradients are clipped are such.
template <typename OpT> static LogicalResult verifyClips(OpT op) {
  if (op.getClipNormAttr() && op.getClipValueAttr())
    return op.emitOpError() << "has clip_norm = " << op.getClipNormAttr().getValueAsDouble()
                            << " and clip_value = " << op.getClipValueAttr().getValueAsDouble()
                            << "; gradients are clipped by one of them";
  for (auto [name, clip] : {std::pair("clip_norm", op.getClipNormAttr()), {"clip_value", op.getClipValueAttr()}})
    if (clip && !contains(Bounds::Positive, clip.getValueAsDouble()))
      return op.emitOpError() << "has " << name << " = " << clip.getValueAsDouble() << "; it must be "
                              << toString(Bounds::Positive);
  return success();
}

LogicalResult MinimizeOp::verify() {
  if (getLoss().getType().getRank() != 0)
    return emitOpError() << "has a loss of type " << getLoss().getType()
                         << "; a loss is a scalar: reduce it with nn.reduce_sum and nn.scale";
  return success(succeeded(verifyOptimizer(*this)) && succeeded(verifyClips(*this)));
}

LogicalResult UpdateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto variable = symbols.lookupNearestSymbolFrom<sbp::VariableOp>(*this, getVariableAttr());
  if (!variable)
    return emitOpError() << "names @" << getVariable() << ", but the module has no such sbp.variable";
  if (undecided(variable.getType()) != undecided(getGradient().getType()))
    return emitOpError() << "has a gradient of type " << undecided(getGradient().getType()) << ", but @"
                         << getVariable() << " is " << undecided(variable.getType());
  if (getClipNormAttr() && !getClipSetAttr())
    return emitOpError() << "has clip_norm and no clip_set; updates that share a norm have the same";
  return success(succeeded(verifyOptimizer(*this)) && succeeded(verifyClips(*this)));
}

LogicalResult FusionOp::verify() {
  Block &body = getBody().front();
  if (body.getArgumentTypes() != getInputs().getTypes())
    return emitOpError() << "has a body of arguments " << body.getArgumentTypes() << " and operands "
                         << getInputs().getTypes() << "; they must be the same";
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (!yield || yield.getValues().getTypes() != getOutputs().getTypes())
    return emitOpError() << "must end in nn.yield of its results' types " << getOutputs().getTypes();
  for (Operation &op : body.without_terminator())
    if (!isa<ComputeOpInterface>(op))
      return emitOpError() << "holds '" << op.getName() << "', which does not say what it computes";
  return success();
}
