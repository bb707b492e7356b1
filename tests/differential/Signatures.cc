#include "tests/differential/Signatures.h"

#include "dialects/exec/Exec.h"
#include "tests/reference/Layout.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "absl/strings/str_cat.h"

using namespace mlir;

namespace splitcast::differential {

using reference::Tensor;

namespace {

absl::Status missing(const std::string &function) {
  return absl::NotFoundError(absl::StrCat("the module has no function @", function));
}

RankedTensorType typeIn(Attribute attribute) { return cast<RankedTensorType>(cast<TypeAttr>(attribute).getValue()); }

} // namespace

absl::StatusOr<FunctionSignature> signatureOfLocal(ModuleOp module, const std::string &name) {
  auto function = module.lookupSymbol<func::FuncOp>(name);
  if (!function)
    return missing(name);
  FunctionSignature signature;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    signature.inputs.push_back(typeIn(function.getArgAttr(i, "ccl.global")));
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    signature.outputs.push_back(typeIn(function.getResultAttr(i, "ccl.global")));
  return signature;
}

absl::StatusOr<FunctionSignature> signatureOfPlan(ModuleOp module, const std::string &name) {
  auto plan = module.lookupSymbol<exec::PlanOp>(name);
  if (!plan)
    return missing(name);
  FunctionSignature signature;
  for (Attribute type : plan.getInputTypes())
    signature.inputs.push_back(typeIn(type));
  for (Attribute type : plan.getOutputTypes())
    signature.outputs.push_back(typeIn(type));
  return signature;
}

absl::StatusOr<std::vector<Tensor>> cutToRanks(const Tensor &whole, RankedTensorType type) {
  sbp::NdAttr signature = sbp::signatureOf(type);
  sbp::Placement placement = signature.getPlacement().toAlgebra();
  absl::StatusOr<std::vector<Tensor>> pieces = reference::cut(whole, signature.toAlgebra(), placement);
  if (!pieces.ok())
    return pieces.status();
  std::vector<Tensor> byRank(pieces->size());
  for (size_t position = 0; position < pieces->size(); ++position)
    byRank[reference::rankAt(placement, position)] = std::move((*pieces)[position]);
  return byRank;
}

absl::StatusOr<Tensor> assembleFromRanks(std::vector<Tensor> byRank, RankedTensorType type) {
  sbp::NdAttr signature = sbp::signatureOf(type);
  sbp::Placement placement = signature.getPlacement().toAlgebra();
  std::vector<Tensor> pieces;
  for (size_t position = 0; position < byRank.size(); ++position)
    pieces.push_back(std::move(byRank[reference::rankAt(placement, position)]));
  return reference::assemble(std::move(pieces), sbp::shapeOf(type), signature.toAlgebra(), placement,
                             reference::Precision::F32);
}

} // namespace splitcast::differential
