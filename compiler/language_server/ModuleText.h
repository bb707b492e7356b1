//===- ModuleText.h - The text of a module: its errors, and what its tokens mean -===//
//
// The text is first parsed and then verified, so that the tokens of a module that does not verify still have a meaning.
// Tokens of a text that does not parse have none.
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

/// What a token of the text stands for. All ranges are ranges of tokens.
struct Named {
  enum class Kind { Op, Symbol, Value, Block, Attribute, Type };
  Kind kind;
  llvm::SMRange token;      ///< the token itself
  llvm::SMRange definition; ///< the token that defines it; for a symbol, its name there
  std::vector<llvm::SMRange> uses;
  mlir::Operation *op = nullptr; ///< the op, if the token is an op's name or a symbol
  /// The values, if the token names any; several if it defines several, like %a:2.
  llvm::SmallVector<mlir::Value, 1> values;
  mlir::Attribute attribute; ///< the attribute, if the token is an alias of one
  mlir::Type type;           ///< the type, if the token is an alias of one
};

class ModuleText {
public:
  ModuleText(lsp::URIForFile uri, llvm::StringRef text);

  /// Parses the text. It must be called in a copy of the process (tryInCopy), since a text that does not parse may
  /// damage the process's memory: if a function does not parse, MLIR 19 frees its ops, even if an op outside of the
  /// function refers to one of their values. Returns what read() needs.
  std::string tryToParse(mlir::MLIRContext &context);
  /// Parses and verifies the text if it parsed in the copy, and otherwise takes over the errors found there. `tried` is
  /// the result of tryToParse; it is absent if the copy died.
  void read(mlir::MLIRContext &context, const std::optional<std::string> &tried);

  /// The errors and warnings, with their notes.
  const std::vector<lsp::Diagnostic> &diagnostics() const { return found; }

  /// The meaning of the token at, or right before, the position.
  std::optional<Named> find(const lsp::Position &position);
  /// Places in other files from which the op comes: those in its location that have absolute paths.
  std::vector<lsp::Location> placesElsewhere(mlir::Operation *op) const;
  /// The outline: ops that define symbols, and sbp.group ops, whose name is that of their group.
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
  mlir::OwningOpRef<mlir::ModuleOp> holder; ///< the module that contains the text's ops
  mlir::AsmParserState tokens;
  std::vector<lsp::Diagnostic> found;
};

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LANGUAGE_SERVER_MODULETEXT_H
