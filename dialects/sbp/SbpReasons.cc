// Implements #sbp.row and #sbp.wanted: metadata of locations that says why an
// op has its signatures, and why a boxing exists.
#include "dialects/sbp/Sbp.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"

#include <tuple>

using namespace mlir;
using namespace splitcast::sbp;

namespace splitcast::sbp {

bool RowAxis::operator==(const RowAxis &other) const {
  return std::tie(axis, kind, tensor, dim, unit) ==
         std::tie(other.axis, other.kind, other.tensor, other.dim, other.unit);
}

Wanted Wanted::by(OpOperand &operand) {
  return {Kind::Operand, operand.getOwner()->getName().getIdentifier(), operand.getOperandNumber()};
}

bool Wanted::operator==(const Wanted &other) const {
  return std::tie(kind, of, number) == std::tie(other.kind, other.of, other.number);
}

Location withReason(Location location, Attribute reason) {
  SmallVector<Location, 1> places = {location};
  if (auto fused = dyn_cast<FusedLoc>(location); fused && isa_and_nonnull<RowAttr, WantedAttr>(fused.getMetadata()))
    places.assign(fused.getLocations().begin(), fused.getLocations().end());
  return FusedLoc::get(reason.getContext(), places, reason);
}

} // namespace splitcast::sbp

//===----------------------------------------------------------------------===//
// Row: <dp = splits result 0 at 1 by 6, tp = replicated>
//===----------------------------------------------------------------------===//

static constexpr StringRef kRowKinds[] = {"replicated", "splits", "sums", "linear", "slot", "at"}; ///< as RowAxis::Kind

/// Parses what follows `splits` and `sums`: result 0 at 1 by 6.
static ParseResult parseLoop(AsmParser &parser, RowAxis &row) {
  if (parser.parseKeyword(row.kind == RowAxis::Kind::Splits ? "result" : "operand") ||
      parser.parseInteger(row.tensor) || parser.parseKeyword("at") || parser.parseInteger(row.dim))
    return failure();
  if (failed(parser.parseOptionalKeyword("by")))
    return success();
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseInteger(row.unit))
    return failure();
  if (row.unit < 2)
    return parser.emitError(at) << "a row has unit " << row.unit
                                << "; a unit is at least 2, and is left out for single iterations";
  return success();
}

static ParseResult parseRowAxis(AsmParser &parser, SmallVectorImpl<RowAxis> &rows) {
  std::string name;
  StringRef word;
  if (parser.parseKeywordOrString(&name) || parser.parseEqual())
    return failure();
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  const auto *kind = llvm::find(kRowKinds, word);
  if (kind == std::end(kRowKinds))
    return parser.emitError(at) << "'" << word << "' is no kind of row; write "
                                << llvm::join(ArrayRef(kRowKinds), ", ");
  RowAxis &row = rows.emplace_back();
  row.axis = parser.getBuilder().getStringAttr(name);
  row.kind = static_cast<RowAxis::Kind>(kind - std::begin(kRowKinds));
  const bool hasLoop = row.kind == RowAxis::Kind::Splits || row.kind == RowAxis::Kind::Sums;
  return hasLoop ? parseLoop(parser, row) : success();
}

Attribute RowAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<RowAxis> rows;
  if (parser.parseLess())
    return {};
  if (failed(parser.parseOptionalGreater()) &&
      (parser.parseCommaSeparatedList([&] { return parseRowAxis(parser, rows); }) || parser.parseGreater()))
    return {};
  if (failed(RowAttr::verify([&] { return parser.emitError(loc); }, rows)))
    return {};
  return RowAttr::get(parser.getContext(), rows);
}

void RowAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleaveComma(getAxes(), printer, [&](const RowAxis &row) {
    printer.printKeywordOrString(row.axis.getValue());
    printer << " = " << kRowKinds[static_cast<size_t>(row.kind)];
    if (row.kind != RowAxis::Kind::Splits && row.kind != RowAxis::Kind::Sums)
      return;
    printer << (row.kind == RowAxis::Kind::Splits ? " result " : " operand ") << row.tensor << " at " << row.dim;
    if (row.unit != 1)
      printer << " by " << row.unit;
  });
  printer << ">";
}

LogicalResult RowAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<RowAxis> axes) {
  if (axes.empty())
    return emitError() << "a row names no axis; write at least one, such as dp = replicated";
  llvm::SmallPtrSet<Attribute, 4> named;
  for (const RowAxis &row : axes) {
    if (!named.insert(row.axis).second)
      return emitError() << "a row names axis '" << row.axis.getValue() << "' twice; name it once";
    if (row.tensor < 0 || row.dim < 0)
      return emitError() << "a row has dimension " << row.dim << " of "
                         << (row.kind == RowAxis::Kind::Splits ? "result " : "operand ") << row.tensor << " on axis '"
                         << row.axis.getValue() << "'; both count from 0";
    if (row.unit < 1)
      return emitError() << "a row has unit " << row.unit << " on axis '" << row.axis.getValue()
                         << "'; a unit is at least 1";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Wanted: <operand 1 of "nn.matmul">, <update of @w>
//===----------------------------------------------------------------------===//

static constexpr StringRef kWantedKinds[] = {"operand",  "result", "forward",
                                             "backward", "update", "assign"}; ///< as Wanted::Kind

Attribute WantedAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  if (parser.parseLess() || parser.parseKeyword(&word))
    return {};
  const auto *kind = llvm::find(kWantedKinds, word);
  if (kind == std::end(kWantedKinds)) {
    parser.emitError(loc) << "'" << word << "' is no reason for a boxing; write "
                          << llvm::join(ArrayRef(kWantedKinds), ", ");
    return {};
  }
  Wanted wanted;
  wanted.kind = static_cast<Wanted::Kind>(kind - std::begin(kWantedKinds));
  std::string name;
  if ((wanted.isOfOp() && parser.parseInteger(wanted.number)) || parser.parseKeyword("of"))
    return {};
  if (wanted.isOfOp() ? parser.parseString(&name) : parser.parseSymbolName(wanted.of))
    return {};
  if (wanted.isOfOp())
    wanted.of = parser.getBuilder().getStringAttr(name);
  if (parser.parseGreater() || failed(WantedAttr::verify([&] { return parser.emitError(loc); }, wanted)))
    return {};
  return WantedAttr::get(parser.getContext(), wanted);
}

void WantedAttr::print(AsmPrinter &printer) const {
  const Wanted &wanted = getWanted();
  printer << "<" << kWantedKinds[static_cast<size_t>(wanted.kind)];
  if (wanted.isOfOp()) {
    printer << " " << wanted.number << " of ";
    printer.printString(wanted.of.getValue());
  } else {
    printer << " of ";
    printer.printSymbolName(wanted.of.getValue());
  }
  printer << ">";
}

LogicalResult WantedAttr::verify(function_ref<InFlightDiagnostic()> emitError, Wanted wanted) {
  if (!wanted.of || wanted.of.empty())
    return emitError() << "the use that wants a boxing has no name; name an op or a variable";
  if (wanted.number < 0)
    return emitError() << "the use that wants a boxing is " << kWantedKinds[static_cast<size_t>(wanted.kind)] << " "
                       << wanted.number << " of '" << wanted.of.getValue() << "'; operands and results count from 0";
  return success();
}
