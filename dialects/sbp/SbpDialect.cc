#include "dialects/sbp/Sbp.h"

#include "dialects/sbp/ValueNames.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace splitcast::sbp;

#include "dialects/sbp/SbpDialect.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/sbp/SbpTypes.cpp.inc"

namespace {

/// Aliases keep the text readable: #cpu_dp4_ for the placement, #S0_ or #B for a signature. A name that ends in a digit
/// would get a number appended by the printer, hence the underscores.
struct AliasInterface : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attr, raw_ostream &os) const override {
    if (auto placement = dyn_cast<PlacementAttr>(attr)) {
      os << placement.getDeviceKind().getValue();
      for (auto [name, size] : llvm::zip(placement.getAxisNames(), placement.getAxisSizes()))
        os << '_' << name.getValue() << size;
      os << '_';
      return AliasResult::FinalAlias;
    }
    if (auto policy = dyn_cast<PolicyAttr>(attr))
      return printAlias(policy.getPolicy(), os);
    if (auto signature = dyn_cast<NdAttr>(attr)) {
      llvm::interleave(signature.toAlgebra(), os, [&](const Sbp &sbp) { printAlias(sbp, os); }, "_");
      return AliasResult::FinalAlias;
    }
    return AliasResult::NoAlias;
  }

  /// Prints an alias for a policy that passes have completed. A policy that a
  /// user wrote has none, so that it is printed where it was written.
  static AliasResult printAlias(const Policy &policy, raw_ostream &os) {
    if (!llvm::all_of(decisionInfos(), [&](const DecisionInfo &info) { return policy.get(info.decision); }))
      return AliasResult::NoAlias;
    for (const DecisionInfo &info : decisionInfos())
      if (info.decision == Decision::Stage || info.decision == Decision::Strategy)
        os << info.name << '_' << info.toString(*policy.get(info.decision)) << '_';
    return AliasResult::FinalAlias;
  }

  static void printAlias(const Sbp &sbp, raw_ostream &os) {
    if (sbp.isSplit())
      os << 'S' << sbp.dim << (sbp.unit == 1 ? "" : "by" + std::to_string(sbp.unit))
         << (sbp.ends.empty() ? "_" : "to_");
    else if (sbp.isFlat())
      os << "S_" << sbp.slot.bucket << '_' << sbp.slot.offset << '_';
    else if (sbp.isAt())
      os << "At" << sbp.dim << '_';
    else
      os << toString(sbp);
  }
};

/// Allows inlining of all ops: what they mean depends only on their operands
/// and attributes.
struct InlineAnywhere : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const override { return true; }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const override { return true; }
};

} // namespace

void *SbpDialect::getRegisteredInterfaceForOp(TypeID interface, OperationName) {
  return sbp::namesFromLocations(interface);
}

void SbpDialect::initialize() {
  registerAttributes();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/sbp/SbpTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/sbp/SbpOps.cpp.inc"
      >();
  addInterfaces<AliasInterface, InlineAnywhere>();
}

namespace splitcast::sbp {

NdAttr signatureOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<NdAttr>(tensor.getEncoding()) : NdAttr();
}

RankedTensorType withSignature(Type type, NdAttr signature) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType(), signature);
}

RankedTensorType localType(RankedTensorType type, ArrayRef<int64_t> coordinates) {
  NdAttr signature = signatureOf(type);
  if (!signature)
    return type;
  Shape shape =
      localShape(shapeOf(type), signature.toAlgebra(), signature.getPlacement().toAlgebra(), coordinates.vec());
  return RankedTensorType::get(shape, type.getElementType());
}

int64_t elementBytes(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (!element.isIntOrFloat()) // no op computes with it, and no variable has it
    return 1;
  return std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
}

Shape shapeOf(Type type) { return cast<ShapedType>(type).getShape().vec(); }

PlacementAttr placementOf(ModuleOp module) {
  if (auto placement = module->getAttrOfType<PlacementAttr>("sbp.placement"))
    return placement;
  for (auto variable : module.getOps<VariableOp>())
    if (NdAttr signature = variable.getLogical())
      return signature.getPlacement();
  for (auto function : module.getOps<FunctionOpInterface>())
    for (Type type : llvm::concat<const Type>(function.getArgumentTypes(), function.getResultTypes()))
      if (NdAttr signature = signatureOf(type))
        return signature.getPlacement();
  return {};
}

bool isPlaceAlone(OpOperand &operand) {
  auto colocate = dyn_cast<ColocateOp>(operand.getOwner());
  return colocate && &operand == &colocate.getBesideMutable();
}

SmallVector<Value> tensorOperands(Operation *op) {
  SmallVector<Value> tensors;
  for (OpOperand &operand : op->getOpOperands())
    if (isa<RankedTensorType>(operand.get().getType()) && !isPlaceAlone(operand))
      tensors.push_back(operand.get());
  return tensors;
}

} // namespace splitcast::sbp
