#include "dialects/exec/Exec.h"
#include "dialects/sbp/algebra/Sizes.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace splitcast;
using namespace splitcast::exec;

#include "dialects/exec/ExecAttrInterfaces.cpp.inc"
#include "dialects/exec/ExecDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/exec/ExecAttrs.cpp.inc"

//===----------------------------------------------------------------------===//
// Kinds of collectives
//===----------------------------------------------------------------------===//

static ParseResult parseKind(AsmParser &parser, CollectiveKindAttr &kind) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  std::optional<ccl::CollectiveKind> known = ccl::collectiveNamed(name);
  if (!known)
    return parser.emitError(loc) << "collective of kind '" << name << "'; kinds are " << ccl::allCollectiveNames();
  kind = CollectiveKindAttr::get(parser.getContext(), *known);
  return success();
}

static void printKind(OpAsmPrinter &printer, Operation *, CollectiveKindAttr kind) {
  printer << ccl::nameOf(kind.getValue());
}

Attribute CollectiveKindAttr::parse(AsmParser &parser, Type) {
  CollectiveKindAttr kind;
  if (parser.parseLess() || parseKind(parser, kind) || parser.parseGreater())
    return {};
  return kind;
}

void CollectiveKindAttr::print(AsmPrinter &printer) const { printer << "<" << ccl::nameOf(getValue()) << ">"; }

#define GET_OP_CLASSES
#include "dialects/exec/ExecOps.cpp.inc"

void ExecDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/exec/ExecAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/exec/ExecOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

Attribute RangeAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef space;
  int64_t offset, bytes;
  if (parser.parseLess() || parser.parseKeyword(&space) || parser.parseComma() || parser.parseInteger(offset) ||
      parser.parseComma() || parser.parseInteger(bytes) || parser.parseGreater())
    return {};
  return parser.getChecked<RangeAttr>(loc, parser.getContext(), parser.getBuilder().getStringAttr(space), offset,
                                      bytes);
}

void RangeAttr::print(AsmPrinter &printer) const {
  printer << "<" << getSpace().getValue() << ", " << getOffset() << ", " << getBytes() << ">";
}

LogicalResult RangeAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr, int64_t offset,
                                int64_t bytes) {
  if (offset < 0 || bytes < 0)
    return emitError() << "range of " << bytes << " bytes at " << offset << "; neither may be negative";
  if (!sbp::checkedSum(offset, bytes))
    return emitError() << "range of " << bytes << " bytes at " << offset << " ends behind " << sbp::kMostBytesText
                       << "; no space is so large";
  return success();
}

bool CollectiveOp::isInPlace() {
  return getRule().memory == ccl::Memory::InOperand && getOutput() && getData().contains(*getOutput());
}

