#include "runtime/host/jit/JitKernelSource.h"

#include "dialects/exec/Divisible.h"
#include "runtime/api/ElementTypeFromIr.h"
#include "runtime/api/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

namespace splitcast::runtime {
namespace {

constexpr llvm::StringLiteral kDialects[] = {"func", "scf", "cf", "arith", "math", "memref", "vector"};
constexpr char kWorkspaceAttribute[] = "splitcast.workspace";

template <typename T> std::string printed(T value) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << value;
  return text;
}

template <typename... Parts> absl::Status invalid(mlir::func::FuncOp kernel, const Parts &...parts) {
  return absl::InvalidArgumentError(absl::StrCat("kernel @", kernel.getName().str(), ": ", parts...));
}

/// Returns the functions and globals that `root` reaches, root first, in the
/// order in which they are met.
absl::StatusOr<llvm::SetVector<mlir::Operation *>> reachedFrom(mlir::func::FuncOp root, mlir::ModuleOp module) {
  llvm::SetVector<mlir::Operation *> reached;
  reached.insert(root);
  for (size_t i = 0; i < reached.size(); ++i) {
    auto uses = mlir::SymbolTable::getSymbolUses(reached[i]);
    if (!uses)
      return invalid(root, "holds an op of an unknown dialect, so it is not known which symbols it uses");
    for (const mlir::SymbolTable::SymbolUse &use : *uses) {
      mlir::Operation *symbol = mlir::SymbolTable::lookupSymbolIn(module, use.getSymbolRef());
      if (!symbol)
        return invalid(root, "uses ", printed(use.getSymbolRef()), ", which the module does not have");
      reached.insert(symbol);
    }
  }
  return reached;
}

bool touchesBits(mlir::Operation *op) {
  return llvm::any_of(op->getOperandTypes(), [](mlir::Type type) {
    auto memref = llvm::dyn_cast<mlir::MemRefType>(type);
    return memref && memref.getElementType().isSignlessInteger(1);
  });
}

absl::Status checkOp(mlir::func::FuncOp kernel, mlir::Operation *op) {
  std::string name = op->getName().getStringRef().str();
  llvm::StringRef dialect = op->getName().getDialectNamespace();
  if (!llvm::is_contained(kDialects, dialect))
    return invalid(kernel, "holds '", name, "'; lower it to func, scf, cf, arith, math, memref and vector first");
  if (auto math = llvm::dyn_cast<mlir::arith::ArithFastMathInterface>(op))
    if (auto flags = math.getFastMathFlagsAttr(); flags && flags.getValue() != mlir::arith::FastMathFlags::none)
      return invalid(kernel, "'", name, "' carries ", printed(mlir::Attribute(flags)),
                     "; kernels are compiled without fast math, since bits would depend on the vector width");
  if (dialect == "vector" && touchesBits(op))
    return invalid(kernel, "'", name,
                   "' moves vectors of i1, which lie packed, while a memref of i1 has one byte per element; use "
                   "memref.load and memref.store, or i8");
  bool resource = false;
  op->getAttrDictionary().walk([&](mlir::DenseResourceElementsAttr) { resource = true; });
  if (resource)
    return invalid(kernel, "'", name, "' holds a dense_resource; write the constant as dense<...>");
  return absl::OkStatus();
}

absl::StatusOr<int64_t> argumentBytesOf(mlir::func::FuncOp kernel, unsigned index) {
  mlir::Type type = kernel.getFunctionType().getInput(index);
  auto memref = llvm::dyn_cast<mlir::MemRefType>(type);
  std::optional<ElementType> element = memref ? elementTypeOf(memref.getElementType()) : std::nullopt;
  if (!element || !memref.hasStaticShape() || !memref.getLayout().isIdentity() || memref.getMemorySpace())
    return invalid(
        kernel, "argument ", index, " is '", printed(type),
        "'; every argument must be a memref of static shape and identity layout, of f32, f64, bf16, f16, i64, "
        "i32, i8 or i1 (a scalar is memref<1x...>)");
  int64_t bytes = bytesOf(*element);
  for (int64_t extent : memref.getShape())
    if (__builtin_mul_overflow(bytes, extent, &bytes))
      return invalid(kernel, "argument ", index, " is '", printed(type),
                     "', which has more bytes than 64 bits can count");
  return bytes;
}

absl::StatusOr<int64_t> workspaceBytesOf(mlir::func::FuncOp kernel, const std::vector<int64_t> &argumentBytes) {
  mlir::Attribute attribute = kernel->getDiscardableAttr(kWorkspaceAttribute);
  if (!attribute)
    return 0;
  auto bytes = llvm::dyn_cast<mlir::IntegerAttr>(attribute);
  mlir::Type last = argumentBytes.empty() ? mlir::Type() : kernel.getFunctionType().getInputs().back();
  bool fits = bytes && bytes.getType().isSignlessInteger(64) && bytes.getInt() > 0 && last &&
              llvm::cast<mlir::MemRefType>(last).getElementType().isSignlessInteger(8) &&
              argumentBytes.back() == bytes.getInt();
  if (!fits)
    return invalid(kernel, kWorkspaceAttribute, " = ", printed(attribute), " but the last argument is ",
                   last ? absl::StrCat("'", printed(last), "'") : "missing",
                   "; for a workspace it must be N : i64 with N > 0, and the last argument memref<Nxi8>");
  return bytes.getInt();
}

/// Returns the loops of a kernel if all of them may be divided among threads,
/// and the kernel has no other effects: other ops only read.
llvm::SmallVector<mlir::scf::ForOp> divisibleLoops(mlir::func::FuncOp kernel) {
  llvm::SmallVector<mlir::scf::ForOp> found;
  if (!llvm::hasSingleElement(kernel.getBody()))
    return {};
  for (mlir::Operation &op : kernel.getBody().front()) {
    if (auto loop = mlir::dyn_cast<mlir::scf::ForOp>(op); loop && loop->hasAttr(exec::kDivisibleName))
      found.push_back(loop);
    else if (!mlir::isMemoryEffectFree(&op) && !mlir::isa<mlir::memref::LoadOp, mlir::func::ReturnOp>(op))
      return {};
  }
  return found;
}

/// Returns the bytes of the kernel's arguments that the loop uses.
int64_t bytesOfArguments(mlir::scf::ForOp loop, const std::vector<int64_t> &argumentBytes) {
  llvm::SmallDenseSet<unsigned> used;
  loop->walk([&](mlir::Operation *op) {
    for (mlir::Value operand : op->getOperands()) {
      if (auto view = operand.getDefiningOp<mlir::memref::ViewOp>())
        operand = view.getSource();
      auto argument = llvm::dyn_cast<mlir::BlockArgument>(operand);
      if (argument && argument.getOwner() == loop->getBlock() && argument.getArgNumber() < argumentBytes.size())
        used.insert(argument.getArgNumber());
    }
  });
  int64_t bytes = 0;
  for (unsigned argument : used)
    bytes += argumentBytes[argument];
  return bytes;
}

std::optional<DivisibleLoop> describe(mlir::scf::ForOp loop, const std::vector<int64_t> &argumentBytes) {
  llvm::APInt begin, end, step;
  if (!mlir::matchPattern(loop.getLowerBound(), mlir::m_ConstantInt(&begin)) ||
      !mlir::matchPattern(loop.getUpperBound(), mlir::m_ConstantInt(&end)) ||
      !mlir::matchPattern(loop.getStep(), mlir::m_ConstantInt(&step)) || !begin.isZero() || end.isZero())
    return std::nullopt;
  return DivisibleLoop{end.getSExtValue(), step.getSExtValue(), bytesOfArguments(loop, argumentBytes)};
}

/// If the loops of the kernel may be divided, makes their bounds arguments.
void takeBounds(mlir::func::FuncOp kernel, KernelSource &source) {
  llvm::SmallVector<mlir::scf::ForOp> loops = divisibleLoops(kernel);
  for (mlir::scf::ForOp loop : loops) {
    std::optional<DivisibleLoop> described = describe(loop, source.argumentBytes);
    if (!described) {
      source.loops.clear();
      return;
    }
    source.loops.push_back(*described);
  }
  mlir::Type index = mlir::IndexType::get(kernel.getContext());
  auto newArgument = [&]() -> mlir::Value {
    const unsigned number = kernel.getNumArguments();
    kernel.insertArgument(number, index, {}, kernel.getLoc());
    return kernel.getArgument(number);
  };
  for (mlir::scf::ForOp loop : loops) {
    loop.setLowerBound(newArgument());
    loop.setUpperBound(newArgument());
  }
}

/// Returns the text of a module that has the ops of `reached`. The first one is
/// renamed, and attributes that only other tools know are removed.
std::string textOf(llvm::ArrayRef<mlir::Operation *> reached, KernelSource &source) {
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(reached.front()->getLoc());
  for (mlir::Operation *op : reached)
    module->push_back(op->clone());
  auto root = llvm::cast<mlir::func::FuncOp>(module->getBody()->front());
  auto name = mlir::StringAttr::get(root.getContext(), kKernelSymbol);
  (void)mlir::SymbolTable::replaceAllSymbolUses(root.getSymNameAttr(), name, module->getOperation());
  root.setSymNameAttr(name);
  takeBounds(root, source);
  module->walk([](mlir::Operation *op) {
    llvm::SmallVector<mlir::NamedAttribute> attributes(op->getDiscardableAttrs());
    for (mlir::NamedAttribute attribute : attributes)
      op->removeDiscardableAttr(attribute.getName());
    if (auto function = llvm::dyn_cast<mlir::func::FuncOp>(op)) {
      function.removeArgAttrsAttr();
      function.removeResAttrsAttr();
    }
  });
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, mlir::OpPrintingFlags().useLocalScope().enableDebugInfo(false));
  return text;
}

