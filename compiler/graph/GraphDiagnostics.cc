#include "compiler/graph/GraphDiagnostics.h"

#include "dialects/sbp/Places.h"

namespace splitcast {

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
