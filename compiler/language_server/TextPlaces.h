//===- TextPlaces.h - Converts between an editor's and MLIR's places in a text -===//
//
// An editor counts lines from 0, and UTF-16 code units within a line from 0. MLIR counts lines and bytes from 1, or
// points into the text. A place that is not in the text (behind its end, or in another file) is converted to an invalid
// llvm::SMLoc.
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
  /// Keeps a copy of the text. `path` is its file name in MLIR's locations.
  TextPlaces(llvm::StringRef path, llvm::StringRef text);

  const llvm::SourceMgr &manager() const { return sources; }
  llvm::StringRef text() const { return sources.getMemoryBuffer(sources.getMainFileID())->getBuffer(); }
  llvm::StringRef path() const { return sources.getMemoryBuffer(sources.getMainFileID())->getBufferIdentifier(); }

  llvm::SMLoc find(const lsp::Position &position);
  /// Returns the first place in the location that is in this text.
  llvm::SMLoc find(mlir::Location location);

  lsp::Position positionOf(llvm::SMLoc place) const;
  lsp::Range rangeOf(llvm::SMRange range) const;
  mlir::FileLineColLoc locationOf(mlir::MLIRContext *context, llvm::SMLoc place) const;

private:
  llvm::SourceMgr sources;
};

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LANGUAGE_SERVER_TEXTPLACES_H
