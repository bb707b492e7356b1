//===- KernelForm.h - The loop nests in which a fusion is computed ------------------------===//
//
// The linalg of a fusion, and how its results are grouped into loop nests. Every emitter of kernels starts from these,
// for any device.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_PLAN_KERNELFORM_H
#define SPLITCAST_PASSES_PLAN_KERNELFORM_H

#include "dialects/nn/Nn.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/DenseSet.h"

#include <optional>

namespace splitcast {

/// The linalg definitions of a fusion's ops, in a scratch module that it owns.
class LinalgBody {
public:
  explicit LinalgBody(nn::FusionOp fusion);

  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::SmallVector<mlir::Value> arguments, results; ///< for the fusion's operands and results
};

bool isReduction(mlir::linalg::GenericOp generic);

/// Whether the sum has the same bits in whatever order it is added up (sbp::LoopSpec::exactSums).
bool isExactSum(mlir::linalg::GenericOp generic);

/// The tensors that a concatenation joins along a dimension, without those that have no elements.
struct Joined {
  int64_t dim;
  llvm::SmallVector<mlir::Value> pieces;
};
/// Returns what `tensor` joins; none if it is no concatenation.
std::optional<Joined> joinedBy(mlir::Value tensor);

/// Returns the reduction from which `tensor` is made element by element: for a sum, the sum itself; for a sum that is
/// then rounded or scaled, that sum. Null if there is none, or if there are several.
mlir::linalg::GenericOp reductionOf(mlir::Value tensor);

/// Whether the computation of `tensor` includes a reduction, or reads another tensor at computed places.
bool containsReduction(mlir::Value tensor);
bool usesPlaces(mlir::Value tensor);

/// How the results of a fusion are computed. The lists have numbers of results.
///
/// A fusion is *flat* if its operands are scalars or have the shape of the results, and every element needs only the
/// element of each operand at its own place: all dimensions are then treated as one. Otherwise there is at most one
/// *row nest*, over `rows`: it has the results that can be computed in one walk over the rows of that shape, where a
/// row is the elements along the last dimension.
struct KernelForm {
  bool isFlat = false;
  llvm::SmallVector<int64_t> rows;
  llvm::SmallVector<size_t> first;    ///< of the shape `rows`; stored before the row's reductions, which read them
  llvm::SmallVector<size_t> elements; ///< of the shape `rows`
  llvm::SmallVector<size_t> perRow;   ///< of the shape `rows` without its last dimension
  llvm::SmallVector<size_t> columns;  ///< summed over the rows (RowBlocks.h); of the shape of a row
  llvm::SmallVector<size_t> others;   ///< each in a nest of its own

  explicit KernelForm(const LinalgBody &body);

  /// Whether result `result` may be computed in place of operand `operand`, which has the same shape and element type:
  /// whatever reads the operand when an element is stored must read that element, or have read it before. Where kernels
  /// are launched as threads, sums over the rows are a launch of their own, after the elements.
  bool mayTie(const LinalgBody &body, size_t result, size_t operand, bool launchesThreads) const;

  /// Whether, on a device that launches threads, a warp computes each row of the row nest, and its threads share the
  /// row's reductions; else each thread computes elements alone.
  bool needsWarps() const { return warps; }

private:
  /// What the computation of one result needs. It is found once per result, since mayTie is called for pairs of results
  /// and operands, of which there may be many.
  struct Needs {
    llvm::DenseSet<mlir::Value> read;      ///< includes values that are read at computed places
    llvm::DenseSet<mlir::Value> reduced;   ///< inputs of reductions, except those of the result's own sum over rows
    llvm::DenseSet<mlir::Value> elsewhere; ///< those of `read` that are read at another place (RowReads)
    bool hasReduction = false, hasPlaces = false;
    bool isElement = false, isColumn = false, isOther = false; ///< which of the lists above has the result
  };
  Needs needsOf(const LinalgBody &body, size_t result) const;
  void noteLists();
  void sortIntoNest(llvm::ArrayRef<size_t> ofRowShape, const LinalgBody &body);
  bool readsOwn(size_t result, mlir::Value value) const;
  bool mayOverwrite(mlir::Value argument, bool launchesThreads) const;

  llvm::SmallVector<Needs> needs; ///< by result; empty for flat fusions
  bool warps = false;
  llvm::SmallVector<bool> overwritten, overwrittenByThreads; ///< by operand, whether a result may take its place
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_PLAN_KERNELFORM_H
