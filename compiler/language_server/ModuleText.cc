#include "compiler/language_server/ModuleText.h"

#include "dialects/sbp/Sbp.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Tools/lsp-server-support/SourceMgrUtils.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <utility>

using mlir::AsmParserState;

namespace splitcast {
namespace {

/// Includes the end of the range: a cursor right behind a token points at it.
bool contains(llvm::SMRange range, llvm::SMLoc place) {
  return range.isValid() && range.Start.getPointer() <= place.getPointer() &&
         place.getPointer() <= range.End.getPointer();
}

/// Sets `token` to the definition or use at `place`; false if neither is there.
bool chooseToken(Named &named, llvm::SMLoc place) {
  if (contains(named.definition, place)) {
    named.token = named.definition;
    return true;
  }
  auto use = llvm::find_if(named.uses, [&](llvm::SMRange range) { return contains(range, place); });
  if (use == named.uses.end())
    return false;
  named.token = *use;
  return true;
}

Named namedBy(Named::Kind kind, const AsmParserState::SMDefinition &definition) {
  Named named;
  named.kind = kind;
  named.definition = definition.loc;
  named.uses.assign(definition.uses.begin(), definition.uses.end());
  return named;
}

/// Returns the number of a use such as %a#1, and extends the use to include it;
/// 0 if the use has no number.
unsigned takeNumber(llvm::SMRange &use) {
  const char *begin = use.End.getPointer(); // can be read even at the end of the text, which has a terminating zero
  if (*begin != '#')
    return 0;
  const char *end = ++begin;
  while (llvm::isDigit(*end))
    ++end;
  unsigned number = 0;
  if (llvm::StringRef(begin, end - begin).getAsInteger(10, number))
    return 0;
  use.End = llvm::SMLoc::getFromPointer(end);
  return number;
}

/// The result of the group that the token at `place` names; where the group is
/// defined (%a:2), all its results.
std::optional<Named> findResult(mlir::Operation *op,
                                const AsmParserState::OperationDefinition::ResultGroupDefinition &group, unsigned end,
                                llvm::SMLoc place) {
  Named named = namedBy(Named::Kind::Value, group.definition);
  std::vector<unsigned> numbers;
  for (llvm::SMRange &use : named.uses)
    numbers.push_back(takeNumber(use));
  if (!chooseToken(named, place))
    return std::nullopt;
  if (contains(named.definition, place)) {
    for (unsigned result = group.startIndex; result < end; ++result)
      named.values.push_back(op->getResult(result));
    return named;
  }
  std::vector<llvm::SMRange> uses;
  uses.swap(named.uses);
  const auto chosen = llvm::find_if(uses, [&](llvm::SMRange use) { return use.Start == named.token.Start; });
  const unsigned number = numbers[chosen - uses.begin()];
  for (size_t i = 0; i < uses.size(); ++i)
    if (numbers[i] == number)
      named.uses.push_back(uses[i]);
  if (group.startIndex + number < end)
    named.values.push_back(op->getResult(group.startIndex + number));
  return named;
}

/// The range of the symbol's name where it is defined: its first use within the
/// op itself. In the generic form there is none; then the range of the op's
/// name.
llvm::SMRange nameOf(const AsmParserState::OperationDefinition &op) {
  llvm::SMRange name = op.loc;
  for (llvm::SMRange use : op.symbolUses)
    if (contains(op.scopeLoc, use.Start) &&
        (name.Start == op.loc.Start || use.Start.getPointer() < name.Start.getPointer()))
      name = use;
  return name;
}

lsp::DiagnosticSeverity severityOf(const mlir::Diagnostic &diagnostic) {
  switch (diagnostic.getSeverity()) {
  case mlir::DiagnosticSeverity::Error:
    return lsp::DiagnosticSeverity::Error;
  case mlir::DiagnosticSeverity::Warning:
    return lsp::DiagnosticSeverity::Warning;
  case mlir::DiagnosticSeverity::Note:
  case mlir::DiagnosticSeverity::Remark:
    break;
  }
  return lsp::DiagnosticSeverity::Information;
}

} // namespace

ModuleText::ModuleText(lsp::URIForFile textUri, llvm::StringRef text)
    : uri(std::move(textUri)), places(uri.file(), text) {}

std::string ModuleText::tryToParse(mlir::MLIRContext &context) {
  mlir::ScopedDiagnosticHandler handler(&context, [this](mlir::Diagnostic &diagnostic) { note(diagnostic); });
  return parse(context) ? "" : llvm::formatv("{0}", llvm::json::Value(found)).str();
}

void ModuleText::read(mlir::MLIRContext &context, const std::optional<std::string> &tried) {
  mlir::ScopedDiagnosticHandler handler(&context, [this](mlir::Diagnostic &diagnostic) { note(diagnostic); });
  if (!tried)
    noteDeath();
  else if (!tried->empty())
    found = llvm::cantFail(llvm::json::parse<std::vector<lsp::Diagnostic>>(*tried)); // written by tryToParse
  else if (parse(context))
    verify();
}

bool ModuleText::parse(mlir::MLIRContext &context) {
  holder = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  mlir::ParserConfig config(&context, /*verifyAfterParse=*/false);
  if (succeeded(mlir::parseAsmSourceFile(places.manager(), holder->getBody(), config, &tokens)))
    return true;
  // After a failed parse `tokens` may refer to ops that have been freed.
  tokens = AsmParserState();
  holder = nullptr;
  return false;
}

/// Verifies with each op's location set to its place in the text, so that
/// errors are shown there even if the text gives other locations.
void ModuleText::verify() {
  std::vector<std::pair<mlir::Operation *, mlir::Location>> written;
  for (const OpDefinition &op : tokens.getOpDefs()) {
    written.emplace_back(op.op, op.op->getLoc());
    op.op->setLoc(places.locationOf(op.op->getContext(), op.loc.Start));
  }
  (void)mlir::verify(*holder); // what is wrong is noted
  for (auto &[op, location] : written)
    op->setLoc(location);
}

void ModuleText::note(const mlir::Diagnostic &diagnostic) {
  lsp::Diagnostic &shown = found.emplace_back();
  shown.source = "splitcast";
  shown.severity = severityOf(diagnostic);
  shown.range = rangeOf(diagnostic.getLocation());
  shown.message = diagnostic.str();
  std::vector<lsp::DiagnosticRelatedInformation> related;
  for (const mlir::Diagnostic &note : diagnostic.getNotes())
    related.emplace_back(lsp::Location(uri, rangeOf(note.getLocation())), note.str());
  if (!related.empty())
    shown.relatedInformation = std::move(related);
}

void ModuleText::noteDeath() {
  lsp::Diagnostic &shown = found.emplace_back();
  shown.source = "splitcast";
  shown.severity = lsp::DiagnosticSeverity::Error;
  shown.range = firstPlace();
  shown.message = "the parser crashed on this text, or took too long; undo the last change";
}

/// The token at the location; the first character of the text if the location
/// is in another file.
lsp::Range ModuleText::rangeOf(mlir::Location location) {
  llvm::SMLoc place = places.find(location);
  return place.isValid() ? places.rangeOf(lsp::convertTokenLocToRange(place, "$-.")) : firstPlace();
}

lsp::Range ModuleText::firstPlace() const {
  llvm::SMLoc place = llvm::SMLoc::getFromPointer(places.text().ltrim().begin());
  return places.rangeOf({place, place});
}

//===----------------------------------------------------------------------===//
// What a token means
//===----------------------------------------------------------------------===//

std::optional<Named> ModuleText::find(const lsp::Position &position) {
  llvm::SMLoc place = places.find(position);
  if (!place.isValid())
    return std::nullopt;
  for (const OpDefinition &op : tokens.getOpDefs())
    if (std::optional<Named> named = findIn(op, place))
      return named;
  for (const BlockDefinition &block : tokens.getBlockDefs())
    if (std::optional<Named> named = findIn(block, place))
      return named;
  return findAlias(place);
}

std::optional<Named> ModuleText::findIn(const OpDefinition &op, llvm::SMLoc place) const {
  Named named;
  named.op = op.op;
  named.kind = Named::Kind::Symbol;
  named.definition = nameOf(op);
  for (llvm::SMRange use : op.symbolUses)
    if (use.Start != named.definition.Start)
      named.uses.push_back(use);
  if (!op.symbolUses.empty() && chooseToken(named, place))
    return named;
  if (contains(op.loc, place)) {
    named.kind = Named::Kind::Op;
    named.token = named.definition = op.loc;
    named.uses.clear();
    return named;
  }
  for (auto group = op.resultGroups.begin(); group != op.resultGroups.end(); ++group) {
    const bool isLast = std::next(group) == op.resultGroups.end();
    const unsigned end = isLast ? op.op->getNumResults() : std::next(group)->startIndex;
    if (std::optional<Named> result = findResult(op.op, *group, end, place))
      return result;
  }
  return std::nullopt;
}

std::optional<Named> ModuleText::findIn(const BlockDefinition &block, llvm::SMLoc place) const {
  Named named = namedBy(Named::Kind::Block, block.definition);
  if (chooseToken(named, place))
    return named;
  for (size_t i = 0; i < block.arguments.size(); ++i) {
    named = namedBy(Named::Kind::Value, block.arguments[i]);
    if (i < block.block->getNumArguments())
      named.values.push_back(block.block->getArgument(i));
    if (chooseToken(named, place))
      return named;
  }
  return std::nullopt;
}

std::optional<Named> ModuleText::findAlias(llvm::SMLoc place) const {
  for (const AsmParserState::AttributeAliasDefinition &alias : tokens.getAttributeAliasDefs()) {
    Named named = namedBy(Named::Kind::Attribute, alias.definition);
    named.attribute = alias.value;
    if (chooseToken(named, place))
      return named;
  }
  for (const AsmParserState::TypeAliasDefinition &alias : tokens.getTypeAliasDefs()) {
    Named named = namedBy(Named::Kind::Type, alias.definition);
    named.type = alias.value;
    if (chooseToken(named, place))
      return named;
  }
  return std::nullopt;
}

std::vector<lsp::Location> ModuleText::placesElsewhere(mlir::Operation *op) const {
  std::vector<lsp::Location> elsewhere;
  op->getLoc()->walk([&](mlir::Location part) {
    auto place = mlir::dyn_cast<mlir::FileLineColLoc>(part);
    llvm::StringRef file = place ? place.getFilename().getValue() : llvm::StringRef();
    if (!place || file == places.path() || !llvm::sys::path::is_absolute(file))
      return mlir::WalkResult::advance();
    llvm::Expected<lsp::URIForFile> other = lsp::URIForFile::fromFile(file);
    if (!other) {
      llvm::consumeError(other.takeError());
      return mlir::WalkResult::advance();
    }
    const int line = std::max<int>(0, static_cast<int>(place.getLine()) - 1);
    const int column = std::max<int>(0, static_cast<int>(place.getColumn()) - 1);
    elsewhere.emplace_back(*other, lsp::Range(lsp::Position(line, column)));
    return mlir::WalkResult::advance();
  });
  return elsewhere;
}

//===----------------------------------------------------------------------===//
// What a file contains
//===----------------------------------------------------------------------===//

static lsp::SymbolKind kindOf(mlir::Operation &op) {
  if (mlir::isa<mlir::FunctionOpInterface>(op))
    return lsp::SymbolKind::Function;
  if (mlir::isa<sbp::VariableOp>(op))
    return lsp::SymbolKind::Variable;
  if (mlir::isa<sbp::GroupOp>(op))
    return lsp::SymbolKind::Namespace;
  return mlir::isa<mlir::ModuleOp>(op) ? lsp::SymbolKind::Module : lsp::SymbolKind::Object;
}

std::vector<lsp::DocumentSymbol> ModuleText::symbols() const {
  std::vector<lsp::DocumentSymbol> symbols;
  if (holder)
    addSymbols(*holder.get().getBody(), symbols);
  return symbols;
}

void ModuleText::addSymbols(mlir::Block &block, std::vector<lsp::DocumentSymbol> &symbols) const {
  for (mlir::Operation &op : block) {
    const OpDefinition *definition = tokens.getOpDef(&op);
    auto name = op.getAttrOfType<mlir::StringAttr>(mlir::isa<sbp::GroupOp>(op)
                                                       ? llvm::StringRef("name")
                                                       : llvm::StringRef(mlir::SymbolTable::getSymbolAttrName()));
    std::vector<lsp::DocumentSymbol> *within = &symbols;
    if (name && !name.empty() && definition) { // editors refuse symbols with an empty name
      symbols.emplace_back(name.getValue(), kindOf(op), rangeOf(definition->scopeLoc), rangeOf(nameOf(*definition)));
      symbols.back().detail = op.getName().getStringRef().str();
      within = &symbols.back().children;
    }
    // Only the ops of symbol tables belong to the outline, not those of a
    // function's body.
    if (op.hasTrait<mlir::OpTrait::SymbolTable>())
      for (mlir::Region &region : op.getRegions())
        for (mlir::Block &inner : region)
          addSymbols(inner, *within);
  }
}

} // namespace splitcast
