#include "runtime/gpu/GpuProgram.h"

#include "runtime/api/ElementTypeFromIr.h"
#include "runtime/api/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <map>

namespace splitcast::runtime {
namespace {

using namespace mlir;

template <typename... Parts> absl::Status invalid(func::FuncOp kernel, const Parts &...parts) {
  return absl::InvalidArgumentError(absl::StrCat("kernel @", kernel.getName().str(), ": ", parts...));
}

/// Returns the constant sizes of a launch.
absl::StatusOr<std::array<int64_t, 3>> constants(func::FuncOp kernel, gpu::KernelDim3 sizes) {
  std::array<int64_t, 3> result;
  for (auto [value, size] : llvm::zip(result, std::array<Value, 3>{sizes.x, sizes.y, sizes.z})) {
    APInt constant;
    if (!matchPattern(size, m_ConstantInt(&constant)))
      return invalid(kernel, "has a launch whose size is not constant; kernels are bound once, with fixed sizes");
    value = constant.getSExtValue();
  }
  return result;
}

/// Returns the name of a kernel and the sizes and alignments of its arguments.
absl::StatusOr<GpuKernel> describe(func::FuncOp kernel) {
  GpuKernel result;
  result.name = kernel.getName().str();
  for (unsigned index = 0; index < kernel.getNumArguments(); ++index) {
    auto memref = dyn_cast<MemRefType>(kernel.getArgument(index).getType());
    std::optional<ElementType> element = memref ? elementTypeOf(memref.getElementType()) : std::nullopt;
    if (!element || !memref.hasStaticShape() || !memref.getLayout().isIdentity())
      return invalid(kernel, "argument ", index, " is not a memref of static shape and identity layout");
    result.argumentBytes.push_back(memref.getNumElements() * bytesOf(*element));
    auto alignment = kernel.getArgAttrOfType<IntegerAttr>(index, "llvm.align");
    result.alignments.push_back(alignment ? alignment.getInt() : 1);
  }
  return result;
}

/// Returns a kernel with its launches, whose sizes and arguments are known.
absl::StatusOr<GpuKernel> cut(func::FuncOp kernel) {
  SPLITCAST_ASSIGN_OR_RETURN(GpuKernel result, describe(kernel));
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    auto launch = dyn_cast<gpu::LaunchFuncOp>(op);
    if (!launch && !op.hasTrait<OpTrait::ConstantLike>())
      return invalid(kernel, "holds '", op.getName().getStringRef().str(), "' outside of a gpu.launch");
    if (!launch)
      continue;
    absl::StatusOr<std::array<int64_t, 3>> blocks = constants(kernel, launch.getGridSizeOperandValues()),
                                           threads = constants(kernel, launch.getBlockSizeOperandValues());
    for (const absl::Status &status : {blocks.status(), threads.status()})
      SPLITCAST_RETURN_IF_ERROR(status);
    GpuLaunch cut{launch.getKernelModuleName().str(), *blocks, *threads, {}};
    for (Value operand : launch.getKernelOperands()) {
      auto argument = dyn_cast<BlockArgument>(operand);
      if (!argument)
        return invalid(kernel, "has a launch with an operand that is not an argument of the kernel");
      cut.arguments.push_back(argument.getArgNumber());
    }
    result.launches.push_back(std::move(cut));
  }
  return result;
}

/// Copies the alignments of the kernel's arguments to the launched function,
/// and tells it the block size, which bounds the registers per thread.
void annotate(gpu::GPUFuncOp function, const GpuKernel &kernel, const GpuLaunch &launch) {
  OpBuilder b(function.getContext());
  for (auto [index, argument] : llvm::enumerate(launch.arguments))
    if (kernel.alignments[argument] > 1)
      function.setArgAttr(index, "llvm.align", b.getI64IntegerAttr(kernel.alignments[argument]));
  SmallVector<int32_t> threads(launch.threads.begin(), launch.threads.end());
  function->setAttr("known_block_size", b.getDenseI32ArrayAttr(threads));
}

/// Joins the modules of the launches, one per launch, into one. Functions that
/// are equal except for their names become one. Before, launches name their
/// module; afterwards, their function.
void joinModules(GpuProgram &program) {
  OpBuilder builder = OpBuilder::atBlockEnd(program.module->getBody());
  auto joined = builder.create<gpu::GPUModuleOp>(program.module->getLoc(), "functions");
  std::map<std::string, std::string> known; // the names of functions, by their text
  std::map<std::string, std::string> names; // the names of functions, by their module
  builder.setInsertionPoint(joined.getBody()->getTerminator());
  for (auto module : llvm::make_early_inc_range(program.module->getOps<gpu::GPUModuleOp>())) {
    if (module == joined)
      continue;
    auto function = *module.getOps<gpu::GPUFuncOp>().begin();
    std::string before = module.getName().str(), text;
    function.setName("f");
    llvm::raw_string_ostream stream(text);
    function->print(stream, OpPrintingFlags().useLocalScope().enableDebugInfo(false));
    auto [found, isNew] = known.try_emplace(text, absl::StrCat("f", known.size()));
    names[before] = found->second;
    if (isNew) {
      function.setName(found->second);
      function->remove();
      builder.insert(function);
    }
    module.erase();
  }
  for (GpuKernel &kernel : program.kernels)
    for (GpuLaunch &launch : kernel.launches)
      launch.function = names.at(launch.function);
}

} // namespace

gpu::GPUModuleOp GpuProgram::functions() { return *module->getOps<gpu::GPUModuleOp>().begin(); }

void registerGpuKernelDialects(DialectRegistry &registry) {
  registry
      .insert<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, gpu::GPUDialect, LLVM::LLVMDialect,
              math::MathDialect, memref::MemRefDialect, NVVM::NVVMDialect, scf::SCFDialect, vector::VectorDialect>();
}

absl::StatusOr<GpuProgram> cutIntoLaunches(ModuleOp kernels) {
  std::string diagnostics;
  ScopedDiagnosticHandler handler(kernels.getContext(), [&](Diagnostic &diagnostic) {
    absl::StrAppend(&diagnostics, diagnostic.str(), "\n");
    return success();
  });
  GpuProgram program;
  program.module = cast<ModuleOp>(kernels->clone());
  PassManager passes(kernels.getContext(), ModuleOp::getOperationName());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createGpuLauchSinkIndexComputationsPass());
  passes.addPass(createGpuKernelOutliningPass());
  if (failed(passes.run(*program.module)))
    return absl::InvalidArgumentError(absl::StrCat("kernels could not be cut into launches: ", diagnostics));
  SymbolTable symbols(*program.module);
  for (auto kernel : program.module->getOps<func::FuncOp>()) {
    if (!kernel.isPublic() || kernel.isExternal())
      continue;
    SPLITCAST_ASSIGN_OR_RETURN(GpuKernel parts, cut(kernel));
    for (GpuLaunch &launch : parts.launches) {
      auto module = symbols.lookup<gpu::GPUModuleOp>(launch.function);
      annotate(*module.getOps<gpu::GPUFuncOp>().begin(), parts, launch);
    }
    program.kernels.push_back(std::move(parts));
  }
  joinModules(program);
  for (auto function : llvm::make_early_inc_range(program.module->getOps<func::FuncOp>()))
    function.erase();
  return program;
}

} // namespace splitcast::runtime
