// splitcast-kernels: prints the kernels that a GPU runs for a module at the
// global level.
//
//   splitcast-kernels MODULE.mlir [--enable-zero=stage=N,...] [--rank=R] [--chip=sm_90] > kernels.ptx
//
// Prints the PTX of all kernels of one rank's plan, and of the kernels that
// implement its library calls. Comments before it list the kernels with the
// functions that each launches. Needs no GPU.
#include "compiler/Compile.h"
#include "compiler/Pipelines.h"
#include "compiler/launch/LaunchFlags.h"
#include "compiler/launch/StandardOutput.h"
#include "compiler/tools/ModuleFile.h"
#include "dialects/exec/Exec.h"
#include "runtime/gpu/CallKernels.h"
#include "runtime/gpu/PtxCompiler.h"

#include <cstdio>

namespace splitcast {
namespace {

struct Options {
  std::string path, chip = "sm_90";
  int64_t rank = 0;
  sbp::ZeroOptions zero = CompileOptions::withoutZero();
  bool allowBytecode = false;
};

/// Adds to `kernels` the kernels that implement the library calls of `plans`.
absl::Status addCallKernels(mlir::ModuleOp plans, mlir::ModuleOp kernels) {
  runtime::CallKernelCollector collector(kernels);
  absl::Status status;
  plans.walk([&](exec::LibraryOp op) {
    absl::Status added = runtime::createDeviceCall(op.getCall(), collector).status();
    if (!absl::IsNotFound(added)) // calls that NVIDIA's libraries implement have no kernels
      status.Update(added);
  });
  return status;
}

absl::StatusOr<runtime::GpuProgram> programOf(const Options &options, mlir::MLIRContext &context) {
  auto module = parseModuleFile(options.path, &context, options.allowBytecode);
  if (!module.ok())
    return module.status();
  CompileOptions compile;
  compile.zero = options.zero;
  auto global = compileGlobal(**module, compile);
  if (!global.ok())
    return global.status();
  auto plans = compilePlan(**global, compile, options.rank);
  if (!plans.ok())
    return plans.status();
  for (auto kernels : (*plans)->getOps<mlir::ModuleOp>()) {
    if (absl::Status status = addCallKernels(**plans, kernels); !status.ok())
      return status;
    return runtime::cutIntoLaunches(kernels);
  }
  return absl::InternalError("the plan has no module of kernels");
}

absl::Status run(const Options &options) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  runtime::registerGpuKernelDialects(registry);
  mlir::MLIRContext context(registry);
  absl::StatusOr<runtime::GpuProgram> program = programOf(options, context);
  if (!program.ok())
    return program.status();
  runtime::PtxTarget target;
  target.chip = options.chip;
  target.libdevice = runtime::findLibdevice().value_or("");
  absl::StatusOr<std::string> ptx = runtime::compileToPtx(*program, target);
  if (!ptx.ok())
    return ptx.status();
  for (const runtime::GpuKernel &kernel : program->kernels) {
    printf("// %s", kernel.name.c_str());
    for (const runtime::GpuLaunch &launch : kernel.launches)
      printf(" %s", launch.function.c_str());
    printf("\n");
  }
  printf("%s", ptx->c_str());
  return absl::OkStatus();
}

} // namespace
} // namespace splitcast

int main(int argc, char **argv) {
  splitcast::Options options;
  splitcast::Flags flags("splitcast-kernels",
                         "MODULE.mlir [FLAGS]\nPrints the PTX of the GPU kernels of a module at the global level.");
  flags.addPositional("MODULE.mlir", &options.path);
  flags.addZero(&options.zero);
  flags.addInteger("rank", &options.rank, 0, 1 << 20, "the rank whose plan is printed");
  flags.addSwitch(splitcast::kAllowBytecode, &options.allowBytecode, splitcast::kAllowBytecodeHelp);
  flags.addString("chip", &options.chip, "NAME", "the GPU architecture to compile for (sm_90)");
  absl::Status status = flags.parse(argc, argv);
  if (status.ok() && flags.isHelpWanted()) {
    printf("%s", flags.help().c_str());
    return 0;
  }
  if (status.ok())
    status = splitcast::run(options);
  if (status.ok())
    status = splitcast::flushOutput();
  if (status.ok())
    return 0;
  fprintf(stderr, "splitcast-kernels: error: %s\n", std::string(status.message()).c_str());
  return 1;
}
