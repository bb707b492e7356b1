#include "passes/global/ExactSumsCheck.h"

#include "dialects/nn/Nn.h"
#include "dialects/sbp/algebra/Solver.h"

using namespace mlir;
using namespace splitcast;

FailureOr<std::optional<ExactSumsCheck>> ExactSumsCheck::of(func::FuncOp function, sbp::PlacementAttr placement) {
  Attribute said = function->getAttr(sbp::kExactSumsName);
  if (!said)
    return std::optional<ExactSumsCheck>();
  const sbp::Placement algebra = placement.toAlgebra();
  auto name = dyn_cast<StringAttr>(said);
  const int64_t axis = name ? algebra.axisIndex(name.getValue().str()) : -1;
  if (axis < 0)
    return function.emitOpError() << "@" << function.getSymName() << " has " << sbp::kExactSumsName << " = " << said
                                  << ", which must be an axis of " << placement << "; 'sbp-exact-sums' writes it";
  FailureOr<MicroBatchRows> rows =
      function->hasAttr(kBatchRowsName) ? MicroBatchRows::takeStated(function) : MicroBatchRows::of(function, 1, axis);
  if (failed(rows))
    return failure();
  return std::optional<ExactSumsCheck>(
      ExactSumsCheck(name.getValue().str(), axis, algebra.axes[axis].size == 1, std::move(*rows)));
}

std::optional<sbp::AxisRow> ExactSumsCheck::rowOf(Operation *op) const {
  if (isa<sbp::ColocateOp>(op))
    return std::nullopt;
  sbp::AxisRow row{axis, {}, {}};
  for (Value result : op->getResults()) {
    const std::optional<sbp::Sbp> made = rows.made(result);
    if (!made || made->isBroadcast())
      return std::nullopt;
    row.results.push_back(*made);
  }
  for (OpOperand *use : tensorUses(op))
    row.operands.push_back(rows.wanted(*use));
  return row;
}

LogicalResult ExactSumsCheck::verify(Block &body) const {
  if (isOfOneRank)
    return success();
  for (Operation &op : body.without_terminator())
    if (failed(verifyRounding(&op)) || failed(verifyRows(&op)))
      return failure();
  return success();
}

sbp::Sbp ExactSumsCheck::entryOf(Value value) const { return sbp::signatureOf(value).toAlgebra()[axis]; }

/// Whether an op sums without rounding.
static bool sumsExactly(Operation *op) {
  auto sharded = dyn_cast_or_null<sbp::ShardingOpInterface>(op);
  return sharded && sharded.getLoopSpec().exactSums;
}

/// Whether the value is an integer, or is made of parts and their sums only.
static bool isExact(Value value) {
  SmallVector<Value> open = {value};
  while (!open.empty()) {
    Value next = open.pop_back_val();
    Operation *maker = next.getDefiningOp();
    if (isa<IntegerType>(getElementTypeOrSelf(next.getType())) ||
        isa_and_nonnull<nn::ExactPartOp, nn::ExactRestOp>(maker) || sumsExactly(maker))
      continue;
    if (isa_and_nonnull<nn::AddOp>(maker))
      open.append(maker->operand_begin(), maker->operand_end());
    else if (auto boxing = dyn_cast_or_null<sbp::BoxingOp>(maker))
      open.push_back(boxing.getInput());
    else if (auto fence = dyn_cast_or_null<sbp::FenceOp>(maker))
      open.push_back(fence.getInput());
    else if (auto read = dyn_cast_or_null<sbp::ReadOp>(maker); !read || !read.getType().getElementType().isF64())
      return false;
  }
  return true;
}

LogicalResult ExactSumsCheck::verifyRounding(Operation *op) const {
  auto boxing = dyn_cast<sbp::BoxingOp>(op);
  if (!boxing || !entryOf(boxing.getInput()).isPartial() || entryOf(boxing.getOutput()).isPartial() ||
      isExact(boxing.getInput()))
    return success();
  // Most casts come from mixed precision: name the op before them, which the
  // user wrote.
  Operation *maker = boxing.getInput().getDefiningOp();
  if (!maker) // the operand is an argument
    maker = boxing;
  const bool isCast = isa<nn::CastOp>(maker);
  while (isa<nn::CastOp>(maker) && maker->getOperand(0).getDefiningOp())
    maker = maker->getOperand(0).getDefiningOp();
  return maker->emitOpError() << "is summed over the ranks of axis \"" << name << "\" and rounded"
                              << (isCast ? " (behind a cast)" : "")
                              << ", in a function that is to be reproducible, though it is no sum over the batch; let "
                                 "ranks have its operands whole (B), "
                              << (isCast ? "let variables be read in the type that they have (compute-type=own), " : "")
                              << "or leave 'reproducible' out";
}

/// Whether the axis, which splits a dimension of the value, gives all ranks as many of its elements, and those that
/// follow each other: no axis before it cuts the dimension.
bool ExactSumsCheck::isEven(Value value) const {
  const sbp::NdAttr signature = sbp::signatureOf(value);
  const sbp::NdSbp entries = signature.toAlgebra();
  const sbp::Placement placement = signature.getPlacement().toAlgebra();
  const sbp::Sbp &entry = entries[axis];
  for (int64_t before = 0; before < axis; ++before)
    if (entries[before].splitsSameDimAs(entry) && placement.axes[before].size > 1)
      return false;
  return entry.ends.empty() && sbp::grainBefore(axis, entry.dim, sbp::shapeOf(value.getType()), entries, placement)
                                   .splitsEvenly(entry.unit, placement.axes[axis].size);
}

/// Verifies that an op that is not elementwise takes only those rows of the
/// batch that its rank has, and nothing of other ranks.
LogicalResult ExactSumsCheck::verifyRows(Operation *op) const {
  auto sharded = dyn_cast<sbp::ShardingOpInterface>(op);
  if (!sharded || isa<sbp::BoxingOp, sbp::FenceOp>(op) || sumsExactly(op) ||
      (sbp::isElementwise(sharded.getLoopSpec()) && !isa<nn::ExactPartOp, nn::ExactRestOp>(op)))
    return success();
  for (Value operand : sbp::tensorOperands(op)) {
    Value source = operand;
    while (auto boxing = source.getDefiningOp<sbp::BoxingOp>())
      source = boxing.getInput();
    const std::optional<sbp::Sbp> made = rows.made(source);
    if (!made || made->isBroadcast())
      continue;
    const sbp::Sbp entry = entryOf(operand);
    if (entry.kind == made->kind && (!entry.isSplit() || (entry.dim == made->dim && isEven(operand))))
      continue;
    InFlightDiagnostic diag = op->emitOpError();
    if (entry.kind == made->kind && entry.dim == made->dim)
      diag << "has an operand that is " << sbp::toString(sbp::signatureOf(operand).toAlgebra())
           << ", in a function that is to be reproducible, but ranks along axis \"" << name
           << "\" must have equally many rows of the batch, one after the other, so";
    else
      diag << "has an operand that is " << toString(entry) << " along axis \"" << name
           << "\", in a function that is to be reproducible, but " << toString(*made) << " along the batch, so";
    return diag << " that its addends would differ with the number of ranks; let ranks have variables whole (B) and no "
                   "others' rows, or leave 'reproducible' out";
  }
  return success();
}
