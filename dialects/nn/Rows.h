//===- Rows.h - linalg over the rows of a tensor ------------------------------===//
//
// Common code of the ops that need the last dimension whole: a row is the elements along it, and a statistic of rows
// has all dimensions except the last.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_NN_ROWS_H
#define SPLITCAST_DIALECTS_NN_ROWS_H

#include "dialects/nn/Nn.h"

namespace splitcast::nn {

/// Builds linalg.generic ops over tensors of the shape of `like`, which has at least one dimension.
class RowBuilder {
public:
  RowBuilder(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value like);

  using Body = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

  /// The inputs of a generic: elements, then values per row, then values per column.
  struct Inputs {
    llvm::SmallVector<mlir::Value> elements, perRow, perColumn;
  };

  /// Builds one value per row; the body's last argument is the accumulator, which starts as `init`.
  mlir::Value reduce(const Inputs &inputs, double init, Body body);
  /// Builds one value per element.
  mlir::Value map(const Inputs &inputs, Body body);
  /// Builds one value per row, from values per row.
  mlir::Value mapRows(mlir::ValueRange perRow, Body body);

  mlir::Value rowMax(mlir::Value elements);
  mlir::Value rowSum(mlir::Value elements);
  /// Builds the sum of exp(element - max) of each row.
  mlir::Value rowSumExp(mlir::Value elements, mlir::Value max);

  mlir::RankedTensorType rowType() const;
  int64_t rank() const { return type.getRank(); }
  int64_t rowExtent() const { return type.getShape().back(); }

private:
  llvm::SmallVector<mlir::Value> valuesOf(const Inputs &inputs);
  llvm::SmallVector<mlir::AffineMap> mapsFor(const Inputs &inputs, mlir::AffineMap result);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::RankedTensorType type;
  mlir::AffineMap identity, row, column;
};

/// Adds the factors of a tensor whose last dimension is needed whole, and returns them; the tensor has at least one
/// dimension.
sbp::TensorFactors rowFactors(sbp::LoopSpec &spec, llvm::ArrayRef<int64_t> shape);

} // namespace splitcast::nn

#endif // SPLITCAST_DIALECTS_NN_ROWS_H
