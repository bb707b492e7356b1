//===- InWords.h - Types, signatures and reasons in words ---------------------===//
//
// The texts are Markdown, for an editor to show.
//
//   tensor<10x4xf32, #sbp.nd<#sbp.placement<"cpu", [dp = 3, tp = 2]>, [S(0), B]>>
//
//   `tensor<10x4xf32>` on "cpu", dp = 3, tp = 2
//   - dp: split along dimension 0 over 3 ranks
//   - tp: every rank has all of it
//
//   160 bytes; 48 to 64 bytes per rank (in the order of the mesh: 64, 64, 48, 48, 48, 48)
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_LANGUAGE_SERVER_INWORDS_H
#define SPLITCAST_COMPILER_LANGUAGE_SERVER_INWORDS_H

#include "dialects/sbp/Sbp.h"

#include <string>

namespace splitcast {

/// The text of the IR, of an attribute, a type or a location.
template <typename T> std::string textOf(T value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

/// How a tensor lies along an axis of so many ranks.
std::string inWords(const sbp::Sbp &entry, int64_t ranks);
/// A line for each axis.
std::string inWords(sbp::NdAttr signature);
std::string inWords(sbp::PlacementAttr placement);

/// All of a type: shape and elements, placement, signature, and bytes.
std::string inWords(mlir::Type type);

/// The signature of such a tensor, and the bytes of its pieces; of a signature that the tensor cannot have, its text.
std::string layoutInWords(mlir::RankedTensorType tensor, sbp::NdAttr signature);

/// Why the op has its signatures, or why a boxing is there, by #sbp.row or #sbp.wanted in the location; else "".
std::string reasonInWords(mlir::Location location);

/// While it lives, drops what is said to be wrong: words are asked for, too, about what does not verify.
class DropDiagnostics : public mlir::ScopedDiagnosticHandler {
public:
  explicit DropDiagnostics(mlir::MLIRContext *context)
      : ScopedDiagnosticHandler(context, [](mlir::Diagnostic &) { return mlir::success(); }) {}
};

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LANGUAGE_SERVER_INWORDS_H
