//===- FunctionBuilder.h - One function of a random module ---------------------------===//
#ifndef SPLITCAST_TESTS_PROPERTY_FUNCTIONBUILDER_H
#define SPLITCAST_TESTS_PROPERTY_FUNCTIONBUILDER_H

#include "tests/property/ModelState.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace splitcast::property {

constexpr double kLargestBound = 60; ///< of a tensor's elements

inline sbp::Shape shapeOf(mlir::Value value) { return sbp::shapeOf(value.getType()); }
inline mlir::Type elementOf(mlir::Value value) { return mlir::getElementTypeOrSelf(value.getType()); }

class FunctionBuilder {
public:
  struct Input {
    mlir::Value value;
    int64_t low, high;
  };
  /// What runs of a schedule pass on; some of them have assigned it.
  struct Carried {
    sbp::VariableOp variable;
    double bound;
    bool isFinal; ///< no other run may assign it
  };
  /// What a run gives to its schedule: nothing, what has a dimension of which it is a part, or anything.
  enum class Gives { Nothing, Parts, All };

  /// `ofIntegers`: only ops that are exact on small integers.
  FunctionBuilder(ModelState &model, const std::string &name, bool ofIntegers);

  /// Inputs, then `ops` random ops.
  void build(int64_t ops);
  /// Reduces all that nothing else was computed from to a scalar, and minimizes it.
  void minimize(mlir::Attribute optimizer);
  /// Random ops on variables as they are now.
  void useUpdated(int64_t ops);
  /// What users write besides a model, of which nothing that is minimized depends (FunctionBuilderUsers.cc).
  void addFeatures(int64_t count);
  /// Something that ranks exchange while a kernel uses it, made of an input, or of what is stored.
  void useWhileMoved(bool ofVariable);
  /// A second step, on what the first has updated.
  void minimizeAgain(mlir::Attribute optimizer);
  /// Returns some values; the function is complete.
  void finish();

  /// Random data for the inputs.
  differential::Call call();

  // Of a run of a schedule (FunctionBuilderRuns.cc).
  /// Random ops on what is carried so far.
  void useCarried(const std::vector<Carried> &carried, int64_t ops);
  /// Adds to what is carried, replaces it, or carries more. `times`: how often the function runs.
  void carry(std::vector<Carried> &carried, int64_t times);
  /// Carries what is made of a variable alone, of no inputs.
  void keep(std::vector<Carried> &carried);
  /// The micro-batch's number, as the last argument: no input comes after it.
  void useNumber();
  /// In place of `finish`.
  void finishRun(Gives gives);

  mlir::func::FuncOp get() { return function; }
  const std::vector<Input> &getInputs() const { return inputs; }
  bool takesNumber() const { return isNumbered; }

private:
  struct Known {
    mlir::Value value;
    double bound; ///< of the magnitude before the first update, roughly: sums must stay exact
  };

  // Ops; each does nothing when no operand fits. Those of rows: FunctionBuilderRows.cc; of images:
  // FunctionBuilderImages.cc.
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

  // Features.
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
  /// Three dimensions or more, the last two being a matrix.
  Known asMatrices(const Known &known);
  /// The rows of a matrix, multiplied by a variable and taken apart: [samples, rows of a sample, heads, width].
  Known asHeads(const Known &matrix, int64_t samples, int64_t heads, int64_t width);
  /// Its elements as [samples, channels, height, width], of so many channels or, where they do not divide them, fewer.
  Known asImages(const Known &known, int64_t channels);
  Known withoutTies(const Known &known);
  mlir::Type elementOfTruth();
  mlir::Value addInput(const sbp::Shape &shape, mlir::Type element, int64_t low, int64_t high);
  template <typename OpT, typename... Args> mlir::Value make(Args &&...args) {
    return signedAtRandom(b.create<OpT>(b.getUnknownLoc(), std::forward<Args>(args)...));
  }
  /// The result of an op, sometimes with a signature that the user asks for.
  mlir::Value signedAtRandom(mlir::Operation *op);

  ModelState &model;
  Random &random;
  mlir::OpBuilder b;
  mlir::func::FuncOp function;
  bool ofIntegers;
  bool hasTrainable = false; ///< something that the loss can be minimized by
  bool isMinimized = false;
  bool isNumbered = false;
  std::vector<Known> pool;
  std::vector<Input> inputs;
  std::vector<mlir::Value> returned; ///< besides what `finish` picks
  int64_t batch;
};

} // namespace splitcast::property

#endif // SPLITCAST_TESTS_PROPERTY_FUNCTIONBUILDER_H
