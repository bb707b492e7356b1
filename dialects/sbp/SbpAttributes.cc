// Parses, prints and verifies the attributes.
#include "dialects/sbp/Sbp.h"
#include "dialects/sbp/algebra/Sizes.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;
using namespace splitcast::sbp;

#define GET_ATTRDEF_CLASSES
#include "dialects/sbp/SbpAttrs.cpp.inc"

void SbpDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/sbp/SbpAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Placement: <"cpu", [dp = 2, tp = 2], ranks = [0, 1, 2, 3]>
//===----------------------------------------------------------------------===//

static ParseResult parseAxis(AsmParser &parser, SmallVectorImpl<StringAttr> &names, SmallVectorImpl<int64_t> &sizes) {
  std::string name;
  int64_t size;
  if (parser.parseKeywordOrString(&name) || parser.parseEqual() || parser.parseInteger(size))
    return failure();
  names.push_back(parser.getBuilder().getStringAttr(name));
  sizes.push_back(size);
  return success();
}

Attribute PlacementAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  std::string deviceKind;
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes, ranks;
  auto axis = [&] { return parseAxis(parser, names, sizes); };
  auto rank = [&]() -> ParseResult { return parser.parseInteger(ranks.emplace_back()); };
  if (parser.parseLess() || parser.parseString(&deviceKind) || parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, axis))
    return {};
  if (succeeded(parser.parseOptionalComma()) && (parser.parseKeyword("ranks") || parser.parseEqual() ||
                                                 parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, rank)))
    return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<PlacementAttr>(loc, parser.getContext(), parser.getBuilder().getStringAttr(deviceKind),
                                          names, sizes, ranks);
}

void PlacementAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printString(getDeviceKind().getValue());
  printer << ", [";
  llvm::interleaveComma(llvm::zip(getAxisNames(), getAxisSizes()), printer, [&](auto axis) {
    printer.printKeywordOrString(std::get<0>(axis).getValue());
    printer << " = " << std::get<1>(axis);
  });
  printer << "]";
  if (!getRanks().empty()) {
    printer << ", ranks = [";
    llvm::interleaveComma(getRanks(), printer);
    printer << "]";
  }
  printer << ">";
}

LogicalResult PlacementAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr,
                                    ArrayRef<StringAttr> names, ArrayRef<int64_t> sizes, ArrayRef<int64_t> ranks) {
  llvm::StringSet<> seenNames;
  int64_t positions = 1, axesOfSeveral = 0;
  for (auto [name, size] : llvm::zip(names, sizes)) {
    if (!seenNames.insert(name.getValue()).second)
      return emitError() << "placement has two axes named '" << name.getValue() << "'; give each its own name";
    if (size < 1)
      return emitError() << "placement axis '" << name.getValue() << "' has size " << size << "; a size is at least 1";
    axesOfSeveral += size > 1;
    if (__builtin_mul_overflow(positions, size, &positions))
      positions = std::numeric_limits<int64_t>::max();
  }
  if (!ranks.empty() && static_cast<int64_t>(ranks.size()) != positions)
    return emitError() << "placement has " << positions << " positions but lists " << ranks.size()
                       << " ranks; list one rank per position";
  llvm::SmallSet<int64_t, 8> seenRanks;
  for (int64_t rank : ranks)
    if (rank < 0 || !seenRanks.insert(rank).second)
      return emitError() << "placement lists rank " << rank << (rank < 0 ? ", which is negative" : " twice");
  constexpr int64_t kMostPositions = int64_t{1} << 20; // some computations visit every position
  if (positions > kMostPositions)
    return emitError() << "placement has more than " << kMostPositions << " positions; use fewer ranks";
  constexpr int64_t kMostAxes = 6; // the search for the steps of a boxing is exponential in it
  if (axesOfSeveral > kMostAxes)
    return emitError() << "placement has " << axesOfSeveral << " axes of more than one rank; at most " << kMostAxes
                       << " are allowed; merge axes that are used alike";
  return success();
}

Placement PlacementAttr::toAlgebra() const {
  Placement placement{getDeviceKind().str(), {}, getRanks().vec()};
  placement.axes.reserve(getNumAxes());
  for (auto [name, size] : llvm::zip(getAxisNames(), getAxisSizes()))
    placement.axes.push_back({name.str(), size});
  return placement;
}

