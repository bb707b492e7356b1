// Verifies the signatures of an op by its loop factors.
#include "dialects/sbp/Sbp.h"

using namespace mlir;
using namespace splitcast::sbp;

#include "dialects/sbp/SbpOpInterfaces.cpp.inc"

namespace {

std::string describe(const std::vector<Sbp> &operands, const std::vector<Sbp> &results) {
  auto list = [](const std::vector<Sbp> &entries) {
    std::string text;
    for (size_t i = 0; i < entries.size(); ++i)
      text += (i ? ", " : "") + toString(entries[i]);
    return text;
  };
  return "(" + list(operands) + ") -> (" + list(results) + ")";
}

/// Adds notes that lead from the value back to the op that made the P: one for
/// each op that passed it on, and one for its maker.
void noteOriginOfPartial(InFlightDiagnostic &diag, Value value, int64_t axis) {
  for (int hops = 0; hops < 8; ++hops) {
    Operation *producer = value.getDefiningOp();
    if (!producer)
      return;
    Value source;
    for (Value operand : tensorOperands(producer)) {
      NdAttr signature = signatureOf(operand);
      bool isThere = signature && signature.getPlacement() == signatureOf(value).getPlacement();
      if (isThere && signature.getEntries()[axis].getKind() == Sbp::Kind::Partial)
        source = operand;
    }
    if (!source) {
      diag.attachNote(producer->getLoc())
          << "it became P here: '" << producer->getName() << "' sums over a dimension that is split along this axis";
      return;
    }
    diag.attachNote(producer->getLoc()) << "P passes through '" << producer->getName() << "' here";
    value = source;
  }
}

/// The signatures of an op along one axis, and the error if they are illegal.
struct AxisCheck {
  Operation *op;
  const LoopSpec &spec;
  PlacementAttr placement;
  int64_t axis;
  std::vector<Sbp> operands, results;

  StringRef axisName() const { return placement.getAxisNames()[axis].getValue(); }
  int64_t axisSize() const { return placement.getAxisSizes()[axis]; }

  InFlightDiagnostic emitHead() const {
    return op->emitOpError() << "has signatures " << describe(operands, results) << " on axis \"" << axisName()
                             << "\", which it cannot have";
  }

  /// Reports an operand that is P where no row takes P. This is the most common
  /// mistake, so its message says what to do.
  bool reportPartialOperand(ArrayRef<OpSignature> rows) const {
    SmallVector<Value> values = tensorOperands(op);
    for (size_t i = 0; i < operands.size(); ++i) {
      auto takesPartial = [&](const OpSignature &row) { return row.operands[i].isPartial(); };
      if (!operands[i].isPartial() || llvm::any_of(rows, takesPartial))
        continue;
      InFlightDiagnostic diag = op->emitOpError() << "operand " << i << " is P on axis \"" << axisName() << "\"; '"
                                                  << op->getName() << "' is not linear in it and takes S or B";
      noteOriginOfPartial(diag, values[i], axis);
      diag.attachNote(op->getLoc()) << "box it to B or S first, or let 'sbp-propagate' choose";
      return true;
    }
    return false;
  }

  LogicalResult report() const {
    std::vector<OpSignature> rows = deriveSignatures(spec, axisSize(), operands, results);
    if (reportPartialOperand(rows))
      return failure();
    InFlightDiagnostic diag = emitHead();
    Diagnostic &note = diag.attachNote(op->getLoc());
    note << "it may have";
    for (const OpSignature &row : rows)
      note << "\n  " << describe(row.operands, row.results);
    diag.attachNote(op->getLoc()) << "box an operand with sbp.boxing, or let 'sbp-propagate' choose";
    return diag;
  }
};

} // namespace

LogicalResult splitcast::sbp::verifySharding(Operation *op) {
  SmallVector<Value> operands = tensorOperands(op);
  PlacementAttr placement;
  for (Value value : llvm::concat<Value>(operands, llvm::to_vector_of<Value>(op->getResults()))) {
    NdAttr signature = signatureOf(value);
    if (!signature)
      return success(); // not decided yet, or below the global level
    if (placement && placement != signature.getPlacement())
      return op->emitOpError() << "has tensors on two placements; put all of them on one";
    placement = signature.getPlacement();
    auto type = cast<RankedTensorType>(value.getType());
    if (failed(signature.verifyEncoding(type.getShape(), type.getElementType(), [&] { return op->emitOpError(); })))
      return failure();
  }
  if (!placement)
    return success();
  LoopSpec spec = cast<ShardingOpInterface>(op).getLoopSpec();
  auto ofOperands = llvm::map_to_vector(operands, [](Value value) { return signatureOf(value); });
  auto ofResults = llvm::map_to_vector(op->getResults(), [](Value value) { return signatureOf(value); });
  for (int64_t axis = 0; axis < placement.getNumAxes(); ++axis) {
    auto isWhole = [&](NdAttr signature) { return signature.getEntries()[axis].getKind() == Sbp::Kind::Broadcast; };
    if (llvm::all_of(ofOperands, isWhole) && llvm::all_of(ofResults, isWhole))
      continue; // always legal
    AxisCheck check{op, spec, placement, axis, {}, {}};
    for (NdAttr signature : ofOperands)
      check.operands.push_back(signature.getEntries()[axis].toAlgebra());
    for (NdAttr signature : ofResults)
      check.results.push_back(signature.getEntries()[axis].toAlgebra());
    std::optional<OpSignature> row = rowOf(spec, check.axisSize(), check.operands, check.results);
    if (!row)
      return check.report();
    splitLoops(spec, *row, check.axisSize()); // the splits of this axis leave smaller loops for the next one
  }
  return success();
}
