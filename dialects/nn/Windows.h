//===- Windows.h - Windows of the last two dimensions: NnWindows.td ------------------===//
#ifndef SPLITCAST_DIALECTS_NN_WINDOWS_H
#define SPLITCAST_DIALECTS_NN_WINDOWS_H

#include "dialects/exec/Window.h"
#include "dialects/nn/Nn.h"

#include <array>

namespace splitcast::nn {

/// Down and across.
using exec::Window;
using Windows = std::array<Window, 2>;

/// Requires verifyWindows.
Windows windowsOf(llvm::ArrayRef<int64_t> kernel, llvm::ArrayRef<int64_t> strides, llvm::ArrayRef<int64_t> padding,
                  llvm::ArrayRef<int64_t> dilation);

/// Whether the numbers are in range, and so are the last two extents of `shape`, which has two or more; and there is a
/// window along each. Failure after an error on the op.
mlir::LogicalResult verifyWindows(mlir::Operation *op, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> kernel,
                                  llvm::ArrayRef<int64_t> strides, llvm::ArrayRef<int64_t> padding,
                                  llvm::ArrayRef<int64_t> dilation);

/// A place along a dimension, 0 where `isThere`, an i1, does not hold.
struct Place {
  mlir::Value at, isThere;
};

/// The element that tap `tap` of window number `window` covers.
Place coveredBy(mlir::OpBuilder &builder, mlir::Location loc, const Window &window, mlir::Value number, mlir::Value tap,
                int64_t extent);
/// The window whose tap `tap` covers the element.
Place covering(mlir::OpBuilder &builder, mlir::Location loc, const Window &window, mlir::Value element, mlir::Value tap,
               int64_t windows);

/// The element at `place` of the last two dimensions and `before` of those before them, or `otherwise`.
mlir::Value elementAt(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value tensor,
                      llvm::SmallVector<mlir::Value> before, const std::array<Place, 2> &place, mlir::Value otherwise);

} // namespace splitcast::nn

#endif // SPLITCAST_DIALECTS_NN_WINDOWS_H
