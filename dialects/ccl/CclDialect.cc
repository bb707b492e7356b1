#include "dialects/ccl/Ccl.h"

#include "dialects/sbp/StorageMembers.h"
#include "dialects/sbp/ValueNames.h"
#include "dialects/sbp/algebra/Sizes.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace splitcast;
using namespace splitcast::ccl;

#include "dialects/ccl/CclDialect.cpp.inc"
#include "dialects/ccl/CclOpInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/ccl/CclAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/ccl/CclTypes.cpp.inc"

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Parses `[3, 3, 2]`, or `3` if every rank has such a block.
static ParseResult parseBlocks(OpAsmParser &parser, DenseI64ArrayAttr &blocks) {
  SmallVector<int64_t> numbers(1);
  OptionalParseResult one = parser.parseOptionalInteger(numbers.front());
  if (!one.has_value()) {
    numbers.clear();
    one = parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                         [&] { return parser.parseInteger(numbers.emplace_back()); });
  }
  blocks = parser.getBuilder().getDenseI64ArrayAttr(numbers);
  return *one;
}

static void printBlocks(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr blocks) {
  if (blocks.size() == 1)
    printer << blocks[0];
  else
    printer << "[" << blocks.asArrayRef() << "]";
}

#define GET_OP_CLASSES
#include "dialects/ccl/CclOps.cpp.inc"

namespace {

/// A group is printed by its name, #dp.
struct AliasInterface : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attr, raw_ostream &os) const override {
    auto group = dyn_cast<GroupAttr>(attr);
    if (!group)
      return AliasResult::NoAlias;
    os << group.getName();
    return AliasResult::OverridableAlias;
  }
};

} // namespace

void *CclDialect::getRegisteredInterfaceForOp(TypeID interface, OperationName) {
  return sbp::namesFromLocations(interface);
}

void CclDialect::initialize() {
  addInterface<AliasInterface>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/ccl/CclAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/ccl/CclTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/ccl/CclOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Global types
//===----------------------------------------------------------------------===//

/// Whether the rank of the module, or any rank if the module names none, has
/// this piece.
static bool isPieceOf(RankedTensorType piece, RankedTensorType global, Operation *op) {
  const sbp::Placement placement = sbp::signatureOf(global).getPlacement().toAlgebra();
  auto module = op->getParentOfType<ModuleOp>();
  auto rank = module ? module->getAttrOfType<IntegerAttr>("ccl.rank") : IntegerAttr();
  return llvm::any_of(llvm::seq<int64_t>(0, placement.numPositions()), [&](int64_t position) {
    const int64_t number = placement.ranks.empty() ? position : placement.ranks[position];
    return (!rank || rank.getInt() == number) && piece == sbp::localType(global, placement.coordinates(position));
  });
}

/// Verifies `ccl.global`, the type of the tensor that an argument or result is
/// a piece of.
static LogicalResult verifyGlobal(Operation *op, StringRef what, unsigned number, Type type, NamedAttribute attribute) {
  auto value = dyn_cast<TypeAttr>(attribute.getValue());
  auto global = value ? dyn_cast<RankedTensorType>(value.getValue()) : RankedTensorType();
  auto piece = dyn_cast<RankedTensorType>(type);
  if (attribute.getName() != "ccl.global" || !global || !piece) // 'exec-lower' refuses what is no tensor
    return success();
  if (piece.getElementType() != global.getElementType() || piece.getRank() != global.getRank())
    return op->emitOpError() << "has " << what << " " << number << " of " << piece << ", but its ccl.global is "
                             << global << "; a piece must have the element type of its tensor, and as many dimensions";
  if (sbp::signatureOf(global) && global.hasStaticShape() && !isPieceOf(piece, global, op))
    return op->emitOpError() << "has " << what << " " << number << " of " << piece << ", but its ccl.global is "
                             << global << ", of which this rank has another piece; run 'sbp-localize'";
  return success();
}

LogicalResult CclDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned number, NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  return function ? verifyGlobal(op, "argument", number, function.getArgumentTypes()[number], attribute) : success();
}

