//===- GraphState.h - The state of a graph while it is built ------------------===//
//
// Graph.cc (functions, variables, the module) shares it with GraphOps.cc and the other files of ops. It is not for
// users.
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

#include <cmath>
#include <set>

namespace splitcast {

struct GraphFunction {
  mlir::func::FuncOp op;
  std::vector<std::string> inputNames; ///< one per argument
  std::vector<std::pair<std::string, mlir::Value>> outputs;
  llvm::StringMap<mlir::Value> reads; ///< the read of each variable, by its name
  mlir::Operation *lastRead = nullptr;
  bool isMinimized = false;
  std::set<std::string> assigned; ///< the names of the variables that it assigns
  bool drawsRandom = false;       ///< whether an op draws random numbers; if so, it ends by incrementing random.step
};

struct GraphState {
  explicit GraphState(const GraphOptions &options);

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::OpBuilder builder;
  sbp::PlacementAttr placement; ///< null if the options were wrong; then an error was recorded
  llvm::MapVector<mlir::StringAttr, GraphFunction> functions;
  mlir::StringAttr current;
  llvm::StringMap<sbp::VariableOp> variables;
  std::vector<std::string> variableNames;
  std::set<std::string> groups;                        ///< the groups that have a policy
  llvm::DenseMap<mlir::Value, std::string> valueNames; ///< for messages
  int64_t draws = 0;                                   ///< number of random ops so far; the key of each has its index
  std::vector<std::string> errors;
  std::string within; ///< for messages: the composite op (such as "rmsNorm") that is being built; empty if none is
  bool isFinished = false;
};

/// Adds ops to a graph's module, and records errors. `call` is the call that the user made, "matmul(x: ..., w: ...)",
/// and `at` is its place.
class GraphBuilder {
public:
  GraphBuilder(GraphState &state, std::string call, Caller at) : state(state), at(at), call(std::move(call)) {}

  /// Returns a builder for an op on `operands`, which must belong to one function of one graph. Returns nothing if an
  /// operand is invalid, or if one belongs to another function, which is recorded as an error.
  static std::optional<GraphBuilder> forOp(const std::string &name, llvm::ArrayRef<Tensor> operands, Caller at);
  static GraphState *stateOf(const Tensor &tensor) { return tensor.graph; }
  static mlir::Value valueOf(const Tensor &tensor) { return tensor.value; }
  static Tensor tensor(GraphState &state, mlir::Value value) { return Tensor(&state, value); }

  /// Records an error, and returns an invalid tensor.
  Tensor fail(const std::string &message);
  /// Whether ops can be added. It is false, with a recorded error, if the graph is finished or has no placement.
  bool isOpen();

  /// Appends an op to the operands' function; it must verify.
  template <typename OpTy, typename... Args> Tensor make(Args &&...args) {
    state.builder.setInsertionPointToEnd(block);
    return keep(state.builder.create<OpTy>(location(), std::forward<Args>(args)...));
  }
  /// Like make, but for an op without result.
  template <typename OpTy, typename... Args> bool append(Args &&...args) {
    state.builder.setInsertionPointToEnd(block);
    return verifyOrErase(state.builder.create<OpTy>(location(), std::forward<Args>(args)...));
  }
  bool verifyOrErase(mlir::Operation *op);
  /// See named().
  void name(const Tensor &tensor, const std::string &name);

  GraphFunction &currentFunction();
  /// Sets the function to which make and append add ops; forOp sets it to the operands' function.
  void appendTo(GraphFunction &function) { block = &function.op.getBody().front(); }
  /// The function of the operands. The builder must come from forOp.
  GraphFunction &operandFunction();
  /// A variable as `function` reads it; see Graph::variable.
  Tensor variable(GraphFunction &function, const std::string &name, const sbp::Shape &shape, const Init &init,
                  const VariableOptions &options);
  /// See Graph::assign.
  void assign(GraphFunction &function, const std::string &variable, const Tensor &value);
  /// Whether a variable is one of those that randomKey creates.
  static bool isOfRandomKey(const std::string &variable);
  /// Returns an i64 that differs for each call and each step, and depends on the session's seed.
  Tensor randomKey();
  /// Increments the count of steps at the end of `function`, so that its next run draws other numbers.
  static void countStep(GraphState &state, GraphFunction &function);
  mlir::Location location();
  /// Returns the signature, or null, with a recorded error, if it does not fit the shape.
  sbp::NdAttr signature(const Layout &layout, const sbp::Shape &shape);
  /// Returns the tensor type, or null, with a recorded error.
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

/// While it lives, errors of ops also name the composite op, such as "rmsNorm", that makes them. If several are nested,
/// the outermost is named.
class WithinFunction {
public:
  WithinFunction(const Tensor &operand, const char *name);
  ~WithinFunction();
  WithinFunction(const WithinFunction &) = delete;
  WithinFunction &operator=(const WithinFunction &) = delete;

private:
  GraphState *state; ///< null if this object is nested in another one, or if the operand belongs to no graph
};

mlir::Type toMlir(mlir::MLIRContext *context, ElementType type);
/// Returns "x: 128x256xf32", or "invalid".
std::string describe(const Tensor &tensor);
std::string shapeText(const sbp::Shape &shape);
/// Returns a dimension, which may count back from -1, as counted from 0.
inline int64_t fromStart(int64_t dim, const Tensor &x) {
  return dim < 0 ? dim + static_cast<int64_t>(x.shape().size()) : dim;
}
inline std::vector<int64_t> fromStart(std::vector<int64_t> dims, const Tensor &x) {
  for (int64_t &dim : dims)
    dim = fromStart(dim, x);
  return dims;
}
/// Whether a norm can add `number` to a variance.
inline bool isEpsilon(double number) { return number >= 0.0 && std::isfinite(number); }

} // namespace splitcast

#endif // SPLITCAST_COMPILER_GRAPH_GRAPHSTATE_H