PlacementAttr PlacementAttr::fromAlgebra(MLIRContext *context, const Placement &placement) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  for (const Axis &axis : placement.axes) {
    names.push_back(StringAttr::get(context, axis.name));
    sizes.push_back(axis.size);
  }
  return get(context, StringAttr::get(context, placement.deviceKind), names, sizes, placement.ranks);
}

//===----------------------------------------------------------------------===//
// Slot: <@bucket, 128 of 4096>
//===----------------------------------------------------------------------===//

/// Parses "to [2, 5]", if it is there.
static ParseResult parseEnds(AsmParser &parser, SmallVectorImpl<int64_t> &ends) {
  if (failed(parser.parseOptionalKeyword("to")))
    return success();
  SMLoc loc = parser.getCurrentLocation();
  auto end = [&]() -> ParseResult { return parser.parseInteger(ends.emplace_back()); };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, end))
    return failure();
  return ends.empty() ? parser.emitError(loc) << "lists no ends; give one per rank of the axis" : success();
}

static void printEnds(AsmPrinter &printer, ArrayRef<int64_t> ends) {
  if (ends.empty())
    return;
  printer << " to [";
  llvm::interleaveComma(ends, printer);
  printer << "]";
}

/// Parses the part that a slot and an entry S(@bucket, 128 of 4096) share.
/// Returns null after an error.
static SlotAttr parseSlotBody(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  StringAttr bucket;
  int64_t offset, total;
  SmallVector<int64_t> ends;
  if (parser.parseSymbolName(bucket) || parser.parseComma() || parser.parseInteger(offset) ||
      parser.parseKeyword("of") || parser.parseInteger(total) || parseEnds(parser, ends))
    return {};
  return parser.getChecked<SlotAttr>(loc, parser.getContext(), bucket, offset, total, ends);
}

static void printSlotBody(AsmPrinter &printer, SlotAttr slot) {
  printer.printSymbolName(slot.getBucket());
  printer << ", " << slot.getOffset() << " of " << slot.getTotal();
  printEnds(printer, slot.getEnds());
}

Attribute SlotAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  SlotAttr slot = parseSlotBody(parser);
  return slot && succeeded(parser.parseGreater()) ? slot : SlotAttr();
}

void SlotAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printSlotBody(printer, *this);
  printer << ">";
}

Slot SlotAttr::toAlgebra() const { return {getBucket().str(), getOffset(), getTotal(), getEnds().vec()}; }

SlotAttr SlotAttr::fromAlgebra(MLIRContext *context, const Slot &slot) {
  return get(context, StringAttr::get(context, slot.bucket), slot.offset, slot.total, slot.ends);
}

LogicalResult SlotAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr bucket, int64_t offset,
                               int64_t total, ArrayRef<int64_t> ends) {
  if (offset < 0 || offset > total)
    return emitError() << "slot of bucket '" << bucket.getValue() << "' starts at element " << offset << " of " << total
                       << "; it must lie within the bucket";
  if (ends.empty())
    return success();
  std::string fault = faultOfEnds(ends.vec(), total, static_cast<int64_t>(ends.size()));
  return fault.empty() ? success() : emitError() << "slot of bucket '" << bucket.getValue() << "' " << fault;
}

//===----------------------------------------------------------------------===//
// Entry and Nd: <#placement, [S(0), S(1 by 6), B, S(@bucket, 0 of 64)]>
//===----------------------------------------------------------------------===//

Sbp EntryAttr::toAlgebra() const {
  Sbp sbp;
  sbp.kind = getKind();
  sbp.dim = getDim();
  sbp.unit = getUnit();
  if (SlotAttr slot = getSlot())
    sbp.slot = slot.toAlgebra();
  if (!getEnds().empty())
    sbp.ends = getEnds().vec();
  return sbp;
}

EntryAttr EntryAttr::fromAlgebra(MLIRContext *context, const Sbp &sbp) {
  SlotAttr slot;
  if (sbp.isFlat())
    slot = SlotAttr::fromAlgebra(context, sbp.slot);
  return get(context, sbp.kind, sbp.dim, sbp.unit, slot, sbp.ends);
}