LogicalResult CclDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned number,
                                                      NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  return function ? verifyGlobal(op, "result", number, function.getResultTypes()[number], attribute) : success();
}

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

LogicalResult StorageOp::verify() {
  RankedTensorType type = getTensorType();
  if (!type.hasStaticShape())
    return emitOpError() << "has type " << type << "; a storage must have a static shape";
  if (getMembers().size() != getOffsets().size())
    return emitOpError() << "has " << getMembers().size() << " members and " << getOffsets().size()
                         << " offsets; give one per member";
  DenseSet<Attribute> known;
  for (Attribute member : getMembers())
    if (!known.insert(member).second)
      return emitOpError() << "@" << getSymName() << " holds " << member << " twice; a variable lies at one place";
  for (int64_t offset : getOffsets())
    if (offset < 0 || offset > type.getNumElements())
      return emitOpError() << "places a member at element " << offset << " of " << type.getNumElements();
  return success();
}

LogicalResult StorageOp::verifySymbolUses(SymbolTableCollection &symbols) {
  for (Attribute member : getMembers()) {
    auto symbol = dyn_cast<FlatSymbolRefAttr>(member);
    if (!symbol || !symbols.lookupNearestSymbolFrom<sbp::VariableOp>(*this, symbol))
      return emitOpError() << "holds " << member << ", which is no sbp.variable of the module";
  }
  return sbp::verifyMembersAcross(*this);
}

LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto storage = symbols.lookupNearestSymbolFrom<StorageOp>(*this, getStorageAttr());
  if (!storage)
    return emitOpError() << "names @" << getStorage() << ", but the module has no such ccl.storage";
  if (storage.getType() != getResult().getType())
    return emitOpError() << "has type " << getResult().getType() << ", but @" << getStorage() << " is "
                         << storage.getType();
  return success();
}

/// Returns the number of elements, or nothing if it is more than 2^63 - 1.
static std::optional<int64_t> elementsOf(RankedTensorType type) { return sbp::checkedBytes(sbp::shapeOf(type), 1); }

LogicalResult AssignOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto storage = symbols.lookupNearestSymbolFrom<StorageOp>(*this, getStorageAttr());
  if (!storage)
    return emitOpError() << "names @" << getStorage() << ", but the module has no such ccl.storage";
  RankedTensorType type = storage.getTensorType(), value = getValue().getType();
  if (type.getElementType() != value.getElementType())
    return emitOpError() << "assigns " << value << " to @" << getStorage() << " of " << type
                         << "; element types must agree";
  const std::optional<int64_t> held = elementsOf(type), assigned = elementsOf(value);
  const int64_t offset = getOffset();
  if (offset < 0 || !held || !assigned || offset > *held - *assigned)
    return emitOpError() << "assigns " << value << " from element " << offset << " on, but @" << getStorage() << " has "
                         << type << "; it must lie within";
  return success();
}

void ReadOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), getStorageAttr(), StorageResource::get());
}

void AssignOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), getStorageAttr(), StorageResource::get());
}

//===----------------------------------------------------------------------===//
// Views and packs
//===----------------------------------------------------------------------===//

LogicalResult ViewOp::verify() {
  RankedTensorType from = getInput().getType(), to = getResult().getType();
  int64_t offset = getOffset();
  const std::optional<int64_t> held = elementsOf(from), seen = elementsOf(to);
  if (from.getElementType() != to.getElementType() || offset < 0 || !held || !seen || offset > *held - *seen)
    return emitOpError() << "sees " << to << " at element " << offset << " of " << from << "; it must lie within";
  return success();
}