void splitcast::exec::rangesOf(Operation *op, SmallVectorImpl<RangeAttr> &reads, SmallVectorImpl<RangeAttr> &writes) {
  auto addAll = [](ArrayAttr from, SmallVectorImpl<RangeAttr> &to) {
    llvm::append_range(to, from.getAsRange<RangeAttr>());
  };
  if (auto launch = dyn_cast<LaunchOp>(op)) {
    addAll(launch.getReads(), reads);
    addAll(launch.getWrites(), writes);
  } else if (auto library = dyn_cast<LibraryOp>(op)) {
    addAll(library.getReads(), reads);
    addAll(library.getWrites(), writes);
  } else if (auto copy = dyn_cast<CopyOp>(op)) {
    reads.push_back(copy.getFrom());
    writes.push_back(copy.getTo());
  } else if (auto clear = dyn_cast<ClearOp>(op)) {
    writes.push_back(clear.getRange());
  } else if (auto collective = dyn_cast<CollectiveOp>(op)) {
    (collective.getRule().memory == ccl::Memory::Apart ? reads : writes).push_back(collective.getData());
    if (std::optional<RangeAttr> output = collective.getOutput(); output && !collective.isInPlace())
      writes.push_back(*output);
    if (std::optional<RangeAttr> workspace = collective.getWorkspace())
      writes.push_back(*workspace);
  }
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

LogicalResult StorageOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || getRange().getBytes() != sbp::checkedBytes(sbp::shapeOf(type), sbp::elementBytes(type)))
    return emitOpError() << "puts " << getType() << " in " << getRange() << "; the range must be as large";
  if (const int64_t bytes = sbp::elementBytes(type); getRange().getOffset() % bytes != 0)
    return emitOpError() << "puts " << getType() << " in " << getRange() << "; let it begin at a multiple of " << bytes
                         << " bytes, the size of an element";
  if (getMembers().size() != getOffsets().size())
    return emitOpError() << "has " << getMembers().size() << " members and " << getOffsets().size() << " offsets";
  DenseSet<Attribute> known;
  for (Attribute member : getMembers())
    if (!known.insert(member).second)
      return emitOpError() << "@" << getSymName() << " has " << member << " twice; a variable lies at one place";
  const int64_t elements = sbp::numElements(sbp::shapeOf(type));
  for (int64_t offset : getOffsets())
    if (offset < 0 || offset > elements)
      return emitOpError() << "has a member at element " << offset << " of " << type << "; members must lie within it";
  return success();
}

/// Verifies that a written range overlaps no other range of the op.
static LogicalResult verifyDistinct(Operation *op) {
  SmallVector<RangeAttr> reads, writes;
  rangesOf(op, reads, writes);
  for (size_t i = 0; i < writes.size(); ++i) {
    for (RangeAttr read : reads)
      if (writes[i].overlaps(read))
        return op->emitOpError() << "writes " << writes[i] << ", which overlaps " << read << ", which it reads";
    for (size_t j = 0; j < i; ++j)
      if (writes[i].overlaps(writes[j]))
        return op->emitOpError() << "writes " << writes[i] << " and " << writes[j] << ", which overlap";
  }
  return success();
}

LogicalResult LaunchOp::verify() {
  if (failed(verifyDistinct(*this)))
    return failure();
  int64_t previous = -1;
  for (int64_t number : getInPlace()) {
    if (number <= previous || number >= static_cast<int64_t>(getWrites().size()))
      return emitOpError() << "has in_place = [" << getInPlace() << "]; these must be numbers of its "
                           << getWrites().size() << " written ranges, ascending";
    previous = number;
  }
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  const SymbolRefAttr kernel = getKernel();
  auto kernels = symbols.lookupNearestSymbolFrom<ModuleOp>(*this, kernel.getRootReference());
  if (!kernels || symbols.lookupNearestSymbolFrom(*this, kernel))
    return success();
  return emitOpError() << "launches " << kernel << ", which @" << kernel.getRootReference().getValue()
                       << " does not hold; add it there, or launch a kernel that is";
}

LogicalResult LibraryOp::verify() {
  if (failed(verifyDistinct(*this)))
    return failure();
  SmallVector<int64_t> found;
  for (ArrayAttr ranges : {getReads(), getWrites()})
    for (auto range : ranges.getAsRange<RangeAttr>())
      found.push_back(range.getBytes());
  const std::vector<int64_t> operands = getCall().getOperandBytes();
  const std::optional<int64_t> workspace = getCall().getWorkspace();
  const ArrayRef<int64_t> behind = ArrayRef(found).drop_front(std::min(operands.size(), found.size()));
  const bool hasWorkspace = !workspace        ? behind.size() <= 1
                            : *workspace == 0 ? behind.empty()
                                              : behind == ArrayRef(*workspace);
  if (ArrayRef(found).take_front(operands.size()) == ArrayRef(operands) && hasWorkspace)
    return success();
  InFlightDiagnostic error = emitOpError()
                             << "has ranges of [" << found << "] bytes, but the operands of its call have ["
                             << ArrayRef(operands) << "]";
  if (!workspace)
    error << ", and may have a workspace behind them";
  else if (*workspace > 0)
    error << ", and a workspace of " << *workspace << " behind them";
  return error << "; give each its range";
}