void EntryAttr::print(AsmPrinter &printer) const {
  if (!getSlot()) {
    printer << splitcast::sbp::toString(toAlgebra());
    return;
  }
  printer << "S(";
  printSlotBody(printer, getSlot());
  printer << ")";
}

/// Parses what follows the dimension in S(0), S(0 by 6) and S(0 to [2, 5]).
static EntryAttr parseDivision(AsmParser &parser, SMLoc loc, int64_t dim) {
  int64_t unit = 1;
  if (succeeded(parser.parseOptionalKeyword("by"))) {
    if (parser.parseInteger(unit))
      return {};
    if (unit < 2) {
      parser.emitError(loc) << "S(" << dim << " by " << unit << "): a unit is at least 2; write S(" << dim
                            << ") for single elements";
      return {};
    }
  }
  SmallVector<int64_t> ends;
  if (unit == 1 && parseEnds(parser, ends))
    return {};
  if (parser.parseRParen())
    return {};
  if (dim < 0) {
    parser.emitError(loc) << "S(" << dim << "): a split dimension is at least 0";
    return {};
  }
  return EntryAttr::get(parser.getContext(), Sbp::Kind::Split, dim, unit, SlotAttr(), ends);
}

static EntryAttr parseSplit(AsmParser &parser) {
  MLIRContext *context = parser.getContext();
  SMLoc loc = parser.getCurrentLocation();
  int64_t dim = -1;
  if (parser.parseLParen())
    return {};
  OptionalParseResult hasDim = parser.parseOptionalInteger(dim);
  if (hasDim.has_value())
    return failed(*hasDim) ? EntryAttr() : parseDivision(parser, loc, dim);
  SlotAttr slot = parseSlotBody(parser);
  if (!slot || parser.parseRParen())
    return {};
  return EntryAttr::get(context, Sbp::Kind::FlatSplit, -1, 1, slot, {});
}

/// Parses what follows At: (2).
static EntryAttr parseAt(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  int64_t coordinate = -1;
  if (parser.parseLParen() || parser.parseInteger(coordinate) || parser.parseRParen())
    return {};
  if (coordinate < 0) {
    parser.emitError(loc) << "At(" << coordinate << "): a coordinate is at least 0";
    return {};
  }
  return EntryAttr::fromAlgebra(parser.getContext(), Sbp::at(coordinate));
}

Attribute EntryAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return {};
  if (keyword == "B")
    return fromAlgebra(parser.getContext(), Sbp::broadcast());
  if (keyword == "P")
    return fromAlgebra(parser.getContext(), Sbp::partial());
  if (keyword == "S")
    return parseSplit(parser);
  if (keyword == "At")
    return parseAt(parser);
  parser.emitError(loc)
      << "'" << keyword
      << "' is no signature; write B, P, S(dimension), S(dimension by unit), S(dimension to [ends]), S(@bucket, "
         "offset of total) or At(coordinate)";
  return {};
}

Attribute NdAttr::parse(AsmParser &parser, Type) {
  PlacementAttr placement;
  SmallVector<EntryAttr> entries;
  auto entry = [&]() -> ParseResult {
    entries.push_back(cast_or_null<EntryAttr>(EntryAttr::parse(parser, {})));
    return success(entries.back() != nullptr);
  };
  if (parser.parseLess() || parser.parseAttribute(placement) || parser.parseComma())
    return {};
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, entry) || parser.parseGreater())
    return {};
  return parser.getChecked<NdAttr>(loc, parser.getContext(), placement, entries);
}

void NdAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printAttribute(getPlacement());
  printer << ", [";
  llvm::interleaveComma(getEntries(), printer, [&](EntryAttr entry) { entry.print(printer); });
  printer << "]>";
}

