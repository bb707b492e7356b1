#include "compiler/graph/GraphDiagnostics.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/raw_ostream.h"

namespace splitcast {

/// "file:line:column: ", or what names the place where there is no file, or nothing.
static std::string placeOf(mlir::Location location) {
  if (auto file = mlir::dyn_cast<mlir::FileLineColLoc>(location))
    return file.getFilename().str() + ":" + std::to_string(file.getLine()) + ":" + std::to_string(file.getColumn()) +
           ": ";
  if (auto name = mlir::dyn_cast<mlir::NameLoc>(location))
    return name.getName().str() + ": ";
  return "";
}

DiagnosticCollector::DiagnosticCollector(mlir::MLIRContext *context)
    : handler(context, [this](mlir::Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error)
          return;
        std::string text = diagnostic.str();
        located.push_back(placeOf(diagnostic.getLocation()) + "error: " + text);
        for (mlir::Diagnostic &note : diagnostic.getNotes()) {
          text += "; note: " + note.str();
          located.push_back(placeOf(note.getLocation()) + "note: " + note.str());
        }
        texts.push_back(std::move(text));
      }) {}

} // namespace splitcast
