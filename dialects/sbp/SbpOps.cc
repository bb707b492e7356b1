// Verifiers, effects and folding of the ops.
#include "dialects/sbp/Sbp.h"
#include "dialects/sbp/algebra/Sizes.h"

#include "mlir/IR/PatternMatch.h"

#include <cmath>

using namespace mlir;
using namespace splitcast::sbp;

//===----------------------------------------------------------------------===//
// Phases of scopes: "backward"
//===----------------------------------------------------------------------===//

StringRef splitcast::sbp::nameOf(Phase phase) {
  switch (phase) {
  case Phase::Forward:
    return "forward";
  case Phase::Backward:
    return "backward";
  case Phase::Update:
    return "update";
  }
  return "";
}

static ParseResult parsePhase(AsmParser &parser, PhaseAttr &phase) {
  SMLoc loc = parser.getCurrentLocation();
  std::string name;
  if (parser.parseString(&name))
    return failure();
  for (Phase known : {Phase::Forward, Phase::Backward, Phase::Update})
    if (name == nameOf(known)) {
      phase = PhaseAttr::get(parser.getContext(), known);
      return success();
    }
  return parser.emitError(loc) << "has phase \"" << name << "\"; phases are \"forward\", \"backward\" and \"update\"";
}

static void printPhase(OpAsmPrinter &printer, Operation *, PhaseAttr phase) {
  printer << '"' << nameOf(phase.getValue()) << '"';
}

Attribute PhaseAttr::parse(AsmParser &parser, Type) {
  PhaseAttr phase;
  if (parser.parseLess() || parsePhase(parser, phase) || parser.parseGreater())
    return {};
  return phase;
}

void PhaseAttr::print(AsmPrinter &printer) const { printer << "<\"" << nameOf(getValue()) << "\">"; }

#define GET_OP_CLASSES
#include "dialects/sbp/SbpOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

void VariableOp::build(OpBuilder &builder, OperationState &state, StringRef name, Type type, Attribute init,
                       StringRef group) {
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.sym_name = builder.getStringAttr(name);
  properties.type = TypeAttr::get(type);
  properties.init = init;
  if (!group.empty())
    properties.group = builder.getStringAttr(group);
}

NdAttr VariableOp::getLogical() { return signatureOf(getType()); }

RankedTensorType VariableOp::getStorageType() { return withSignature(getType(), getStorageOrLogical()); }

StringRef VariableOp::getGroupOrPrefix() {
  if (std::optional<StringRef> group = getGroup())
    return *group;
  auto [prefix, last] = getSymName().rsplit('.');
  return prefix;
}

/// Verifies that a flat split uses the slot of the variable, and that the slot
/// has room for the piece of every rank.
static LogicalResult verifySlot(VariableOp op) {
  SlotAttr slot = op.getSlotAttr();
  RankedTensorType type = op.getTensorType();
  std::pair<StringRef, NdAttr> signatures[] = {{"type", op.getLogical()},
                                               {"storage", op.getStorage().value_or(NdAttr())},
                                               {"update", op.getUpdate().value_or(NdAttr())}};
  auto emitError = [&] { return op.emitOpError() << "@" << op.getSymName() << " "; };
  for (const std::pair<StringRef, NdAttr> &named : signatures) {
    if (!named.second)
      continue;
    for (EntryAttr entry : named.second.getEntries())
      if (entry.getSlot() && entry.getSlot() != slot)
        return emitError() << named.first << " " << toString(named.second.toAlgebra())
                           << " is split as a slot that is not the variable's; write 'slot " << entry.getSlot()
                           << "', or split by a dimension";
    if (slot && failed(verifyRoom(slot, type.getShape(), type.getElementType(), named.second, emitError)))
      return failure();
  }
  if (slot && !op.getLogical())
    return verifyRoom(slot, type.getShape(), type.getElementType(), {}, emitError);
  return success();
}

