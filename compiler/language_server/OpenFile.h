//===- OpenFile.h - A file that an editor has open ------------------------------===//
#ifndef SPLITCAST_COMPILER_LANGUAGE_SERVER_OPENFILE_H
#define SPLITCAST_COMPILER_LANGUAGE_SERVER_OPENFILE_H

#include "compiler/language_server/ModuleText.h"

#include "mlir/IR/MLIRContext.h"

#include <memory>

namespace splitcast {

/// One version of a file. Lines "// -----" divide it into modules. Each is parsed after as many empty lines as there
/// are lines before it in the file, so that line numbers are those of the file.
class OpenFile {
public:
  OpenFile(const mlir::DialectRegistry &registry, lsp::URIForFile uri, std::string text);

  const std::string &text() const { return content; }
  std::vector<lsp::Diagnostic> diagnostics() const;
  std::optional<lsp::Hover> hover(const lsp::Position &position);
  /// The definition of the token at the position; for the name of an op, the places in other files from which it comes.
  std::vector<lsp::Location> definitions(const lsp::Position &position);
  std::vector<lsp::Location> references(const lsp::Position &position, bool withDefinition);
  std::vector<lsp::DocumentSymbol> symbols() const;

private:
  struct Found {
    ModuleText *module;
    Named named;
  };
  void addModules();
  void readModules();
  std::optional<Found> find(const lsp::Position &position);

  lsp::URIForFile uri;
  std::string content;
  mlir::MLIRContext context; // one per version, since a context never frees what it has made unique
  std::vector<std::unique_ptr<ModuleText>> modules;
};

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LANGUAGE_SERVER_OPENFILE_H