LogicalResult NdAttr::verify(function_ref<InFlightDiagnostic()> emitError, PlacementAttr placement,
                             ArrayRef<EntryAttr> entries) {
  if (static_cast<int64_t>(entries.size()) != placement.getNumAxes())
    return emitError() << "signature has " << entries.size() << " entries but its placement has "
                       << placement.getNumAxes() << " axes; give one entry per axis";
  int64_t flats = llvm::count_if(entries, [](EntryAttr entry) { return entry.getSlot() != nullptr; });
  if (flats > 1)
    return emitError() << "signature splits " << flats << " axes by buckets; split at most one axis by a bucket";
  for (auto [entry, name, size] : llvm::zip(entries, placement.getAxisNames(), placement.getAxisSizes()))
    if (entry.getSlot() && entry.getSlot().getEnds().empty() && entry.getSlot().getTotal() % size != 0)
      return emitError() << "bucket '" << entry.getSlot().getBucket().getValue() << "' has "
                         << entry.getSlot().getTotal() << " elements, which axis '" << name.getValue() << "' of size "
                         << size << " does not divide; pad it";
  for (auto [entry, name, size] : llvm::zip(entries, placement.getAxisNames(), placement.getAxisSizes()))
    if (entry.getKind() == Sbp::Kind::At && entry.getDim() >= size)
      return emitError() << "signature is " << splitcast::sbp::toString(entry.toAlgebra()) << " on axis '"
                         << name.getValue() << "' of size " << size << "; coordinates are 0 to " << size - 1;
  return success();
}

static LogicalResult verifyEnds(EntryAttr entry, int64_t length, int64_t ranks,
                                function_ref<InFlightDiagnostic()> emitError) {
  const Sbp sbp = entry.toAlgebra();
  const Ends &ends = sbp.isFlat() ? sbp.slot.ends : sbp.ends;
  std::string fault = ends.empty() ? "" : faultOfEnds(ends, length, ranks);
  return fault.empty() ? success() : emitError() << "signature " << splitcast::sbp::toString(sbp) << " " << fault;
}

/// Verifies that ends fit the length that they divide, and that no other axis
/// splits the same dimension.
static LogicalResult verifyAllEnds(NdAttr signature, ArrayRef<int64_t> shape,
                                   function_ref<InFlightDiagnostic()> emitError) {
  const NdSbp sbp = signature.toAlgebra();
  for (auto [axis, entry] : llvm::enumerate(signature.getEntries())) {
    if (sbp[axis].ends.empty() && sbp[axis].slot.ends.empty())
      continue;
    const int64_t length = sbp[axis].isFlat() ? sbp[axis].slot.total : shape[sbp[axis].dim];
    if (failed(verifyEnds(entry, length, signature.getPlacement().getAxisSizes()[axis], emitError)))
      return failure();
    if (llvm::count_if(sbp, [&, axis = axis](const Sbp &other) { return other.splitsSameDimAs(sbp[axis]); }) > 1)
      return emitError() << "signature " << toString(sbp) << " splits dimension " << sbp[axis].dim
                         << " to ends on axis '" << signature.getPlacement().getAxisNames()[axis].getValue()
                         << "', and again on another axis; split it on one of them only";
  }
  return success();
}

/// Verifies that a unit divides the length that it splits, and that it makes a
/// difference, so that signatures that mean the same are equal.
static LogicalResult verifyUnits(const NdSbp &sbp, const Shape &shape, const Placement &placement,
                                 function_ref<InFlightDiagnostic()> emitError) {
  for (auto [axis, entry] : llvm::enumerate(sbp)) {
    if (!entry.isSplit() || entry.unit == 1)
      continue;
    Grain grain = grainBefore(axis, entry.dim, shape, sbp, placement);
    if (!grain.canSplitBy(entry.unit))
      return emitError() << "signature " << toString(sbp) << " keeps " << entry.unit << " elements of dimension "
                         << entry.dim << " together on axis '" << placement.axes[axis].name
                         << "', but the length of that dimension there is no multiple of them; give a divisor of "
                         << grain.elements;
    if (grain.splitsEvenly(entry.unit, placement.axes[axis].size))
      return emitError() << "signature " << toString(sbp) << " keeps " << entry.unit << " elements of dimension "
                         << entry.dim << " together on axis '" << placement.axes[axis].name
                         << "', as equal pieces do anyway; write S(" << entry.dim << ")";
  }
  return success();
}