/// Verifies that an integer variable holds the constant exactly. The value is a
/// double, as in nn.constant, and doubles hold integers up to 2^53 exactly.
static LogicalResult verifyConstant(VariableOp op, ConstantInitAttr init) {
  const double value = init.getValue().getValueAsDouble();
  Type element = op.getTensorType().getElementType();
  const double limit = element.isInteger(32) ? 0x1p31 : 0x1p53;
  if (!element.isInteger() || (value == std::trunc(value) && value >= -limit && value < limit))
    return success();
  return op.emitOpError() << "@" << op.getSymName() << " has initializer " << init << ", which " << element
                          << " does not hold exactly; give an integer from -2^" << (element.isInteger(32) ? 31 : 53)
                          << " to before 2^" << (element.isInteger(32) ? 31 : 53);
}

/// Verifies that random elements are floats, from a range or distribution that
/// exists.
static LogicalResult verifyDrawn(VariableOp op, Attribute init) {
  auto error = [&] { return op.emitOpError() << "@" << op.getSymName() << " has initializer " << init; };
  Type element = op.getTensorType().getElementType();
  if (element.isInteger())
    return error() << ", which makes no elements of type " << element << "; use #sbp.constant or #sbp.file";
  auto number = [](FloatAttr attr) { return attr.getValueAsDouble(); };
  if (auto normal = dyn_cast<NormalInitAttr>(init))
    if (!std::isfinite(number(normal.getMean())) || !std::isfinite(number(normal.getStddev())) ||
        number(normal.getStddev()) < 0)
      return error() << "; give a finite mean, and a finite stddev that is not negative";
  if (auto uniform = dyn_cast<UniformInitAttr>(init))
    if (!std::isfinite(number(uniform.getHigh()) - number(uniform.getLow())) ||
        number(uniform.getLow()) > number(uniform.getHigh()))
      return error() << "; give two finite numbers, less than 2^1024 apart, the first not above the second";
  return success();
}

static LogicalResult verifyInitializer(VariableOp op) {
  Attribute init = op.getInitAttr();
  if (!init || isa<FileInitAttr>(init))
    return success();
  if (auto constant = dyn_cast<ConstantInitAttr>(init))
    return verifyConstant(op, constant);
  if (isa<NormalInitAttr, UniformInitAttr>(init))
    return verifyDrawn(op, init);
  return op.emitOpError() << "has initializer " << init
                          << "; it must be #sbp.constant, #sbp.normal, #sbp.uniform or #sbp.file";
}

static LogicalResult verifyName(VariableOp op) {
  if (op.getSymName().empty())
    return op.emitOpError() << "has no name; give it one";
  if (op.getSymName().contains('\0'))
    return op.emitOpError() << "has a zero byte in its name; leave it out";
  return success();
}

LogicalResult VariableOp::verify() {
  RankedTensorType type = getTensorType();
  if (failed(verifyName(*this)))
    return failure();
  if (!type.hasStaticShape())
    return emitOpError() << "has type " << type << "; a variable must have a static shape";
  Type element = type.getElementType();
  if (!checkedBytes(shapeOf(type), elementBytes(type)))
    return emitOpError() << "@" << getSymName() << " has type " << type << ", which is more than " << kMostBytesText
                         << "; make it smaller";
  bool isKnown = element.isF16() || element.isBF16() || element.isF32() || element.isF64() || element.isInteger(32) ||
                 element.isInteger(64);
  if (!isKnown)
    return emitOpError() << "has type " << type << "; its elements may be f16, bf16, f32, f64, i32 or i64";
  NdAttr logical = getLogical();
  std::pair<StringRef, NdAttr> signatures[] = {
      {"type", logical}, {"storage", getStorage().value_or(NdAttr())}, {"update", getUpdate().value_or(NdAttr())}};
  for (const std::pair<StringRef, NdAttr> &named : signatures) {
    StringRef what = named.first;
    NdAttr signature = named.second;
    if (!signature)
      continue;
    if (!logical || signature.getPlacement() != logical.getPlacement())
      return emitOpError() << what << " is on another placement than the type; put both on one";
    if (signature.hasPartial() && (!isCarriedAlone() || signature != logical))
      return emitOpError() << what << " " << toString(signature.toAlgebra())
                           << " has P; a stored variable must be S or B; only the type of a carried variable that is "
                              "no state may be P";
    if (failed(signature.verifyEncoding(type.getShape(), type.getElementType(),
                                        [&] { return emitOpError() << what << ": "; })))
      return failure();
  }
  if (failed(verifyInitializer(*this)))
    return failure();
  if (getStateOf() && !getRole())
    return emitOpError() << "is state of @" << *getStateOf() << " but has no role; say which (\"exp_avg\", ...)";
  if (getRole() && !getStateOf())
    return emitOpError() << "@" << getSymName() << " has role \"" << *getRole() << "\" but is no state; say of which "
                         << "variable (state_of), or drop the role";
  if (getRole() && (*getRole() == kParameterRole || getRole()->contains('.')))
    return emitOpError()
           << "@" << getSymName() << " has role \"" << *getRole()
           << "\"; a role must not be \"parameter\", which stands for the variable itself, and must have no dot";
  if (failed(verifySlot(*this)))
    return failure();
  if (getStateOf() && getPolicyAttr())
    return emitOpError() << "@" << getSymName() << " has a policy, but is state of @" << *getStateOf()
                         << ", whose policy applies to both; set it there";
  if (getCarried() && getInitAttr())
    return emitOpError() << "@" << getSymName()
                         << " is carried from run to run of a schedule, which assigns it first, but "
                         << "has initializer " << getInitAttr() << "; drop one of the two";
  if (getAsMade() && (!isCarriedAlone() || logical))
    return emitOpError() << "@" << getSymName() << " has 'as_made', but "
                         << (logical        ? "has a signature"
                             : getStateOf() ? "is state"
                                            : "is not carried")
                         << "; only a carried variable without a signature that is no state may have it";
  return success();
}

