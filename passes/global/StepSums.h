//===- StepSums.h - The sums over the micro-batches of a step -----------------------===//
//
// Where a value of a step is P along micro-batches and a use wants it whole, it is summed over all of them. Each sum
// has a variable, its accumulator, to which the runs of a loop add. 'sbp-split-steps' builds these runs.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_STEPSUMS_H
#define SPLITCAST_PASSES_GLOBAL_STEPSUMS_H

#include "dialects/sbp/algebra/Policy.h"
#include "passes/global/MicroBatchRows.h"
#include "passes/global/SameElements.h"

#include <map>

namespace splitcast {

/// A value that is summed over micro-batches, for an update or for any other use.
struct Sum {
  mlir::Value addend;
  sbp::FenceOp fence; ///< the fence of the update after which it is summed; null: it is summed where it is made
  int64_t level = 0;  ///< the loop that it ends
  sbp::VariableOp accumulator;
};

/// How a function is computed in micro-batches.
struct Steps {
  int64_t count = 1;
  sbp::AccumulateOrder order = sbp::AccumulateOrder::PerMicroBatch;
  int64_t axis = 0; ///< the axis whose splits of the inputs are cut
};

/// The accumulators of the gradients of a module: states of their variables. Steps that update a variable in the same
/// way share them.
class Accumulators {
public:
  Accumulators(mlir::ModuleOp module, mlir::SymbolTable &symbols);

  /// Returns an accumulator of the variable. Several sums for a variable in one step have an accumulator each. So do
  /// steps that add up elements of different types: exact parts are f64, whatever the type of the variable is.
  sbp::VariableOp of(sbp::VariableOp variable, int64_t number, mlir::Type element);

  /// Creates a carried variable beside a variable or function. If the name is taken, it gets another one.
  sbp::VariableOp create(mlir::Operation *beside, const std::string &name, mlir::Type type, llvm::StringRef group);

  /// Returns the variable whose update the fence belongs to.
  sbp::VariableOp variableOf(sbp::FenceOp fence) const;

private:
  mlir::SymbolTable &symbols;
  std::string role = "accumulated";
  /// By variable and number of the sum.
  std::map<std::pair<mlir::Operation *, int64_t>, llvm::SmallVector<sbp::VariableOp>> all;
};

/// The sums of a function, with their accumulators. It borrows all that it is made of.
class StepSums {
public:
  StepSums(mlir::func::FuncOp function, const MicroBatchRows &rows, const SameElements &elements, const Steps &steps,
           Accumulators &accumulators);

  /// Returns the number of loops: the last one ends with the last sum, or makes the last result that is a part for each
  /// micro-batch.
  int64_t numLoops() const { return loops; }
  const Sum &of(mlir::OpOperand &use) const { return all[numbers.lookup(keyOf(use))]; }
  llvm::ArrayRef<Sum> sums() const { return all; }

private:
  using Key = std::pair<mlir::Value, mlir::Operation *>;

  Key keyOf(mlir::OpOperand &use) const;
  int64_t countLoops();
  void add(mlir::OpOperand &use);
  sbp::VariableOp accumulatorOf(const Sum &sum, sbp::FenceOp update);
  void markAsMade();

  mlir::func::FuncOp function;
  const MicroBatchRows &rows;
  const SameElements &elements;
  const Steps &steps;
  Accumulators &accumulators;
  llvm::SmallVector<Sum> all;
  int64_t loops = 0;
  llvm::DenseMap<Key, size_t> numbers;
  llvm::DenseMap<mlir::Operation *, int64_t> updates; ///< by variable: its sums so far
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_STEPSUMS_H
