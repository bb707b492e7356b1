//===- InWords.h - Types, signatures and reasons in words ---------------------===//
//
// The texts are Markdown, which an editor shows. For example, the first type is described by the text after it:
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

/// Returns the IR text of an attribute, a type or a location.
template <typename T> std::string textOf(T value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

/// Describes how a tensor lies on the ranks of an axis, of which there are `ranks`.
std::string inWords(const sbp::Sbp &entry, int64_t ranks);
/// Returns a line for each axis.
std::string inWords(sbp::NdAttr signature);
std::string inWords(sbp::PlacementAttr placement);

/// Describes a type: its shape and element type, placement, signature, and bytes.
std::string inWords(mlir::Type type);

/// Describes `signature` for a tensor of this type, and the bytes of the ranks' pieces. If the tensor cannot have the
/// signature, returns the signature's IR text.
std::string layoutInWords(mlir::RankedTensorType tensor, sbp::NdAttr signature);

/// Returns why an op has its signatures, or why a boxing was inserted. The location says this with #sbp.row or
/// #sbp.wanted; if it has neither, returns "".
std::string reasonInWords(mlir::Location location);

/// While it lives, drops all diagnostics. The functions above are also called for IR that does not verify.
class DropDiagnostics : public mlir::ScopedDiagnosticHandler {
public:
  explicit DropDiagnostics(mlir::MLIRContext *context)
      : ScopedDiagnosticHandler(context, [](mlir::Diagnostic &) { return mlir::success(); }) {}
};

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LANGUAGE_SERVER_INWORDS_H
