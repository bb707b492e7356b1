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

/// Verifies the numbers by which gradients are clipped: there is at most one,
/// and it is above 0.
template <typename OpT> static LogicalResult verifyClips(OpT op) {
  if (op.getClipNormAttr() && op.getClipValueAttr())
    return op.emitOpError() << "has clip_norm = " << op.getClipNormAttr().getValueAsDouble()
                            << " and clip_value = " << op.getClipValueAttr().getValueAsDouble()
                            << "; gradients can be clipped by one of them only";
  for (auto [name, clip] : {std::pair("clip_norm", op.getClipNormAttr()), {"clip_value", op.getClipValueAttr()}})
    if (clip && !contains(Bounds::Positive, clip.getValueAsDouble()))
      return op.emitOpError() << "has " << name << " = " << clip.getValueAsDouble() << "; it must be "
                              << toString(Bounds::Positive);
  return success();
}

/// Whether a loss scale may have this type.
static bool canScale(RankedTensorType type) {
  return type.getRank() == 0 && (type.getElementType().isF32() || type.getElementType().isF64());
}

static LogicalResult verifyGroupNames(MinimizeOp op) {
  if (!op.getGroupsAttr())
    return success();
  llvm::DenseSet<StringRef> names; // as text: string attributes may differ in their types
  for (auto group : op.getGroupsAttr().getAsRange<ParametersAttr>())
    if (!names.insert(group.getName().getValue()).second)
      return op.emitOpError() << "has two groups called " << group.getName() << "; give each a name of its own";
  return success();
}

LogicalResult MinimizeOp::verify() {
  if (getLoss().getType().getRank() != 0)
    return emitOpError() << "has a loss of type " << getLoss().getType()
                         << "; a loss is a scalar: reduce it with nn.reduce_sum and nn.scale";
  if (failed(verifyOptimizer(*this)) || failed(verifyClips(*this)))
    return failure();
  if (getLossScale() && !canScale(getLoss().getType()))
    return emitOpError() << "has a loss_scale and a loss of type " << getLoss().getType()
                         << ", which scales overflow; compute the loss in f32";
  if (failed(verifyGroupNames(*this)))
    return failure();
  if (getVariablesAttr() && !arePatterns(getVariablesAttr()))
    return emitOpError() << "has variables = " << getVariablesAttr()
                         << "; give names, with stars for any characters: [\"generator.*\"]";
  return success();
}

LogicalResult UpdateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto variable = symbols.lookupNearestSymbolFrom<sbp::VariableOp>(*this, getVariableAttr());
  if (!variable)
    return emitOpError() << "names @" << getVariable() << ", but the module has no such sbp.variable";
  if (undecided(variable.getType()) != undecided(getGradient().getType()))
    return emitOpError() << "has a gradient of type " << undecided(getGradient().getType()) << ", but @"
                         << getVariable() << " is " << undecided(variable.getType());
  if ((getClipNormAttr() || getGradientNorm()) && !getClipSetAttr())
    return emitOpError() << "has " << (getClipNormAttr() ? "clip_norm" : "gradient_norm")
                         << " and no clip_set; give the number that updates with a common norm share";
  if (failed(verifyOptimizer(*this)) || failed(verifyClips(*this)))
    return failure();
  if (getScale() && !canScale(getScale().getType()))
    return emitOpError() << "is scaled by a " << getScale().getType() << "; it must be a scalar of f32 or f64";
  if (static_cast<bool>(getScale()) != getLossScale().has_value())
    return emitOpError() << "has "
                         << (getScale() ? "a scale and no loss_scale" : "a loss_scale, but is scaled by nothing")
                         << "; both come from nn.minimize, so write both or neither";
  if (getUnless() && getUnless().getType().getRank() != 0)
    return emitOpError() << "has an 'unless' of type " << getUnless().getType() << "; it must be a scalar of f64";
  if (auto refused = cast<OptimizerAttr>(getOptimizer()).model()->refuses(getGradient().getType().getShape()))
    return emitOpError() << "has a gradient of type " << undecided(getGradient().getType()) << ", but " << *refused;
  return success();
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
      return emitOpError() << "contains '" << op.getName() << "', but only ops with ComputeOpInterface can be fused";
  return success();
}
