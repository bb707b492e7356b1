#include "compiler/language_server/OpenFile.h"

#include "compiler/language_server/Hover.h"
#include "compiler/language_server/Trial.h"

#include "mlir/Support/ToolUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <utility>

namespace splitcast {

OpenFile::OpenFile(const mlir::DialectRegistry &registry, lsp::URIForFile fileUri, std::string text)
    : uri(std::move(fileUri)), content(std::move(text)), context(registry, mlir::MLIRContext::Threading::DISABLED) {
  context.printOpOnDiagnostic(false); // the editor already shows the op
  addModules();
  readModules();
}

void OpenFile::addModules() {
  llvm::StringRef rest = content;
  std::string module;
  for (size_t lines = 1; !rest.empty(); ++lines) {
    const size_t end = rest.find('\n');
    llvm::StringRef line = end == llvm::StringRef::npos ? rest : rest.take_front(end + 1);
    rest = rest.drop_front(line.size());
    if (line.rtrim() != mlir::kDefaultSplitMarker) {
      module += line;
      continue;
    }
    modules.push_back(std::make_unique<ModuleText>(uri, module));
    module.assign(lines, '\n');
  }
  modules.push_back(std::make_unique<ModuleText>(uri, module));
}

/// One copy of the process tries all modules; only if it dies, each module is
/// tried in a copy of its own.
void OpenFile::readModules() {
  std::optional<std::string> all = tryInCopy([&] {
    llvm::json::Array each;
    for (std::unique_ptr<ModuleText> &module : modules)
      each.push_back(module->tryToParse(context));
    return llvm::formatv("{0}", llvm::json::Value(std::move(each))).str();
  });
  std::vector<std::string> tried;
  if (all)
    tried = llvm::cantFail(llvm::json::parse<std::vector<std::string>>(*all));
  for (size_t i = 0; i < modules.size(); ++i)
    modules[i]->read(context, all ? tried[i] : tryInCopy([&] { return modules[i]->tryToParse(context); }));
}

std::vector<lsp::Diagnostic> OpenFile::diagnostics() const {
  std::vector<lsp::Diagnostic> all;
  for (const std::unique_ptr<ModuleText> &module : modules)
    all.insert(all.end(), module->diagnostics().begin(), module->diagnostics().end());
  return all;
}

std::optional<OpenFile::Found> OpenFile::find(const lsp::Position &position) {
  for (const std::unique_ptr<ModuleText> &module : modules)
    if (std::optional<Named> named = module->find(position))
      return Found{module.get(), *std::move(named)};
  return std::nullopt;
}

std::optional<lsp::Hover> OpenFile::hover(const lsp::Position &position) {
  std::optional<Found> found = find(position);
  std::string text = found ? hoverText(found->named) : "";
  if (text.empty())
    return std::nullopt;
  lsp::Hover hover(found->module->rangeOf(found->named.token));
  hover.contents.value = std::move(text);
  return hover;
}

std::vector<lsp::Location> OpenFile::definitions(const lsp::Position &position) {
  std::optional<Found> found = find(position);
  if (!found)
    return {};
  if (found->named.kind == Named::Kind::Op)
    return found->module->placesElsewhere(found->named.op);
  return {{uri, found->module->rangeOf(found->named.definition)}};
}

std::vector<lsp::Location> OpenFile::references(const lsp::Position &position, bool withDefinition) {
  std::optional<Found> found = find(position);
  if (!found || found->named.kind == Named::Kind::Op)
    return {};
  std::vector<lsp::Location> places;
  if (withDefinition)
    places.emplace_back(uri, found->module->rangeOf(found->named.definition));
  for (llvm::SMRange use : found->named.uses)
    places.emplace_back(uri, found->module->rangeOf(use));
  return places;
}

std::vector<lsp::DocumentSymbol> OpenFile::symbols() const {
  std::vector<lsp::DocumentSymbol> all;
  for (const std::unique_ptr<ModuleText> &module : modules)
    for (lsp::DocumentSymbol &symbol : module->symbols())
      all.push_back(std::move(symbol));
  return all;
}

} // namespace splitcast
