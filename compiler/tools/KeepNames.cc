#include "compiler/tools/KeepNames.h"

#include "dialects/sbp/ValueNames.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>

using namespace mlir;

namespace splitcast {

/// The name in "%logits" or "%pair:2"; empty if it is a number.
static StringRef nameIn(SMRange range) {
  StringRef text(range.Start.getPointer(), range.End.getPointer() - range.Start.getPointer());
  text.consume_front("%");
  text = text.take_until([](char c) { return c == ':' || c == '#'; });
  return text.empty() || llvm::isDigit(text.front()) ? StringRef() : text;
}

/// Writes the names of the text into the locations of the values.
static void nameValues(const AsmParserState &state) {
  for (const AsmParserState::OperationDefinition &definition : state.getOpDefs())
    if (!definition.resultGroups.empty())
      if (StringRef name = nameIn(definition.resultGroups.front().definition.loc); !name.empty())
        definition.op->setLoc(sbp::withValueName(definition.op->getLoc(), name));
  for (const AsmParserState::BlockDefinition &definition : state.getBlockDefs())
    for (auto [argument, where] : llvm::zip(definition.block->getArguments(), definition.arguments))
      if (StringRef name = nameIn(where.loc); !name.empty())
        argument.setLoc(sbp::withValueName(argument.getLoc(), name));
}

std::unique_ptr<llvm::MemoryBuffer> withNamesKept(std::unique_ptr<llvm::MemoryBuffer> text,
                                                  const DialectRegistry &registry) {
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  const std::string file = text->getBufferIdentifier().str();
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(text), SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context);
  FallbackAsmResourceMap resources; // keeps resources such as a reproducer's pipeline
  // Errors of the verifier are reported when the result is read.
  const ParserConfig config(&context, /*verifyAfterParse=*/false, &resources);
  OwningOpRef<ModuleOp> parsed = ModuleOp::create(UnknownLoc::get(&context));
  AsmParserState state;
  if (failed(parseAsmSourceFile(sources, parsed->getBody(), config, &state)))
    return nullptr;
  nameValues(state);
  // If the text itself contains the module, that one is printed, not the module
  // around it: only so its resources are printed, too.
  OwningOpRef<ModuleOp> module;
  if (auto inner = dyn_cast_or_null<ModuleOp>(parsed->getBody()->empty() ? nullptr : &parsed->getBody()->front());
      inner && llvm::hasSingleElement(*parsed->getBody())) {
    inner->remove();
    module = inner;
  } else {
    module = std::move(parsed);
  }
  // Everything is printed in full, whatever the command line's printing flags
  // say: they are meant for the final output.
  OpPrintingFlags whole;
  whole.enableDebugInfo().printGenericOpForm().skipRegions(false);
  whole.elideLargeElementsAttrs(std::numeric_limits<int64_t>::max());
  whole.elideLargeResourceString(std::numeric_limits<int64_t>::max());
  std::string named;
  llvm::raw_string_ostream os(named);
  AsmState printing(*module, whole, /*locationMap=*/nullptr, &resources);
  module->print(os, printing);
  os.flush();
  return llvm::MemoryBuffer::getMemBufferCopy(named, file);
}

} // namespace splitcast
