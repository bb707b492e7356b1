//===- TextPlaces.h - Places in a text, as an editor and as MLIR name them ----===//
//
// An editor counts lines from 0, and within a line the code units of UTF-16. MLIR counts lines and bytes from 1, or
// points into the text. A place that is not in the text (an editor's beyond its end, MLIR's in another file) has an
// invalid llvm::SMLoc.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_LANGUAGE_SERVER_TEXTPLACES_H
#define SPLITCAST_COMPILER_LANGUAGE_SERVER_TEXTPLACES_H

#include "mlir/IR/Location.h"
#include "mlir/Tools/lsp-server-support/Protocol.h"
#include "llvm/Support/SourceMgr.h"

namespace splitcast {

namespace lsp = mlir::lsp;

class TextPlaces {
public:
  /// Keeps a copy of the text, which is called `path` in MLIR's locations.
  TextPlaces(llvm::StringRef path, llvm::StringRef text);

  const llvm::SourceMgr &manager() const { return sources; }
  llvm::StringRef text() const { return sources.getMemoryBuffer(sources.getMainFileID())->getBuffer(); }
  llvm::StringRef path() const { return sources.getMemoryBuffer(sources.getMainFileID())->getBufferIdentifier(); }

  llvm::SMLoc find(const lsp::Position &position);
  /// The first place in the location that is in this text.
  llvm::SMLoc find(mlir::Location location);

  lsp::Position positionOf(llvm::SMLoc place) const;
  lsp::Range rangeOf(llvm::SMRange range) const;
  mlir::FileLineColLoc locationOf(mlir::MLIRContext *context, llvm::SMLoc place) const;

private:
  llvm::SourceMgr sources;
};

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LANGUAGE_SERVER_TEXTPLACES_H
