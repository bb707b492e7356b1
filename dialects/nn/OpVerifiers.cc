// Verifiers of the ops that are not functions of tensors.
#include "dialects/nn/Nn.h"

using namespace mlir;
using namespace splitcast;
using namespace splitcast::nn;

static LogicalResult verifyOptimizer(Operation *op, Attribute optimizer) {
  if (!isa<OptimizerAttrInterface>(optimizer))
    return op->emitOpError() << "has optimizer " << optimizer << "; use #nn.sgd, #nn.momentum, #nn.adam or #nn.adamw";
  return success();
}

LogicalResult MinimizeOp::verify() {
  if (getLoss().getType().getRank() != 0)
    return emitOpError() << "has a loss of type " << getLoss().getType()
                         << "; a loss is a scalar: reduce it with nn.reduce_sum and nn.scale";
  return verifyOptimizer(*this, getOptimizer());
}

LogicalResult UpdateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto variable = symbols.lookupNearestSymbolFrom<sbp::VariableOp>(*this, getVariableAttr());
  if (!variable)
    return emitOpError() << "names @" << getVariable() << ", but the module has no such sbp.variable";
  if (undecided(variable.getType()) != undecided(getGradient().getType()))
    return emitOpError() << "has a gradient of type " << undecided(getGradient().getType()) << ", but @"
                         << getVariable() << " is " << undecided(variable.getType());
  return verifyOptimizer(*this, getOptimizer());
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
