//===- Windows.h - Windows of the last two dimensions: NnWindows.td ------------------===//
#ifndef SPLITCAST_DIALECTS_NN_WINDOWS_H
#define SPLITCAST_DIALECTS_NN_WINDOWS_H

#include "dialects/exec/Window.h"
#include "dialects/nn/Nn.h"

#include <array>

namespace splitcast::nn {

/// The first window is that down (height), the second that across (width).
using exec::Window;
using Windows = std::array<Window, 2>;

/// Returns the windows of both dimensions. Requires verifyWindows.
Windows windowsOf(llvm::ArrayRef<int64_t> kernel, llvm::ArrayRef<int64_t> strides, llvm::ArrayRef<int64_t> padding,
                  llvm::ArrayRef<int64_t> dilation);

/// Verifies that the numbers and the last two extents of `shape`, which has two or more, are in range, and that there
/// is a window along each of the two dimensions. Emits an error on the op.
mlir::LogicalResult verifyWindows(mlir::Operation *op, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> kernel,
                                  llvm::ArrayRef<int64_t> strides, llvm::ArrayRef<int64_t> padding,
                                  llvm::ArrayRef<int64_t> dilation);

/// An index along a dimension; it is 0 if `isThere`, an i1, is false.
struct Place {
  mlir::Value at, isThere;
};

/// Builds the index of the element that tap `tap` of window `number` covers.
Place coveredBy(mlir::OpBuilder &builder, mlir::Location loc, const Window &window, mlir::Value number, mlir::Value tap,
                int64_t extent);
/// Builds the number of the window whose tap `tap` covers the element.
Place covering(mlir::OpBuilder &builder, mlir::Location loc, const Window &window, mlir::Value element, mlir::Value tap,
               int64_t windows);

/// Builds the element at `place` in the last two dimensions and `before` in the earlier ones; `otherwise` where there
/// is none.
mlir::Value elementAt(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value tensor,
                      llvm::SmallVector<mlir::Value> before, const std::array<Place, 2> &place, mlir::Value otherwise);

} // namespace splitcast::nn

#endif // SPLITCAST_DIALECTS_NN_WINDOWS_H
