//===- GraphState.h - What a graph is while it is built -----------------------===//
//
// Between Graph.cc (functions, variables, the module) and GraphOps.cc (ops). Not for users.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_GRAPH_GRAPHSTATE_H
#define SPLITCAST_COMPILER_GRAPH_GRAPHSTATE_H

#include "compiler/graph/Graph.h"
#include "dialects/nn/Nn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/MapVector.h"

#include <set>

namespace splitcast {

struct GraphFunction {
  mlir::func::FuncOp op;
  std::vector<std::string> inputNames; ///< one per argument
  std::vector<std::pair<std::string, mlir::Value>> outputs;
  llvm::StringMap<mlir::Value> reads; ///< by variable
  mlir::Operation *lastRead = nullptr;
  bool isMinimized = false;
  std::set<std::string> assigned; ///< variables
  bool drawsRandom = false;       ///< its end counts the step on
};

struct GraphState {
  explicit GraphState(const GraphOptions &options);

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::OpBuilder builder;
  sbp::PlacementAttr placement; ///< null: the options were wrong, and an error is noted
  llvm::MapVector<mlir::StringAttr, GraphFunction> functions;
  mlir::StringAttr current;
  llvm::StringMap<sbp::VariableOp> variables;
  std::vector<std::string> variableNames;
  std::set<std::string> groups;                        ///< that something is said of
  llvm::DenseMap<mlir::Value, std::string> valueNames; ///< for messages
  int64_t draws = 0;                                   ///< ops that draw random numbers, each with a number of its own
  std::vector<std::string> errors;
  std::string within; ///< the function of ops that is being made, for messages; empty: none
  bool isFinished = false;
};

/// Builds into a graph's module, and notes errors. `call` names the call that the user made: "matmul(x: ..., w: ...)";
/// `at` is where.
class GraphBuilder {
public:
  GraphBuilder(GraphState &state, std::string call, Caller at) : state(state), at(at), call(std::move(call)) {}

  /// For an op on `operands`, all of one function of one graph; nothing when one of them is invalid or of another
  /// function, which is then noted.
  static std::optional<GraphBuilder> forOp(const std::string &name, llvm::ArrayRef<Tensor> operands, Caller at);
  static GraphState *stateOf(const Tensor &tensor) { return tensor.graph; }
  static mlir::Value valueOf(const Tensor &tensor) { return tensor.value; }
  static Tensor tensor(GraphState &state, mlir::Value value) { return Tensor(&state, value); }

  /// Notes an error, and gives the invalid tensor.
  Tensor fail(const std::string &message);
  /// False, with an error, once the graph is finished or when it never had a placement.
  bool isOpen();

  /// Appends an op to the operands' function; it must verify.
  template <typename OpTy, typename... Args> Tensor make(Args &&...args) {
    state.builder.setInsertionPointToEnd(block);
    return keep(state.builder.create<OpTy>(location(), std::forward<Args>(args)...));
  }
  /// As make, for an op without result.
  template <typename OpTy, typename... Args> bool append(Args &&...args) {
    state.builder.setInsertionPointToEnd(block);
    return verifyOrErase(state.builder.create<OpTy>(location(), std::forward<Args>(args)...));
  }
  bool verifyOrErase(mlir::Operation *op);

  GraphFunction &currentFunction();
  /// Where make and append put what they make; forOp says it by operands.
  void appendTo(GraphFunction &function) { block = &function.op.getBody().front(); }
  /// That of the operands, after forOp.
  GraphFunction &operandFunction();
  /// A variable as `function` reads it; see Graph::variable.
  Tensor variable(GraphFunction &function, const std::string &name, const sbp::Shape &shape, const Init &init,
                  const VariableOptions &options);
  /// See Graph::assign.
  void assign(GraphFunction &function, const std::string &variable, const Tensor &value);
  /// Whether a variable is one of those that randomKey makes.
  static bool isOfRandomKey(const std::string &variable);
  /// An i64 that differs for each call and each step, and depends on the session's seed.
  Tensor randomKey();
  /// Ends a step of `function`: what it drew will be drawn no more.
  static void countStep(GraphState &state, GraphFunction &function);
  mlir::Location location();
  /// The signature, or null with an error when it does not fit the shape.
  sbp::NdAttr signature(const Layout &layout, const sbp::Shape &shape);
  /// The tensor type, or null with an error.
  mlir::RankedTensorType tensorType(ElementType type, const sbp::Shape &shape, const Layout &layout);
  mlir::Attribute initializer(const Init &init);
  mlir::FloatAttr number(double value) { return state.builder.getF64FloatAttr(value); }

  GraphState &state;
  const Caller at;

private:
  Tensor keep(mlir::Operation *op);

  std::string call;
  mlir::Block *block = nullptr;
};

/// While it lives, errors of ops name the function of ops that they are of, too. The outermost counts.
class WithinFunction {
public:
  WithinFunction(const Tensor &operand, const char *name);
  ~WithinFunction();
  WithinFunction(const WithinFunction &) = delete;
  WithinFunction &operator=(const WithinFunction &) = delete;

private:
  GraphState *state; ///< null: another is, or the operand is of no graph
};

mlir::Type toMlir(mlir::MLIRContext *context, ElementType type);
/// "x: 128x256xf32", or "invalid".
std::string describe(const Tensor &tensor);
std::string shapeText(const sbp::Shape &shape);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_GRAPH_GRAPHSTATE_H