absl::StatusOr<KernelSource> sourceOf(mlir::func::FuncOp kernel, mlir::ModuleOp module) {
  KernelSource source;
  source.name = kernel.getName().str();
  if (kernel.getFunctionType().getNumResults() != 0)
    return invalid(kernel, "returns a value; kernels write their results to memref arguments");
  for (unsigned i = 0; i < kernel.getFunctionType().getNumInputs(); ++i) {
    SPLITCAST_ASSIGN_OR_RETURN(int64_t bytes, argumentBytesOf(kernel, i));
    source.argumentBytes.push_back(bytes);
  }
  SPLITCAST_ASSIGN_OR_RETURN(source.workspaceBytes, workspaceBytesOf(kernel, source.argumentBytes));

  SPLITCAST_ASSIGN_OR_RETURN(llvm::SetVector<mlir::Operation *> reached, reachedFrom(kernel, module));
  absl::Status status;
  for (mlir::Operation *op : reached)
    op->walk([&](mlir::Operation *inner) { status.Update(checkOp(kernel, inner)); });
  SPLITCAST_RETURN_IF_ERROR(status);
  source.text = textOf(reached.getArrayRef(), source);
  return source;
}

absl::Status verifyModule(mlir::ModuleOp module) {
  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    absl::StrAppend(&diagnostics, diagnostics.empty() ? "" : "; ", diagnostic.str());
    return mlir::success();
  });
  if (mlir::failed(mlir::verify(module)))
    return absl::InvalidArgumentError(absl::StrCat("the module of kernels is not valid: ", diagnostics));
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<std::vector<KernelSource>> kernelSources(mlir::ModuleOp module) {
  if (!module)
    return absl::InvalidArgumentError("there is no module of kernels");
  SPLITCAST_RETURN_IF_ERROR(verifyModule(module));
  std::vector<KernelSource> sources;
  for (auto kernel : module.getOps<mlir::func::FuncOp>()) {
    if (!kernel.isPublic() || kernel.isExternal())
      continue;
    SPLITCAST_ASSIGN_OR_RETURN(KernelSource source, sourceOf(kernel, module));
    sources.push_back(std::move(source));
  }
  return sources;
}

} // namespace splitcast::runtime