LogicalResult VariableOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!getStateOf())
    return success();
  auto owner = symbols.lookupNearestSymbolFrom<VariableOp>(*this, getStateOfAttr());
  if (!owner)
    return emitOpError() << "@" << getSymName() << " is state of @" << *getStateOf()
                         << ", but the module has no such sbp.variable";
  if (owner.getStateOf())
    return (emitOpError() << "@" << getSymName() << " is state of @" << *getStateOf()
                          << ", which is state itself; name the parameter")
               .attachNote(owner.getLoc())
           << "declared here";
  if (getSlotAttr() && owner.getTensorType().getShape() != getTensorType().getShape())
    return (emitOpError() << "@" << getSymName() << " has a slot and type " << getType() << ", but it is state of @"
                          << *getStateOf() << ", which is " << owner.getType()
                          << "; give it the same shape, or no slot")
               .attachNote(owner.getLoc())
           << "declared here";
  return success();
}

/// Verifies that a read or an assign agrees with its variable.
template <typename OpTy>
static LogicalResult verifyVariableUse(OpTy op, SymbolTableCollection &symbols, RankedTensorType type) {
  auto variable = symbols.lookupNearestSymbolFrom<VariableOp>(op, op.getVariableAttr());
  if (!variable)
    return op.emitOpError() << "names @" << op.getVariable() << ", but the module has no such sbp.variable";
  RankedTensorType declared = variable.getTensorType();
  if (declared.getShape() != type.getShape() || declared.getElementType() != type.getElementType())
    return (op.emitOpError() << "has type " << type << ", but @" << op.getVariable() << " is " << declared
                             << "; shape and element type must be the same")
               .attachNote(variable.getLoc())
           << "declared here";
  NdAttr signature = signatureOf(type);
  if (signature && !variable.getAsMade() && signature != variable.getLogical() &&
      signature != variable.getStorageOrLogical())
    return op.emitOpError() << "has signature " << toString(signature.toAlgebra()) << ", but @" << op.getVariable()
                            << " is read and assigned in its logical or its storage signature; box the value";
  return success();
}

LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyVariableUse(*this, symbols, getResult().getType());
}

LogicalResult AssignOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyVariableUse(*this, symbols, getValue().getType());
}

void ReadOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), getVariable()); }

void ReadOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), getVariableAttr(), VariableResource::get());
}

void AssignOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), getVariableAttr(), VariableResource::get());
}

//===----------------------------------------------------------------------===//
// Boxing
//===----------------------------------------------------------------------===//

