//===- ModuleText.h - A module as text: what is wrong, and what a token means ---===//
//
// The text is parsed first and verified afterwards, so that tokens of a module that does not verify have a meaning.
// Those of a text that does not parse have none.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_LANGUAGE_SERVER_MODULETEXT_H
#define SPLITCAST_COMPILER_LANGUAGE_SERVER_MODULETEXT_H

#include "compiler/language_server/TextPlaces.h"

#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"

#include <optional>
#include <vector>

namespace splitcast {

/// What a token of the text stands for. The ranges are of tokens.
struct Named {
  enum class Kind { Op, Symbol, Value, Block, Attribute, Type };
  Kind kind;
  llvm::SMRange token;      ///< the one that was asked for
  llvm::SMRange definition; ///< where it is defined; for a symbol, its name there
  std::vector<llvm::SMRange> uses;
  mlir::Operation *op = nullptr; ///< of the name of an op, or what a symbol names
  /// The value; several where the token defines several, as %a:2 does.
  llvm::SmallVector<mlir::Value, 1> values;
  mlir::Attribute attribute; ///< that an alias stands for
  mlir::Type type;           ///< likewise
};

class ModuleText {
public:
  ModuleText(lsp::URIForFile uri, llvm::StringRef text);

  /// Parses the text in a copy of the process that will end: one that does not parse may damage its memory. (Where a
  /// function does not parse, MLIR 19 frees its ops while an op outside, which named one of their values, still refers
  /// to them.) Returns what `read` needs to know of it.
  std::string tryToParse(mlir::MLIRContext &context);
  /// Parses and verifies the text, if it parsed in the copy. Without a result the copy died of the text.
  void read(mlir::MLIRContext &context, const std::optional<std::string> &tried);

  /// The errors and warnings, with their notes.
  const std::vector<lsp::Diagnostic> &diagnostics() const { return found; }

  /// The meaning of the token at, or right before, the position.
  std::optional<Named> find(const lsp::Position &position);
  /// Where else the op comes from: places of other files, by their absolute paths, in the op's location.
  std::vector<lsp::Location> placesElsewhere(mlir::Operation *op) const;
  /// The named ops, and the ops that are about a group of variables.
  std::vector<lsp::DocumentSymbol> symbols() const;

  lsp::Range rangeOf(llvm::SMRange range) const { return places.rangeOf(range); }

private:
  using OpDefinition = mlir::AsmParserState::OperationDefinition;
  using BlockDefinition = mlir::AsmParserState::BlockDefinition;

  bool parse(mlir::MLIRContext &context);
  void verify();
  void note(const mlir::Diagnostic &diagnostic);
  void noteDeath();
  lsp::Range rangeOf(mlir::Location location);
  lsp::Range firstPlace() const;
  std::optional<Named> findIn(const OpDefinition &op, llvm::SMLoc place) const;
  std::optional<Named> findIn(const BlockDefinition &block, llvm::SMLoc place) const;
  std::optional<Named> findAlias(llvm::SMLoc place) const;
  void addSymbols(mlir::Block &block, std::vector<lsp::DocumentSymbol> &symbols) const;

  lsp::URIForFile uri;
  TextPlaces places;
  mlir::OwningOpRef<mlir::ModuleOp> holder; ///< around the text's ops
  mlir::AsmParserState tokens;
  std::vector<lsp::Diagnostic> found;
};

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LANGUAGE_SERVER_MODULETEXT_H
