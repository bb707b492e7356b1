#include "compiler/language_server/Hover.h"

#include "compiler/language_server/InWords.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace splitcast {
namespace {

struct OpSummary {
  llvm::StringLiteral op, summary;
};

constexpr OpSummary kSummaries[] = {
#include "compiler/language_server/OpSummaries.inc"
};

/// Joins the parts that are not empty as separate paragraphs.
std::string joined(std::initializer_list<std::string> parts) {
  std::string text;
  for (const std::string &part : parts)
    if (!part.empty())
      text += (text.empty() ? "" : "\n") + part;
  return text;
}

/// Whether the accessors of the op can be called: hover texts are also shown
/// for modules that do not verify.
bool isSound(mlir::Operation *op) {
  DropDiagnostics silence(op->getContext());
  return succeeded(mlir::verify(op, /*verifyRecursively=*/false));
}

std::string summaryOf(mlir::Operation *op) {
  const llvm::StringRef name = op->getName().getStringRef();
  const auto *known = llvm::find_if(kSummaries, [&](const OpSummary &entry) { return entry.op == name; });
  return known == std::end(kSummaries) ? "" : known->summary.str() + "\n";
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

std::string kindOf(sbp::VariableOp variable) {
  if (variable.getStateOf())
    return llvm::formatv("state `{0}` of `@{1}`", variable.getRole().value_or(""), *variable.getStateOf());
  if (variable.getCarried())
    return "carried from one run of a schedule to a later one";
  return variable.getFrozen() ? "frozen: no step updates it" : "a parameter";
}

/// The variable whose policy applies: that of a state is its parameter's.
sbp::VariableOp decidedAs(sbp::VariableOp variable, mlir::ModuleOp module) {
  if (!variable.getStateOf())
    return variable;
  auto parameter = module.lookupSymbol<sbp::VariableOp>(*variable.getStateOf());
  return parameter && isSound(parameter) ? parameter : variable;
}

std::string policyText(sbp::VariableOp variable) {
  auto module = variable->getParentOfType<mlir::ModuleOp>();
  DropDiagnostics silence(variable->getContext());
  sbp::GroupPolicies groups;
  for (sbp::GroupOp group : module.getOps<sbp::GroupOp>())
    if (isSound(group))
      (void)groups.add(group); // if two ops configure one group, the first
  const sbp::Policy policy = groups.policyOf(decidedAs(variable, module));
  if (policy.isEmpty())
    return "Policy: `enable-zero` decides everything\n";
  return "Policy: " + sbp::toString(policy) + "; `enable-zero` decides the rest\n";
}

std::string groupText(sbp::VariableOp variable) {
  return llvm::formatv("Group: \"{0}\"{1}\n", variable.getGroupOrPrefix(),
                       variable.getGroup() ? "" : ", from its name");
}

/// The layout in `signature`, under `title`; empty if it is the layout that the
/// graph reads.
std::string layoutText(llvm::StringRef title, sbp::VariableOp variable, std::optional<sbp::NdAttr> signature) {
  if (!signature || *signature == variable.getLogical())
    return "";
  return title.str() + "\n" + layoutInWords(variable.getTensorType(), *signature);
}

std::string variableText(sbp::VariableOp variable) {
  if (!isSound(variable))
    return "";
  const bool isMoved = variable.getStorage() && *variable.getStorage() != variable.getLogical();
  return joined({llvm::formatv("Variable `@{0}`, {1}\n", variable.getSymName(), kindOf(variable)),
                 (isMoved ? "As the graph reads it: " : "") + inWords(variable.getType()),
                 layoutText("As it is stored:", variable, variable.getStorage()),
                 layoutText("As its gradient and update are computed:", variable, variable.getUpdate()),
                 groupText(variable), policyText(variable)});
}

/// Text about the variable that the op defines, reads or assigns; empty for any
/// other op.
std::string variableOf(mlir::Operation *op) {
  if (auto variable = mlir::dyn_cast<sbp::VariableOp>(op))
    return variableText(variable);
  if (!mlir::isa<sbp::ReadOp, sbp::AssignOp>(op) || !isSound(op))
    return "";
  auto symbol = op->getAttrOfType<mlir::FlatSymbolRefAttr>("variable");
  auto variable = mlir::SymbolTable::lookupNearestSymbolFrom<sbp::VariableOp>(op, symbol);
  return variable ? variableText(variable) : "";
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

std::string makerOf(mlir::OpResult result) {
  mlir::Operation *op = result.getOwner();
  const std::string number =
      op->getNumResults() == 1 ? "Result" : llvm::formatv("Result {0}", result.getResultNumber()).str();
  return llvm::formatv("{0} of `{1}`\n", number, op->getName());
}

std::string makerOf(mlir::BlockArgument argument) {
  mlir::Operation *parent = argument.getOwner()->getParentOp();
  const unsigned number = argument.getArgNumber();
  auto function = mlir::dyn_cast<mlir::FunctionOpInterface>(parent);
  if (!function || !argument.getOwner()->isEntryBlock())
    return llvm::formatv("Argument {0} of a block of `{1}`\n", number, parent->getName());
  std::string text = llvm::formatv("Argument {0} of `@{1}`", number, function.getName());
  if (number < function.getNumArguments()) // the block of an op that does not verify may have more
    if (auto name = function.getArgAttrOfType<mlir::StringAttr>(number, "sbp.name"))
      text += ", input \"" + name.getValue().str() + "\"";
  return text + "\n";
}

std::string valueText(mlir::Value value) {
  auto result = mlir::dyn_cast<mlir::OpResult>(value);
  std::string maker = result ? makerOf(result) : makerOf(mlir::cast<mlir::BlockArgument>(value));
  return joined({maker, inWords(value.getType()), result ? reasonInWords(result.getOwner()->getLoc()) : ""});
}

std::string aliasText(mlir::Attribute attribute) {
  if (auto signature = mlir::dyn_cast_or_null<sbp::NdAttr>(attribute))
    return "Signature on " + inWords(signature.getPlacement()) + "\n" + inWords(signature);
  if (auto placement = mlir::dyn_cast_or_null<sbp::PlacementAttr>(attribute))
    return "Placement on " + inWords(placement) + "\n";
  return attribute ? "`" + textOf(attribute) + "`\n" : "";
}

} // namespace

std::string hoverText(const Named &named) {
  switch (named.kind) {
  case Named::Kind::Op:
    return joined({llvm::formatv("`{0}`\n", named.op->getName()), summaryOf(named.op), variableOf(named.op),
                   reasonInWords(named.op->getLoc())});
  case Named::Kind::Symbol: {
    std::string variable = variableOf(named.op);
    if (!variable.empty())
      return variable;
    return joined({llvm::formatv("`{0}`\n", named.op->getName()), summaryOf(named.op)});
  }
  case Named::Kind::Value: {
    std::string text;
    for (mlir::Value value : named.values)
      text += (text.empty() ? "" : "\n") + valueText(value);
    return text;
  }
  case Named::Kind::Attribute:
    return aliasText(named.attribute);
  case Named::Kind::Type:
    return named.type ? inWords(named.type) : "";
  case Named::Kind::Block:
    break;
  }
  return "";
}

} // namespace splitcast
