//===- FunctionBuilder.h - Builds a function of a random module ----------------------===//
#ifndef SPLITCAST_TESTS_PROPERTY_FUNCTIONBUILDER_H
#define SPLITCAST_TESTS_PROPERTY_FUNCTIONBUILDER_H

#include "tests/property/ModelState.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace splitcast::property {

constexpr double kLargestBound = 60; ///< the largest bound of a tensor's elements

inline sbp::Shape shapeOf(mlir::Value value) { return sbp::shapeOf(value.getType()); }
inline mlir::Type elementOf(mlir::Value value) { return mlir::getElementTypeOrSelf(value.getType()); }

class FunctionBuilder {
public:
  struct Input {
    mlir::Value value;
    int64_t low, high;
  };
  /// A variable that carries a value from one run of a schedule to the next ones. Some run has assigned it.
  struct Carried {
    sbp::VariableOp variable;
    double bound;
    bool isFinal; ///< whether no other run may assign it
  };
  /// Which results a run gives to its schedule: none, only those with a dimension of which it is a part, or any.
  enum class Gives { Nothing, Parts, All };

  /// With `ofIntegers` it uses only ops that are exact on small integers.
  FunctionBuilder(ModelState &model, const std::string &name, bool ofIntegers);

  /// Adds inputs and `ops` random ops.
  void build(int64_t ops);
  /// Reduces all values without uses to a scalar, and minimizes it.
  void minimize(mlir::Attribute optimizer);
  /// Adds random ops on the current values of variables.
  void useUpdated(int64_t ops);
  /// Adds features that users write besides a model (FunctionBuilderUsers.cc). What is minimized does not depend on
  /// them.
  void addFeatures(int64_t count);
  /// Adds a value that a kernel uses while ranks exchange it. It is computed from a variable or from an input.
  void useWhileMoved(bool ofVariable);
  /// Adds a second step, which uses what the first one has updated.
  void minimizeAgain(mlir::Attribute optimizer);
  /// Completes the function, which returns some of its values.
  void finish();

  /// Returns a call with random data for the inputs.
  differential::Call call();

  // The functions below are for runs of a schedule (FunctionBuilderRuns.cc).
  /// Adds random ops on carried variables.
  void useCarried(const std::vector<Carried> &carried, int64_t ops);
  /// Adds to a carried variable, replaces its value, or carries a new one. `times` is how often the function runs.
  void carry(std::vector<Carried> &carried, int64_t times);
  /// Carries a value that depends on a variable and on no input.
  void keep(std::vector<Carried> &carried);
  /// Adds the micro-batch's number as the last argument. No input may be added after it.
  void useNumber();
  /// Completes the function; to be called instead of `finish`.
  void finishRun(Gives gives);

  mlir::func::FuncOp get() { return function; }
  const std::vector<Input> &getInputs() const { return inputs; }
  bool takesNumber() const { return isNumbered; }

private:
  struct Known {
    mlir::Value value;
    double bound; ///< a rough bound of the magnitude before the first update, so that sums stay exact
  };

  // Each of these adds an op, or nothing if no operand fits. Those on rows are in FunctionBuilderRows.cc, those on
  // images in FunctionBuilderImages.cc.
  void addRandomOp();
  void unary();
  void binary();
  void matmul();
  void reduceSum();
  void broadcast();
  void reshape();
  void slice();
  void transpose();
  void concat();
  void cast();
  void castOfHalves();
  void notEqual();
  void compare();
  void stopGradient();
  void constant();
  void embedding();
  void boxing();
  void assignByHand();
  void smooth();
  void quotient();
  void softmax();
  void layerNorm();
  void crossEntropy();
  void attention();
  void dropout();
  void convolution();
  void maxPool();

  // These add features.
  void copyVariable();
  void countIntegers();
  void addEmpty();
  void fenceByHand();
  void rowsOfProduct();
  void useInputWhileMoved() { useWhileMoved(/*ofVariable=*/false); }
  void updateByHand();

  bool leadsOn(mlir::Operation *op);
  using Condition = llvm::function_ref<bool(const Known &)>;
  std::optional<Known> any(Condition condition);
  std::optional<Known> anyOf(int64_t rank);
  void know(mlir::Value value, double bound);
  void knowTruth(mlir::Value value);
  Known partner(const Known &like);
  Known factor(const Known &x, int64_t contracted, const sbp::Shape &shape);
  mlir::Value read(const Carried &from);
  void returnAll(llvm::ArrayRef<mlir::Value> results);
  Known readVariable(const sbp::Shape &shape, mlir::Type element);
  Known asMatrix(const Known &known);
  /// Reshapes to three or more dimensions, of which the last two are a matrix.
  Known asMatrices(const Known &known);
  /// Multiplies a matrix by a variable, and reshapes the rows to [samples, rows of a sample, heads, width].
  Known asHeads(const Known &matrix, int64_t samples, int64_t heads, int64_t width);
  /// Reshapes to [samples, channels, height, width]; with fewer channels if `channels` does not divide the elements.
  Known asImages(const Known &known, int64_t channels);
  Known withoutTies(const Known &known);
  mlir::Type elementOfTruth();
  mlir::Value addInput(const sbp::Shape &shape, mlir::Type element, int64_t low, int64_t high);
  template <typename OpT, typename... Args> mlir::Value make(Args &&...args) {
    return signedAtRandom(b.create<OpT>(b.getUnknownLoc(), std::forward<Args>(args)...));
  }
  /// Returns the result of an op, sometimes with a signature that the user asks for.
  mlir::Value signedAtRandom(mlir::Operation *op);

  ModelState &model;
  Random &random;
  mlir::OpBuilder b;
  mlir::func::FuncOp function;
  bool ofIntegers;
  bool hasTrainable = false; ///< whether there is a variable by which the loss can be minimized
  bool isMinimized = false;
  bool isNumbered = false;
  std::vector<Known> pool;
  std::vector<Input> inputs;
  std::vector<mlir::Value> returned; ///< results, in addition to those that `finish` picks
  int64_t batch;
};

} // namespace splitcast::property

#endif // SPLITCAST_TESTS_PROPERTY_FUNCTIONBUILDER_H
