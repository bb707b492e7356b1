#include "compiler/language_server/TextPlaces.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>

namespace splitcast {
namespace {

/// The number of UTF-16 code units of the character whose UTF-8 encoding starts
/// with this byte; 0 for the later bytes of a character.
int unitsBegunBy(char byte) {
  const auto bits = static_cast<unsigned char>(byte);
  if ((bits & 0xC0) == 0x80)
    return 0;
  return bits >= 0xF0 ? 2 : 1;
}

} // namespace

TextPlaces::TextPlaces(llvm::StringRef path, llvm::StringRef text) {
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, path), llvm::SMLoc());
}

llvm::SMLoc TextPlaces::find(const lsp::Position &position) {
  if (position.line < 0 || position.character < 0)
    return {};
  llvm::SMLoc line = sources.FindLocForLineAndColumn(sources.getMainFileID(), position.line + 1, 1);
  if (!line.isValid()) // the text has no such line, or the line is empty
    return {};
  const char *end = text().end();
  int units = 0;
  for (const char *at = line.getPointer();; ++at) {
    if (units >= position.character && (at == end || unitsBegunBy(*at) > 0))
      return llvm::SMLoc::getFromPointer(at);
    if (at == end || *at == '\n' || *at == '\r')
      return {};
    units += unitsBegunBy(*at);
  }
}

llvm::SMLoc TextPlaces::find(mlir::Location location) {
  llvm::SMLoc found;
  location->walk([&](mlir::Location part) {
    auto place = mlir::dyn_cast<mlir::FileLineColLoc>(part);
    if (!place || place.getFilename().getValue() != path())
      return mlir::WalkResult::advance();
    found = sources.FindLocForLineAndColumn(sources.getMainFileID(), place.getLine(), place.getColumn());
    return mlir::WalkResult::interrupt();
  });
  return found;
}

lsp::Position TextPlaces::positionOf(llvm::SMLoc place) const {
  // If the text ends with an attribute, the parser counts the terminating zero
  // as part of the last op.
  place = llvm::SMLoc::getFromPointer(std::min(place.getPointer(), text().end()));
  auto [line, column] = sources.getLineAndColumn(place);
  int units = 0;
  for (const char *at = place.getPointer() - (column - 1); at != place.getPointer(); ++at)
    units += unitsBegunBy(*at);
  return {static_cast<int>(line) - 1, units};
}

lsp::Range TextPlaces::rangeOf(llvm::SMRange range) const { return {positionOf(range.Start), positionOf(range.End)}; }

mlir::FileLineColLoc TextPlaces::locationOf(mlir::MLIRContext *context, llvm::SMLoc place) const {
  auto [line, column] = sources.getLineAndColumn(place);
  return mlir::FileLineColLoc::get(context, path(), line, column);
}

} // namespace splitcast
