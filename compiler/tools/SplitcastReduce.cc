// splitcast-reduce: makes the module of a reproducer as small as possible while
// its passes still give the same error.
//
//   splitcast-reduce FILE.mlir.0 --error="part of the error's text" -o small.mlir
//
// A reproducer is written by --reproducer=FILE.mlir of a program, or by
// --mlir-pass-pipeline-crash-reproducer of splitcast-opt. The result is a
// reproducer, too: run it with splitcast-opt small.mlir --run-reproducer.
#include "compiler/Pipelines.h"
#include "compiler/tools/ModuleFile.h"
#include "compiler/tools/ReduceModule.h"
#include "passes/global/Passes.h"
#include "passes/local/Passes.h"
#include "passes/plan/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

static int fail(const llvm::Twine &message) {
  llvm::errs() << "splitcast-reduce: error: " << message << "\n";
  return 1;
}

/// Whether the passes fail on a copy of the module with a message that contains
/// `text`.
static bool hasError(ModuleOp module, const PassReproducerOptions &passes, llvm::StringRef text) {
  OwningOpRef<ModuleOp> copy = module.clone();
  bool found = false;
  auto find = [&](Diagnostic &diagnostic) {
    found |= diagnostic.str().find(text) != std::string::npos;
    for (Diagnostic &note : diagnostic.getNotes())
      found |= note.str().find(text) != std::string::npos;
    return success();
  };
  ScopedDiagnosticHandler handler(module.getContext(), find);
  PassManager manager(module.getContext());
  return succeeded(passes.apply(manager)) && failed(manager.run(*copy)) && found;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::opt<std::string> input(llvm::cl::Positional, llvm::cl::Required, llvm::cl::desc("FILE.mlir"));
  llvm::cl::opt<std::string> output("o", llvm::cl::init("-"), llvm::cl::desc("The file to write, - for stdout"));
  llvm::cl::opt<std::string> error(
      "error", llvm::cl::Required,
      llvm::cl::desc("A part of the error's text, which the reduced module must still give"));
  llvm::cl::opt<bool> allowBytecode(splitcast::kAllowBytecode, llvm::cl::desc(splitcast::kAllowBytecodeHelp));
  llvm::cl::ParseCommandLineOptions(
      argc, argv, "Makes the module of a reproducer as small as possible while its passes still give an error\n");
  registerTransformsPasses();
  splitcast::registerGlobalPasses();
  splitcast::registerLocalPasses();
  splitcast::registerPlanPasses();
  splitcast::registerPipelines();
  DialectRegistry registry;
  splitcast::registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);

  // The file is read twice: once for its passes, and once to keep them as text
  // that is written with the result.
  PassReproducerOptions passes;
  ParserConfig withPasses(&context);
  passes.attachResourceParser(withPasses);
  FallbackAsmResourceMap texts;
  const ParserConfig withTexts(&context, /*verifyAfterParse=*/true, &texts);
  if (auto read = splitcast::parseModuleFile(input, withPasses, allowBytecode); !read.ok())
    return fail(std::string(read.status().message()));
  auto parsed = splitcast::parseModuleFile(input, withTexts, allowBytecode);
  if (!parsed.ok())
    return fail(std::string(parsed.status().message()));
  OwningOpRef<ModuleOp> module = *std::move(parsed);
  PassManager manager(&context);
  if (failed(passes.apply(manager)) || manager.empty())
    return fail("'" + input + "' contains no passes; give a file written by --reproducer");
  auto isInteresting = [&](ModuleOp candidate) { return hasError(candidate, passes, error); };
  if (!isInteresting(*module))
    return fail("the passes of '" + input + "' give no error with '" + error +
                "'; copy the text exactly as they print it");

  std::string message;
  std::unique_ptr<llvm::ToolOutputFile> file = openOutputFile(output, &message);
  if (!file)
    return fail(message);
  const int64_t tried = splitcast::reduce(module, isInteresting);
  AsmState printing(*module, OpPrintingFlags(), /*locationMap=*/nullptr, &texts);
  module->print(file->os(), printing);
  file->keep();
  llvm::errs() << "splitcast-reduce: tried " << tried << " modules\n";
  return 0;
}