LogicalResult BoxingOp::verify() {
  RankedTensorType in = getInput().getType(), out = getOutput().getType();
  if (in.getShape() != out.getShape() || in.getElementType() != out.getElementType())
    return emitOpError() << "turns " << in << " into " << out << "; shape and element type must stay";
  NdAttr from = signatureOf(in), to = signatureOf(out);
  if (!to)
    return emitOpError() << "has a result without a signature; say which one it asks for";
  if (failed(to.verifyEncoding(out.getShape(), out.getElementType(), [&] { return emitOpError() << "result: "; })))
    return failure();
  if (SlotAttr slot = getBucketAttr())
    if (failed(verifyRoom(slot, out.getShape(), out.getElementType(), to, [&] { return emitOpError(); })))
      return failure();
  if (!from)
    return success();
  if (from.getPlacement() != to.getPlacement())
    return emitOpError() << "changes the placement; input and output must be on one";
  if (!isLegalBoxing(from.toAlgebra(), to.toAlgebra()))
    return emitOpError() << "turns " << toString(from.toAlgebra()) << " into " << toString(to.toAlgebra())
                         << "; only an op that sums makes P: keep B or S";
  return success();
}

OpFoldResult BoxingOp::fold(FoldAdaptor) {
  if (getInput().getType() == getOutput().getType())
    return getInput();
  auto inner = getInput().getDefiningOp<BoxingOp>();
  // The two boxings cancel out. A reduction is never undone in this way: its
  // input has addends, and no boxing makes these.
  if (inner && inner.getInput().getType() == getOutput().getType())
    return inner.getInput();
  return {};
}

namespace {

/// Merges two boxings in a row if nothing else uses the value between them, so
/// that the cheapest steps from end to end are planned.
struct ComposeBoxings : OpRewritePattern<BoxingOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BoxingOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<BoxingOp>();
    if (!inner || !inner->hasOneUse() || !signatureOf(inner.getInput()))
      return failure();
    auto bucket = op.getBucketAttr() ? op.getBucketAttr() : inner.getBucketAttr();
    rewriter.replaceOpWithNewOp<BoxingOp>(op, op.getType(), inner.getInput(), bucket);
    return success();
  }
};

} // namespace

void BoxingOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<ComposeBoxings>(context);
}

//===----------------------------------------------------------------------===//
// Scopes and fences
//===----------------------------------------------------------------------===//

LogicalResult ScopeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (getVariable() && !symbols.lookupNearestSymbolFrom<VariableOp>(*this, getVariableAttr()))
    return emitOpError() << "names @" << *getVariable() << ", but the module has no such sbp.variable";
  if (getVariable() && getPhase().getValue() != Phase::Update)
    return emitOpError() << "names @" << *getVariable() << " in phase \"" << nameOf(getPhase().getValue())
                         << "\"; a variable is updated in phase \"update\"";
  return success();
}

/// Returns the loop spec of an op whose result is its operand.
static LoopSpec identitySpec(RankedTensorType type) {
  LoopSpec spec;
  TensorFactors dims;
  for (int64_t extent : type.getShape())
    dims.push_back({spec.addFactor(extent)});
  spec.operands = {dims};
  spec.results = {dims};
  spec.anyShape = true;
  spec.linear = {{{0}, {}}};
  return spec;
}

LoopSpec FenceOp::getLoopSpec() { return identitySpec(getInput().getType()); }

LoopSpec ColocateOp::getLoopSpec() { return identitySpec(getInput().getType()); }

void ColocateOp::build(OpBuilder &builder, OperationState &state, Value input, Value beside) {
  build(builder, state, withSignature(input.getType(), nullptr), input, beside);
}

LogicalResult ColocateOp::verify() {
  RankedTensorType in = getInput().getType(), out = getOutput().getType();
  if (in.getShape() != out.getShape() || in.getElementType() != out.getElementType())
    return emitOpError() << "turns " << in << " into " << out << "; shape and element type must stay";
  if (out.getEncoding())
    return emitOpError()
           << "has a result of type " << out
           << ", but 'sbp-propagate' decides its signature; leave it out, or move the value with sbp.boxing";
  return success();
}