LogicalResult NdAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                                     function_ref<InFlightDiagnostic()> emitError) const {
  if (!elementType) // the parser has reported the element type and goes on
    return failure();
  for (auto [axis, entry] : llvm::enumerate(getEntries()))
    if (entry.getKind() == Sbp::Kind::Split && entry.getDim() >= static_cast<int64_t>(shape.size()))
      return emitError() << "signature " << toString(toAlgebra()) << " splits dimension " << entry.getDim()
                         << " on axis '" << getPlacement().getAxisNames()[axis].getValue() << "', but the tensor has "
                         << shape.size() << " dimensions; split one of these";
  if (llvm::any_of(shape, ShapedType::isDynamic))
    return emitError() << "a global tensor has a static shape";
  if (!checkedBytes(shape.vec(), elementBytes(elementType)))
    return emitError() << RankedTensorType::get(shape, elementType) << " has more than " << kMostBytesText
                       << "; make it smaller";
  if (llvm::any_of(getEntries(), [](EntryAttr entry) { return entry.getUnit() != 1; }) &&
      failed(verifyUnits(toAlgebra(), shape.vec(), getPlacement().toAlgebra(), emitError)))
    return failure();
  auto hasEnds = [](EntryAttr entry) {
    return !entry.getEnds().empty() || (entry.getSlot() && !entry.getSlot().getEnds().empty());
  };
  if (llvm::any_of(getEntries(), hasEnds) && failed(verifyAllEnds(*this, shape, emitError)))
    return failure();
  for (EntryAttr entry : getEntries())
    if (SlotAttr slot = entry.getSlot())
      return verifyRoom(slot, shape, elementType, *this, emitError);
  return success();
}

LogicalResult splitcast::sbp::verifyRoom(SlotAttr slot, ArrayRef<int64_t> shape, Type elementType, NdAttr signature,
                                         function_ref<InFlightDiagnostic()> emitError) {
  StringRef bucket = slot.getBucket().getValue();
  if (!checkedProduct(slot.getTotal(), elementBytes(elementType)))
    return emitError() << "bucket '" << bucket << "' of " << slot.getTotal() << " elements of " << elementType
                       << " has more than " << kMostBytesText << "; make it smaller";
  Placement placement = signature ? signature.getPlacement().toAlgebra() : Placement();
  int64_t elements = maxBoxElements(shape.vec(), signature ? signature.toAlgebra() : NdSbp(), placement);
  if (elements > slot.getTotal() - slot.getOffset())
    return emitError() << "slot at " << slot.getOffset() << " of " << slot.getTotal() << " in bucket '" << bucket
                       << "' has no room for " << elements << " elements; enlarge the bucket";
  return success();
}

NdSbp NdAttr::toAlgebra() const {
  NdSbp sbp;
  sbp.reserve(getEntries().size());
  for (EntryAttr entry : getEntries())
    if (entry.getKind() == Sbp::Kind::Broadcast)
      sbp.emplace_back();
    else
      sbp.push_back(entry.toAlgebra());
  return sbp;
}

NdAttr NdAttr::get(PlacementAttr placement, const NdSbp &sbp) {
  SmallVector<EntryAttr> entries;
  for (size_t axis = 0; axis < sbp.size(); ++axis) // most axes have the same entry as the one before
    entries.push_back(axis > 0 && sbp[axis] == sbp[axis - 1]
                          ? entries.back()
                          : EntryAttr::fromAlgebra(placement.getContext(), sbp[axis]));
  return get(placement.getContext(), placement, entries);
}

NdAttr NdAttr::broadcast(PlacementAttr placement) {
  return get(placement, NdSbp(placement.getNumAxes(), Sbp::broadcast()));
}

bool NdAttr::isBroadcast() const {
  return llvm::all_of(getEntries(), [](EntryAttr entry) { return entry.getKind() == Sbp::Kind::Broadcast; });
}

bool NdAttr::hasPartial() const {
  return llvm::any_of(getEntries(), [](EntryAttr entry) { return entry.getKind() == Sbp::Kind::Partial; });
}

bool NdAttr::hasAt() const {
  return llvm::any_of(getEntries(), [](EntryAttr entry) { return entry.getKind() == Sbp::Kind::At; });
}

std::optional<Slot> NdAttr::getFlatSlot() const {
  for (EntryAttr entry : getEntries())
    if (entry.getSlot())
      return entry.toAlgebra().slot;
  return std::nullopt;
}
