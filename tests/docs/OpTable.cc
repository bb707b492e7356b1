// op_table FILE.mlir: the table of ops in docs/ops.md, from what the ops of the file say of themselves: of each the
// first that has a gradient, or the first. Exits with 1 when an op that computes has no instance there.
#include "compiler/Pipelines.h"
#include "dialects/nn/Nn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace splitcast;

namespace {

constexpr int64_t kRanks = 2;

std::string entriesText(const std::vector<sbp::Sbp> &entries) {
  std::string text;
  for (const sbp::Sbp &entry : entries)
    text += (text.empty() ? "" : ", ") + sbp::toString(entry);
  return text;
}

std::string shapesText(TypeRange types) {
  std::string text;
  for (Type type : types) {
    text += text.empty() ? "" : ", ";
    auto tensor = cast<RankedTensorType>(type);
    for (int64_t extent : tensor.getShape())
      text += std::to_string(extent) + "x";
    llvm::raw_string_ostream(text) << tensor.getElementType();
  }
  return text;
}

/// Each legal row along one axis, and whether a slot of a bucket is one.
std::string signaturesText(sbp::ShardingOpInterface op) {
  sbp::LoopSpec spec = op.getLoopSpec();
  std::string text;
  for (const sbp::OpSignature &row : sbp::deriveSignatures(spec, kRanks))
    text += (text.empty() ? "" : "<br>") + entriesText(row.operands) + (row.operands.empty() ? "" : " ") + "→ " +
            entriesText(row.results);
  if (!sbp::flatSignature(spec, {"b", 0, 64}).results.empty())
    text += "<br>slots of a bucket";
  return text;
}

bool hasGradient(Operation *op) {
  return isa<nn::GradientOpInterface>(op) &&
         llvm::any_of(op->getOperandTypes(), [](Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); });
}

/// The ops that the gradients are made of.
std::string gradientText(Operation *op) {
  auto differentiable = dyn_cast<nn::GradientOpInterface>(op);
  if (!differentiable)
    return "none";
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  SmallVector<Value> gradients(op->getResults());
  SmallVector<bool> needed;
  for (Value operand : op->getOperands())
    needed.push_back(isa<FloatType>(getElementTypeOrSelf(operand.getType())));
  Operation *end = op->getNextNode();
  differentiable.buildGradient(builder, gradients, needed);
  llvm::SetVector<StringRef> made;
  for (Operation *next = op->getNextNode(); next != end; next = next->getNextNode())
    made.insert(next->getName().stripDialect());
  return made.empty() ? "itself" : llvm::join(made, ", ");
}

void printRow(Operation *op) {
  auto compute = cast<nn::ComputeOpInterface>(op);
  std::optional<nn::LibraryCall> call = compute.getLibraryCall();
  llvm::outs() << "| `" << op->getName() << "` | " << shapesText(op->getOperandTypes())
               << (op->getNumOperands() ? " " : "") << "→ " << shapesText(op->getResultTypes()) << " | "
               << signaturesText(cast<sbp::ShardingOpInterface>(op)) << " | " << gradientText(op) << " | "
               << (call ? "library" : "kernel") << " | " << compute.getFlops() << " |\n";
}

} // namespace

int main(int argc, char **argv) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto module = argc == 2 ? parseSourceFile<ModuleOp>(argv[1], &context) : OwningOpRef<ModuleOp>();
  if (!module)
    return 1;
  llvm::MapVector<StringRef, Operation *> shown;
  module->walk([&](nn::ComputeOpInterface op) {
    Operation *&instance = shown[op->getName().getStringRef()];
    if (!instance || (!hasGradient(instance) && hasGradient(op)))
      instance = op;
  });
  llvm::outs() << "| op | example | signatures along an axis | gradient is made of | runs as | FLOPs "
                  "|\n|---|---|---|---|---|---|\n";
  for (auto [name, op] : shown)
    printRow(op);
  int missing = 0;
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (name.hasInterface<nn::ComputeOpInterface>() && !shown.contains(name.getStringRef())) {
      llvm::errs() << argv[1] << ": has no '" << name.getStringRef() << "'; add one\n";
      ++missing;
    }
  return missing ? 1 : 0;
}