LogicalResult PackOp::verify() {
  RankedTensorType type = getResult().getType();
  if (type.getRank() != 1 || getInputs().size() != getOffsets().size())
    return emitOpError() << "packs " << getInputs().size() << " operands at " << getOffsets().size() << " offsets into "
                         << type << "; give one offset per operand and a result of one dimension";
  const std::optional<int64_t> all = elementsOf(type);
  int64_t end = 0;
  for (auto [input, offset] : llvm::zip(getInputs(), getOffsets())) {
    auto from = cast<RankedTensorType>(input.getType());
    const std::optional<int64_t> packed = elementsOf(from);
    if (from.getElementType() != type.getElementType() || offset < end || !all || !packed || offset > *all - *packed)
      return emitOpError() << "packs " << from << " at element " << offset << " of " << type << ", where " << end
                           << " are taken; operands must not overlap and must lie within";
    end = offset + *packed;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

LogicalResult GroupAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name, ArrayRef<int64_t> ranks,
                                int64_t index) {
  if (std::string fault = faultOfGroup(ranks.vec(), index); !fault.empty())
    return emitError() << "group \"" << name << "\" " << fault;
  return success();
}

LogicalResult PendingType::verify(function_ref<InFlightDiagnostic()> emitError, RankedTensorType tensor) {
  if (tensor.hasStaticShape() && tensor.getElementType().isIntOrFloat())
    return success();
  return emitError() << "the result of a collective is " << tensor
                     << "; it must have a static shape and elements that are numbers";
}

CollectiveCall splitcast::ccl::callOf(CollectiveOpInterface op) {
  GroupAttr group = op.getGroup();
  CollectiveCall call{op.getKind(), static_cast<int64_t>(group.getRanks().size()), group.getIndex(),
                      op.getBlocks().vec()};
  if (std::optional<ArrayRef<int64_t>> received = op.getReceived())
    call.received = received->vec();
  call.elementBytes = sbp::elementBytes(op.getInput().getType());
  return call;
}

WaitOp splitcast::ccl::waitOf(CollectiveOpInterface op) { return cast<WaitOp>(*op.getPending().getUsers().begin()); }

/// Verifies C2. A tensor that holds the blocks of several ranks has one
/// dimension, in which these lie one after the other; the operand and the
/// result of an all_reduce have one type.
static LogicalResult verifyTypes(CollectiveOpInterface op, const CollectiveCall &call) {
  RankedTensorType from = op.getInput().getType(), to = op.getPending().getType().getTensor();
  const CollectiveRule &rule = call.rule();
  const bool isAlike = rule.memory == Memory::InBoth;
  if (!isAlike && rule.operand != Part::OwnBlock && from.getRank() != 1)
    return op.emitOpError() << "takes " << from << "; its operand must have one dimension";
  if (!isAlike && rule.result != Part::OwnBlock && to.getRank() != 1)
    return op.emitOpError() << "gives " << to << "; its result must have one dimension";
  const int64_t input = call.elements(rule.operand), result = call.elements(rule.result);
  if (elementsOf(from) != input || elementsOf(to) != result || from.getElementType() != to.getElementType())
    return op.emitOpError() << "turns " << from << " into " << to << ", but its blocks give " << input
                            << " elements and " << result;
  if (isAlike && from != to)
    return op.emitOpError() << "turns " << from << " into " << to << "; both must have one type";
  return success();
}

LogicalResult splitcast::ccl::verifyCollective(Operation *collective) {
  auto op = cast<CollectiveOpInterface>(collective);
  const CollectiveCall call = callOf(op);
  if (std::string fault = call.fault(); !fault.empty())
    return op.emitOpError() << fault;
  if (failed(verifyTypes(op, call)))
    return failure();
  if (Type element = op.getInput().getType().getElementType(); call.rule().adds && !isa<FloatType>(element))
    return op.emitOpError() << "adds elements of type " << element << "; ranks can add up floats only";
  return success();
}

LogicalResult WaitOp::verify() {
  if (getPending().getType().getTensor() != getResult().getType())
    return emitOpError() << "gives " << getResult().getType() << " where " << getPending().getType().getTensor()
                         << " is pending";
  if (!getPending().hasOneUse())
    return emitOpError()
           << "waits for a collective that something else uses, too; wait for it once, and use the result";
  return success();
}
