//===- KernelForm.h - What a fusion computes, and in which nests ------------------------===//
//
// The linalg of a fusion, and how its results are grouped into loop nests: what every emitter of kernels starts from,
// whatever it emits for.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_PLAN_KERNELFORM_H
#define SPLITCAST_PASSES_PLAN_KERNELFORM_H

#include "dialects/nn/Nn.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/DenseSet.h"

namespace splitcast {

/// The linalg definitions of a fusion's ops, in a scratch module that it owns.
class LinalgBody {
public:
  explicit LinalgBody(nn::FusionOp fusion);

  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::SmallVector<mlir::Value> arguments, results; ///< for the fusion's operands and results
};

bool isReduction(mlir::linalg::GenericOp generic);

/// The reduction of which `tensor` is made element by element: of a sum, the sum itself; of one that is then rounded or
/// scaled, the one before. Null: none, or several.
mlir::linalg::GenericOp reductionOf(mlir::Value tensor);

/// Whether making `tensor` includes a reduction, or reads another tensor at computed places.
bool containsReduction(mlir::Value tensor);
bool usesPlaces(mlir::Value tensor);

/// How the results of a fusion are computed. Numbers are those of results.
///
/// A fusion is *flat* when every element needs of each operand of the same shape only the element at its own place: all
/// dimensions are then one. Otherwise there is at most one *row nest*, over `rows`: what can be computed in one walk
/// over the rows of that shape, a row being the elements along its last dimension.
struct KernelForm {
  bool isFlat = false;
  llvm::SmallVector<int64_t> rows;
  llvm::SmallVector<size_t> first;    ///< of the shape `rows`; stored before the row's reductions, which need them
  llvm::SmallVector<size_t> elements; ///< of the shape `rows`
  llvm::SmallVector<size_t> perRow;   ///< of the shape `rows` without its last dimension
  llvm::SmallVector<size_t> columns;  ///< summed over the rows, in ascending order; of the shape of a row
  llvm::SmallVector<size_t> others;   ///< each in a nest of its own

  explicit KernelForm(const LinalgBody &body);

  /// Whether result `result` may be computed in place of operand `operand`, of the same shape and element type: what
  /// is read of the operand when an element is stored is that element, or was read before. Where kernels are launched
  /// as threads, sums over the rows are a launch of their own, after the elements.
  bool mayTie(const LinalgBody &body, size_t result, size_t operand, bool launchesThreads) const;

  /// Whether threads make the row nest by warps, a row each, that share the row's reductions; else each thread makes
  /// elements alone.
  bool needsWarps() const { return warps; }

private:
  /// What making one result needs. Found once for each: it is asked of pairs of results and operands, of which there
  /// may be many.
  struct Needs {
    llvm::DenseSet<mlir::Value> read;      ///< also by way of what it takes elements of at computed places
    llvm::DenseSet<mlir::Value> reduced;   ///< inputs of reductions, the result's own sum over rows left out
    llvm::DenseSet<mlir::Value> elsewhere; ///< of `read`, at other places than its own (RowReads)
    bool hasReduction = false, hasPlaces = false;
    bool isElement = false, isColumn = false, isOther = false; ///< which of the lists above has it
  };
  Needs needsOf(const LinalgBody &body, size_t result) const;
  void noteLists();
  void sortIntoNest(llvm::ArrayRef<size_t> ofRowShape, const LinalgBody &body);
  bool readsOwn(size_t result, mlir::Value value) const;
  bool mayOverwrite(mlir::Value argument, bool launchesThreads) const;

  llvm::SmallVector<Needs> needs; ///< by result; of flat fusions none
  bool warps = false;
  llvm::SmallVector<bool> overwritten, overwrittenByThreads; ///< by operand, whether an element may take its place
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_PLAN_KERNELFORM_H