LogicalResult CopyOp::verify() {
  if (getFrom().getBytes() != getTo().getBytes() || getFrom().overlaps(getTo()))
    return emitOpError() << "copies " << getFrom() << " to " << getTo()
                         << "; both must have the same number of bytes, and must not overlap";
  return success();
}

LogicalResult GroupOp::verify() {
  if (std::string fault = ccl::faultOfGroup(getRanks().vec(), getIndex()); !fault.empty())
    return emitOpError() << "@" << getSymName() << " " << fault;
  auto module = (*this)->getParentOfType<ModuleOp>();
  auto rank = module ? module->getAttrOfType<IntegerAttr>("ccl.rank") : IntegerAttr();
  if (rank && rank.getInt() != getRanks()[getIndex()])
    return emitOpError() << "@" << getSymName() << " has rank " << getRanks()[getIndex()] << " at index " << getIndex()
                         << ", but the module is the program of rank " << rank.getInt()
                         << "; give the index of that rank";
  return success();
}

ccl::CollectiveCall splitcast::exec::callOf(CollectiveOp op, GroupOp group) {
  ccl::CollectiveCall call{op.getKind().getValue(), static_cast<int64_t>(group.getRanks().size()),
                           static_cast<int64_t>(group.getIndex()), op.getBlocks().vec()};
  if (std::optional<ArrayRef<int64_t>> received = op.getReceived())
    call.received = received->vec();
  call.elementBytes = sbp::elementBytes(op.getType());
  return call;
}

GroupOp splitcast::exec::groupOf(CollectiveOp op, SymbolTableCollection &symbols) {
  return symbols.lookupNearestSymbolFrom<GroupOp>(op, op.getGroupAttr());
}

static bool hasOutput(const ccl::CollectiveRule &rule) {
  return rule.memory == ccl::Memory::InOperand || rule.memory == ccl::Memory::Apart;
}

LogicalResult CollectiveOp::verify() {
  const ccl::CollectiveRule &rule = getRule();
  if (hasOutput(rule) != getOutput().has_value() || getReceived().has_value() != (rule.result == ccl::Part::Received))
    return emitOpError()
           << "has " << (getOutput() ? "an" : "no") << " output and " << (getReceived() ? "" : "no ")
           << "received blocks; reduce_scatter must have an output, all_to_all both, and other kinds neither";
  if (rule.adds && !isa<FloatType>(getType()))
    return emitOpError() << "adds elements of type " << getType() << "; ranks can add up floats only";
  return verifyDistinct(*this);
}

LogicalResult CollectiveOp::verifySymbolUses(SymbolTableCollection &symbols) {
  GroupOp group = groupOf(*this, symbols);
  if (!group)
    return emitOpError() << "is called in @" << getGroup() << ", but the module has no such exec.group; declare it";
  const ccl::CollectiveCall call = callOf(*this, group);
  if (std::string fault = call.fault(); !fault.empty())
    return emitOpError() << fault;
  const ccl::CollectiveRule &rule = call.rule();
  const int64_t bytes = call.bytes(rule.memory == ccl::Memory::InResult ? rule.result : rule.operand);
  if (getData().getBytes() != bytes)
    return emitOpError() << "works on " << getData() << ", but its blocks have " << bytes << " bytes";
  if (!hasOutput(rule))
    return success();
  if (getOutput()->getBytes() != call.bytes(rule.result))
    return emitOpError() << "receives into " << *getOutput() << ", but its blocks have " << call.bytes(rule.result)
                         << " bytes";
  const int64_t own = getData().getOffset() + call.bytesBefore();
  if (isInPlace() && getOutput()->getBytes() > 0 && getOutput()->getOffset() != own)
    return emitOpError() << "receives into " << *getOutput() << ", which lies in " << getData()
                         << ", but its own block begins there at " << own << "; receive there, or outside";
  return success();
}
