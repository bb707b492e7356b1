//===- GraphDiagnostics.h - MLIR's diagnostics as text ------------------------===//
#ifndef SPLITCAST_COMPILER_GRAPH_GRAPHDIAGNOSTICS_H
#define SPLITCAST_COMPILER_GRAPH_GRAPHDIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"

#include <string>
#include <vector>

namespace splitcast {

/// While it lives, collects the errors of a context instead of printing them. Other diagnostics are dropped. Of several
/// collectors of a context, the newest gets them. Only one thread at a time may use the context.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext *context);

  /// One text per error, followed by its notes: "text; note: text".
  const std::vector<std::string> &messages() const { return texts; }
  /// One line per error or note: "file:line:column: error: text".
  const std::vector<std::string> &locatedMessages() const { return located; }

private:
  std::vector<std::string> texts, located;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace splitcast

#endif // SPLITCAST_COMPILER_GRAPH_GRAPHDIAGNOSTICS_H
