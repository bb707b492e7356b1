//===- Graph.h - Writing a model in C++ ---------------------------------------===//
//
// Builds a module at the global level: every tensor is the whole one, whatever the number of ranks.
//
//   Graph graph({"cpu", {{"dp", 4}}});
//   graph.function("train");
//   Tensor x = graph.input("x", ElementType::F32, {128, 256}, split(0));
//   Tensor labels = graph.input("labels", ElementType::I64, {128}, split(0));
//   Tensor logits = linear(relu(linear(x, "fc1", 128)), "fc2", 10);
//   Tensor loss = mean(softmaxCrossEntropy(logits, labels));
//   graph.minimize(loss, Sgd{1e-3});
//   graph.output("loss", loss);
//   graph.function("predict");              // the same names are the same variables
//   ...
//   absl::StatusOr<mlir::ModuleOp> module = graph.finish();
//
// Errors  No call fails by itself. An error (shapes that do not match, a name used twice) is recorded with the call
//         that caused it. The call returns an invalid tensor, and every tensor computed from it is invalid, too.
//         finish() returns all recorded errors.
// Life    Tensors and the module live in the graph, and a session uses the MLIR context of its module: destroy the
//         session before the graph. Moving a graph keeps its tensors valid; a graph that was moved from may only be
//         destroyed.
// Thread  Only one thread at a time may use a graph, its tensors and its module.
// Places  Each op knows the file and line of the call that made it. Errors of the graph, and of whatever compiles it,
//         begin with this place. If a helper function of the user makes the call, the place is the line inside the
//         helper. A helper that takes a last parameter `Caller at = Caller::here()`, and passes `at` on, reports its
//         caller's line instead. Places affect neither what is computed nor what ranks compare.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_GRAPH_GRAPH_H
#define SPLITCAST_COMPILER_GRAPH_GRAPH_H

#include "dialects/nn/LossScale.h"
#include "dialects/nn/Optimizers.h"
#include "dialects/nn/RateSchedules.h"
#include "dialects/sbp/algebra/Policy.h"
#include "dialects/sbp/algebra/Signature.h"
#include "runtime/api/ElementType.h"

#include "absl/status/statusor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Value.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace splitcast {

using runtime::ElementType;

//===----------------------------------------------------------------------===//
// Places of calls
//===----------------------------------------------------------------------===//

/// The file and line of a call: the default argument of a function's last parameter. Only here() makes one, so that a
/// braced initializer list is never converted to a Caller.
class Caller {
public:
  /// The place of the call to the function that has this as its default argument.
  static Caller here(const char *file = __builtin_FILE(), int line = __builtin_LINE()) { return {{}, file, line}; }

  const char *file() const { return name; }
  int line() const { return number; }

private:
  struct OnlyHere {};
  Caller(OnlyHere, const char *file, int line) : name(file), number(line) {}

  const char *name;
  int number;
};

//===----------------------------------------------------------------------===//
// Layouts of tensors
//===----------------------------------------------------------------------===//

/// Each rank of the axis has consecutive elements of dimension `dim`, which counts from 0. If the ranks do not divide
/// its extent, the first ones have one element more.
inline sbp::Sbp split(int64_t dim) { return sbp::Sbp::split(dim); }
/// Each rank of the axis has the whole tensor.
inline sbp::Sbp broadcast() { return sbp::Sbp::broadcast(); }

/// How a tensor lies on the ranks: one entry per axis of the placement. Entries of the last axes may be left out; they
/// are broadcast(). So by default every rank has the whole tensor.
struct Layout {
  Layout() = default;
  Layout(sbp::Sbp first) : entries{std::move(first)} {}
  Layout(std::vector<sbp::Sbp> entries) : entries(std::move(entries)) {}

  sbp::NdSbp entries;
};

/// The ranks that a graph runs on. Wrong options are a recorded error.
struct GraphOptions {
  std::string deviceKind = "cpu"; ///< or "cuda": that of the session's device
  /// The axes of the mesh, at least one. Their sizes multiply to the number of ranks; ranks are numbered row-major.
  std::vector<sbp::Axis> axes = {{"dp", 1}};
};

//===----------------------------------------------------------------------===//
// Variables and steps; optimizers are in dialects/nn/Optimizers.h
//===----------------------------------------------------------------------===//

/// The initial value of a variable. An element depends only on the session's seed, the variable's name and the
/// element's index. uniform() and normal() make floats only, and constant() makes integers exactly or not at all.
/// Variables of i8 and i1 take only a file: Session::create refuses others.
class Init {
public:
  static Init zeros() { return constant(0.0); }
  static Init constant(double value) { return {Kind::Constant, value, 0.0}; }
  /// Uniformly distributed over [low, high); `low` is at most `high`.
  static Init uniform(double low, double high) { return {Kind::Uniform, low, high}; }
  /// Normally distributed; `stddev`, the standard deviation, is at least 0.
  static Init normal(double mean, double stddev) { return {Kind::Normal, mean, stddev}; }
  /// The value is read from the tensor `tensor` of a safetensors file, which has the variable's type and shape. Each
  /// rank reads its own pieces in Session::create, which returns what is wrong with the file.
  static Init file(std::string path, std::string tensor) {
    Init init{Kind::File, 0.0, 0.0};
    init.path = std::move(path);
    init.tensor = std::move(tensor);
    return init;
  }

private:
  friend class GraphBuilder;
  enum class Kind { Constant, Uniform, Normal, File };
  Init(Kind kind, double first, double second) : kind(kind), first(first), second(second) {}

  Kind kind;
  double first, second;
  std::string path, tensor;
};

struct VariableOptions {
  ElementType type = ElementType::F32;
  /// Variables of one group are gathered and reduced together. If empty, it is the variable's name up to its last dot.
  /// (Without a dot it is the whole name.)
  std::string group;
  Layout logical;        ///< the layout that the graph reads, whatever ZeRO does with the storage
  bool trainable = true; ///< whether minimize updates it
  /// ZeRO's decisions for this variable. What it leaves open, its group decides, and then the compiler's options.
  sbp::Policy policy = {};
};

/// A set of variables that have an optimizer of their own within a step.
struct ParameterGroup {
  std::string name; ///< letters, digits and underscores
  /// Each is matched against whole names of variables; * matches any characters: "*.bias".
  std::vector<std::string> patterns;
  Optimizer optimizer; ///< its learning rate is the variable optimizer.NAME.learning_rate
};

struct StepOptions {
  /// The number of micro-batches that the step is cut into. They are computed one after the other, and their gradients
  /// are added up. It must divide each input's extent along the dimension that the first axis (or ZeRO's axis) splits.
  /// The session still takes and gives the inputs and outputs of the whole step. With 1, the compiler's option decides.
  int64_t accumulate = 1;
  /// When gradients are reduced over the ranks: after each micro-batch; or once per step, after each rank has summed
  /// its own (its accumulators are then whole, not split). If absent, the compiler's option decides. The two orders
  /// round differently.
  std::optional<sbp::AccumulateOrder> accumulateOrder = std::nullopt;
  /// Whether sums over the batch are computed without rounding. The bits are then the same for every number of ranks
  /// and for both orders of accumulation, as long as the total number of micro-batches over all ranks is the same. If
  /// absent, the compiler's option decides.
  std::optional<bool> reproducible = std::nullopt;
  /// A factor on the learning rate that depends on the step: CosineRate{.steps = 1000, .warmup = 100}.
  std::optional<RateSchedule> schedule = std::nullopt;
  /// clipNorm: all gradients are multiplied by clipNorm / (norm + 1e-6) if this is less than 1, where `norm` is the
  /// norm of all of them together. clipValue: each element is clamped to [-clipValue, clipValue]. Both are above 0; at
  /// most one of them is set.
  std::optional<double> clipNorm = std::nullopt, clipValue = std::nullopt;
  /// Whether the norm of all gradients together, before they are clipped, is kept in the variable
  /// "optimizer.gradient_norm" (f64), for a session to read after a step.
  bool gradientNorm = false;
  /// A factor on the loss for backward, so that small float types can represent the gradients: LossScale{}, which
  /// changes, or LossScale::fixed(1024). Gradients are divided by it before they are clipped and used. A step with a
  /// gradient that is not finite changes no variable. It is required if variables are read as f16. All steps of a graph
  /// must have the same one.
  std::optional<LossScale> lossScale = std::nullopt;
  /// The step's optimizer updates the variables that are in no group. A variable in two groups is an error, and so is a
  /// group without a trained variable.
  std::vector<ParameterGroup> groups = {};
  /// If it is not empty, the step trains only the variables with these names, in which a star stands for any
  /// characters; the others are constants to it. So each of a GAN's two steps trains its own. (A schedule counts the
  /// steps of all functions together.) A name is an error if the step trains no variable of that name.
  std::vector<std::string> variables = {};
};

//===----------------------------------------------------------------------===//
// Graph
//===----------------------------------------------------------------------===//

struct GraphState;

/// A value of one of a graph's functions. Copies refer to the same value. The graph must outlive them.
class Tensor {
public:
  Tensor() = default;

  bool isValid() const { return value != nullptr; }
  /// The global shape; empty if the tensor is invalid.
  sbp::Shape shape() const;
  /// Requires isValid().
  ElementType type() const;

private:
  friend class GraphBuilder;
  friend class Graph;
  Tensor(GraphState *graph, mlir::Value value) : graph(graph), value(value) {}

  GraphState *graph = nullptr; ///< null if no graph made it (default-constructed)
  mlir::Value value;           ///< null if it is invalid; then an error was recorded
};

class Graph {
public:
  explicit Graph(const GraphOptions &options);
  ~Graph();
  Graph(Graph &&) noexcept;

  /// Begins the function `name`, or continues it. Inputs, reads of variables and constants are added to the current
  /// function, which is the one that was named last, and "main" before the first call.
  void function(const std::string &name, Caller at = Caller::here());

  /// Sets ZeRO's policy for the variables of a group and of the groups within it ("h" contains "h.0"). A variable's own
  /// policy has precedence. The compiler's options decide what all of these leave open.
  /// `sbp::parsePolicy("stage=3,keep=never", &policy)` parses a policy.
  void group(const std::string &name, const sbp::Policy &policy, Caller at = Caller::here());

  /// Adds an input to the current function, whose inputs have distinct names. Extents are at least 0, here and for
  /// variables. By default each rank passes the whole tensor.
  Tensor input(const std::string &name, ElementType type, const sbp::Shape &shape, const Layout &layout = {},
               Caller at = Caller::here());

  /// Returns the value that a variable has when the current function begins. The first call with a name makes the
  /// variable. Later calls, in any function, must give the same shape and type; their `init` and other options are
  /// ignored.
  Tensor variable(const std::string &name, const sbp::Shape &shape, const Init &init,
                  const VariableOptions &options = {}, Caller at = Caller::here());

  /// A tensor whose elements are all `value`, rounded to the type.
  Tensor constant(ElementType type, const sbp::Shape &shape, double value, Caller at = Caller::here());

  /// A tensor in which each element is its index along dimension `dim`, counted from 0.
  Tensor iota(ElementType type, const sbp::Shape &shape, int64_t dim, Caller at = Caller::here());

  /// Excludes from training the variables made so far whose whole name matches a pattern, whatever their options are.
  /// * matches any characters: "h0.*". A pattern that matches no variable is an error.
  void freeze(const std::vector<std::string> &patterns, Caller at = Caller::here());

  /// Adds a training step to the function of `loss`: differentiates the scalar `loss`, of floats, and updates the
  /// trainable variables that it depends on. A function has at most one. The learning rate is an f32 scalar, the
  /// variable optimizer.learning_rate, which a session may set between steps.
  void minimize(const Tensor &loss, const Optimizer &optimizer, const StepOptions &options = {},
                Caller at = Caller::here());

  /// Assigns `value` to a variable that is not trained, at the end of the function of `value`, which has the variable's
  /// shape and type. A function assigns a variable at most once.
  void assign(const std::string &variable, const Tensor &value, Caller at = Caller::here());

  /// Adds an output to the function of `tensor`, whose outputs have distinct names.
  void output(const std::string &name, const Tensor &tensor, Caller at = Caller::here());

  /// The number of elements of all variables so far, and of the trained ones. Frozen scalars (rates and counts) and the
  /// optimizer's state are not counted.
  struct Parameters {
    int64_t all = 0, trained = 0;
  };
  Parameters parameters() const;

  /// The names of the variables, in the order in which they were made. The optimizer's state is not among them.
  const std::vector<std::string> &variableNames() const;

  /// Completes and verifies the module, which the graph owns. Callers must not change it. A second call returns the
  /// same, unless something was to be added in between, which is an error.
  ///   Errors  InvalidArgument: all recorded errors, one per line.
  absl::StatusOr<mlir::ModuleOp> finish();
  /// Finishes the graph, and returns the module as MLIR text. Errors are those of finish().
  absl::StatusOr<std::string> text();
  /// Finishes the graph, and writes the module's text to a file, which appears when it is complete. Errors are those of
  /// finish() and of File.h.
  absl::Status writeMlir(const std::string &path);

private:
  std::unique_ptr<GraphState> state;
};

//===----------------------------------------------------------------------===//
// Ops: see dialects/nn/Nn.td for what each means
//===----------------------------------------------------------------------===//

// An op is added to the function of its operands, whichever function is current. Elements are f16, bf16, f32, f64, i32
// or i64. The operands of an elementwise op have the same element type: cast() makes it so. Dimensions count from 0, or
// back from -1, the last one. What does not fit is a recorded error.

struct MatmulOptions {
  bool transposeA = false, transposeB = false;
};
/// The product of two matrices. With more than two dimensions, there is one product for each index of the leading
/// dimensions, which must be equal.
Tensor matmul(const Tensor &a, const Tensor &b, MatmulOptions options = {}, Caller at = Caller::here());

// Elementwise, of two tensors whose shapes broadcast: dimensions are aligned at the right.
Tensor add(const Tensor &a, const Tensor &b, Caller at = Caller::here());
Tensor sub(const Tensor &a, const Tensor &b, Caller at = Caller::here());
Tensor mul(const Tensor &a, const Tensor &b, Caller at = Caller::here());
Tensor div(const Tensor &a, const Tensor &b, Caller at = Caller::here());

Tensor neg(const Tensor &x, Caller at = Caller::here());
Tensor exp(const Tensor &x, Caller at = Caller::here());
Tensor log(const Tensor &x, Caller at = Caller::here());
Tensor sqrt(const Tensor &x, Caller at = Caller::here());
Tensor tanh(const Tensor &x, Caller at = Caller::here());
Tensor sin(const Tensor &x, Caller at = Caller::here());
Tensor cos(const Tensor &x, Caller at = Caller::here());
Tensor erf(const Tensor &x, Caller at = Caller::here());
Tensor relu(const Tensor &x, Caller at = Caller::here());
/// 1 / (1 + exp(-x)).
Tensor sigmoid(const Tensor &x, Caller at = Caller::here());
/// x sigmoid(x).
Tensor silu(const Tensor &x, Caller at = Caller::here());
/// 1 / sqrt(x).
Tensor rsqrt(const Tensor &x, Caller at = Caller::here());
/// x or -x; its gradient at 0 is 0.
Tensor abs(const Tensor &x, Caller at = Caller::here());
/// x to the power of `exponent`. Whole exponents from -8 to 8 are computed as products of x or of 1 / x, 0.5 as sqrt(x)
/// and -0.5 as 1 / sqrt(x). Any other exponent is computed as exp(exponent log(x)), which requires x above 0.
Tensor pow(const Tensor &x, double exponent, Caller at = Caller::here());
/// `value` as a tensor without dimensions, of x's element type and in its function. It broadcasts to every shape.
Tensor constantLike(const Tensor &x, double value, Caller at = Caller::here());
/// The elementwise maximum or minimum. Where both are equal or one is a NaN, the result is `b`, and the gradient goes
/// to `b`. Shapes broadcast.
Tensor maximum(const Tensor &a, const Tensor &b, Caller at = Caller::here());
Tensor minimum(const Tensor &a, const Tensor &b, Caller at = Caller::here());
/// x times the standard normal distribution function of x, computed with erf, or approximately with tanh if
/// `approximate` is set.
Tensor gelu(const Tensor &x, bool approximate = false, Caller at = Caller::here());
Tensor scale(const Tensor &x, double factor, Caller at = Caller::here());
Tensor shift(const Tensor &x, double addend, Caller at = Caller::here());
/// The same numbers in another element type. Floats are rounded to the nearest float, ties to even; to an integer they
/// are cut off towards 0, and one that the integer type does not hold gives any number. i64 to i32 keeps the lower 32
/// bits.
Tensor cast(const Tensor &x, ElementType type, Caller at = Caller::here());
/// 1 (of type f32) where an integer of `x` differs from `value`, else 0.
Tensor notEqual(const Tensor &x, int64_t value, Caller at = Caller::here());

/// 1 (of type f32) where the comparison of `a` with `b` holds, else 0. `predicate` is "eq", "ne", "lt", "le", "gt" or
/// "ge". With a NaN only "ne" holds. Shapes broadcast. No gradient flows back.
Tensor compare(const Tensor &a, const Tensor &b, const std::string &predicate, Caller at = Caller::here());
/// Returns x; no gradient flows back through it.
Tensor stopGradient(const Tensor &x, Caller at = Caller::here());
/// Returns x, and names it in the IR and in messages: `%logits` instead of `%50`. Inputs and variables keep the names
/// that they were made with. An output names its tensor if nothing else has.
Tensor named(const Tensor &x, const std::string &name, Caller at = Caller::here());

/// Looks up the rows of `table`, which has two dimensions, at the integers `ids`. An id that is no row's number is an
/// error of the run.
Tensor embedding(const Tensor &table, const Tensor &ids, Caller at = Caller::here());
/// One extent may be -1: it is then what the others leave.
Tensor reshape(const Tensor &x, const sbp::Shape &shape, Caller at = Caller::here());
/// Dimension i of the result is dimension permutation[i] of `x`.
Tensor transpose(const Tensor &x, const std::vector<int64_t> &permutation, Caller at = Caller::here());
/// Broadcasts x to `shape`: repeats it along dimensions of extent 1 and along new leading dimensions.
Tensor broadcastTo(const Tensor &x, const sbp::Shape &shape, Caller at = Caller::here());
/// The `count` elements from `start` on along dimension `dim`, which has all of them.
Tensor slice(const Tensor &x, int64_t dim, int64_t start, int64_t count, Caller at = Caller::here());
/// Concatenates `parts`, of which there is at least one, along dimension `dim`.
Tensor concat(const std::vector<Tensor> &parts, int64_t dim, Caller at = Caller::here());
/// The sum of floats over the given dimensions, or over all. The result lacks these dimensions.
Tensor sum(const Tensor &x, Caller at = Caller::here());
Tensor sum(const Tensor &x, std::vector<int64_t> dims, Caller at = Caller::here());
/// The sum over the given dimensions, or over all, divided by the global number of elements that were added, of which
/// there is at least one. The result lacks these dimensions.
Tensor mean(const Tensor &x, Caller at = Caller::here());
Tensor mean(const Tensor &x, std::vector<int64_t> dims, Caller at = Caller::here());
/// The mean of the squared distances from the mean, over the given dimensions, which the result lacks.
Tensor variance(const Tensor &x, const std::vector<int64_t> &dims, Caller at = Caller::here());
/// `chosen` where `condition` is not 0, else `other`. An element that is not selected has no influence on the result,
/// not even a NaN; its gradient is 0.
/// All three have one element type. Shapes broadcast.
Tensor select(const Tensor &condition, const Tensor &chosen, const Tensor &other, Caller at = Caller::here());
/// The mean over the rows (along the first dimension) that are present: those for which the integer of `present` [rows]
/// is not 0. Other rows have no influence on the result, and their gradient is 0 (which times a NaN, in a gradient
/// behind it, is a NaN: fill them with finite numbers). The sum is divided by the global number of elements of the
/// present rows; the result is a NaN if there are none. If `present` is an input, a step can take fewer samples than
/// its batch size without another compilation, for example at the end of the data; some ranks may then have none.
Tensor meanOfPresent(const Tensor &x, const Tensor &present, Caller at = Caller::here());
/// exp(x) / (sum of exp(x)), along the last dimension.
Tensor softmax(const Tensor &x, Caller at = Caller::here());
/// log(sum of exp(x)) along the last dimension, which the result does not have.
Tensor logSumExp(const Tensor &x, Caller at = Caller::here());
/// x - log(sum of exp(x)), along the last dimension.
Tensor logSoftmax(const Tensor &x, Caller at = Caller::here());
/// The cross-entropy of each row of `logits`. `labels` are integers; their shape is that of `logits` without the last
/// dimension, the classes. The result is 0 where the label is `ignored`. Any other label that is no class is an error
/// of the run.
Tensor softmaxCrossEntropy(const Tensor &logits, const Tensor &labels, std::optional<int64_t> ignored = std::nullopt,
                           Caller at = Caller::here());
/// The mean cross-entropy of the rows whose label is not `ignored`: the sum divided by their global number. It is a NaN
/// if all are ignored.
Tensor meanCrossEntropy(const Tensor &logits, const Tensor &labels, std::optional<int64_t> ignored = std::nullopt,
                        Caller at = Caller::here());
/// Normalizes each row (along the last dimension) to mean 0 and variance 1, multiplies it by weight and adds bias.
Tensor layerNorm(const Tensor &x, const Tensor &weight, const Tensor &bias, double epsilon = 1e-5,
                 Caller at = Caller::here());
/// x / sqrt(mean(x^2) + epsilon) * weight, with the mean along the last dimension, which is weight's only one (Zhang
/// and Sennrich 2019, arXiv:1910.07467).
Tensor rmsNorm(const Tensor &x, const Tensor &weight, double epsilon = 1e-6, Caller at = Caller::here());
/// For each sample of x [samples, channels, ...], normalizes each of `groups` groups of channels to mean 0 and variance
/// 1, multiplies it by weight [channels] and adds bias [channels] (Wu and He 2018, arXiv:1803.08494).
Tensor groupNorm(const Tensor &x, const Tensor &weight, const Tensor &bias, int64_t groups, double epsilon = 1e-5,
                 Caller at = Caller::here());
/// (x - mean) / sqrt(variance + epsilon) * weight + bias, where x is [samples, channels, ...], and mean, variance,
/// weight and bias are [channels]. For training, pass x's own statistics over the global batch, such as
/// mean(x, {0, 2, 3}) (Ioffe and Szegedy 2015, arXiv:1502.03167).
Tensor batchNorm(const Tensor &x, const Tensor &weight, const Tensor &bias, const Tensor &mean, const Tensor &variance,
                 double epsilon = 1e-5, Caller at = Caller::here());
struct ConvolutionOptions {
  std::vector<int64_t> strides = {1, 1};  ///< rows and columns from one window to the next
  std::vector<int64_t> padding = {0, 0};  ///< rows and columns of zeros on each side
  std::vector<int64_t> dilation = {1, 1}; ///< rows and columns from one tap to the next
};
/// The convolution of x [samples, channels, height, width] with weight [outputs, channels / groups, rows, columns]. An
/// extent of the result is (extent + 2 padding - dilation (kernel - 1) - 1) / stride + 1, rounded down.
Tensor convolution(const Tensor &x, const Tensor &weight, const ConvolutionOptions &options = {},
                   Caller at = Caller::here());
struct TransposedConvolutionOptions {
  std::vector<int64_t> strides = {1, 1};       ///< rows and columns of the result from one window to the next
  std::vector<int64_t> padding = {0, 0};       ///< rows and columns that are left out on each side of the result
  std::vector<int64_t> dilation = {1, 1};      ///< rows and columns from one tap to the next
  std::vector<int64_t> outputPadding = {0, 0}; ///< extra rows and columns of the result; less than the strides
  int64_t groups = 1;                          ///< the number of groups of channels
};
/// The gradient of a convolution with respect to its input. x is [samples, channels, height, width], and weight is
/// [channels, outputs / groups, rows, columns]. An extent of the result is (extent - 1) stride - 2 padding + dilation
/// (kernel - 1) + 1 + outputPadding.
Tensor transposedConvolution(const Tensor &x, const Tensor &weight, const TransposedConvolutionOptions &options = {},
                             Caller at = Caller::here());
struct PoolOptions {
  std::vector<int64_t> strides = {};      ///< rows and columns from one window to the next; if empty, the kernel's
  std::vector<int64_t> padding = {0, 0};  ///< rows and columns of padding on each side
  std::vector<int64_t> dilation = {1, 1}; ///< rows and columns from one tap to the next
};
/// The largest element of each window of the last two dimensions. `kernel` is the window's rows and columns. Padding is
/// never the largest.
Tensor maxPool(const Tensor &x, const std::vector<int64_t> &kernel, const PoolOptions &options = {},
               Caller at = Caller::here());
/// The mean of each window of x [samples, channels, height, width]. Padding counts as zeros: the divisor is always the
/// size of `kernel`.
Tensor averagePool(const Tensor &x, const std::vector<int64_t> &kernel, const PoolOptions &options = {},
                   Caller at = Caller::here());
struct AttentionOptions {
  bool causal = false;                        ///< whether a position attends only to keys up to its own index
  Tensor mask;                                ///< integers [samples, keys], 0 where a key is masked; if absent, none is
  Tensor bias;                                ///< added to the scores; broadcasts to [samples, heads, positions, keys]
  double dropout = 0.0;                       ///< the probability that a weight is dropped
  std::optional<double> scale = std::nullopt; ///< the factor on query key^T; if absent, 1 / sqrt(width)
};
/// softmax(scale query key^T + bias) value, for each sample and head. Query is [samples, positions, heads, width]. Key
/// and value are [samples, keys, heads, width], or have fewer heads, if their number divides the query's: each then
/// serves the same number of consecutive query heads (Ainslie et al. 2023, arXiv:2305.13245). A position that attends
/// to no key gives 0, and so does one whose scores a bias makes -infinity. With a bias or dropout, the scores of all
/// positions and keys are kept for backward.
Tensor attention(const Tensor &query, const Tensor &key, const Tensor &value, const AttentionOptions &options = {},
                 Caller at = Caller::here());
/// 0 with probability `rate`, which is at least 0 and below 1, else x / (1 - rate). Each step drops other elements, and
/// the same ones for any number of ranks. The variables random.seed and random.step determine them; the first call
/// makes both. It drops in every function that has it: leave it out of one that evaluates.
Tensor dropout(const Tensor &x, double rate, Caller at = Caller::here());
/// Random numbers of like's shape and type, whose values are not read: from 0 up to, but not including, 1 (bf16 and f16
/// are rounded, so that there may be a 1). Each step draws others, and the same ones for any number of ranks; see
/// dropout(), whose variables determine them. They have no gradient.
Tensor uniform(const Tensor &like, Caller at = Caller::here());
/// Normally distributed random numbers with mean 0 and variance 1, made of two uniform() ones (Box and Muller 1958). Of
/// bf16 and f16 they are coarse: draw them like a tensor of f32, and cast().
Tensor normal(const Tensor &like, Caller at = Caller::here());
/// The mean of (x - target)^2 over all elements.
Tensor mse(const Tensor &x, const Tensor &target, Caller at = Caller::here());
/// Gives x the signature `layout`. The value does not change.
Tensor boxTo(const Tensor &x, const Layout &layout, Caller at = Caller::here());

//===----------------------------------------------------------------------===//
// Layers: variables and ops
//===----------------------------------------------------------------------===//

// The variables are trained (batchNorm's running ones are not), have x's element type where nothing else is said, and
// are in the group `name`. The same name again, in any function, means the same variables.

struct LinearOptions {
  bool bias = true;
  /// The initial values of weight and bias. If absent, they are uniform in +-1/sqrt(inputs).
  std::optional<Init> init;
};
/// x weight + bias, where x [samples, inputs] has floats, with the variables `name`.weight [inputs, outputs] and
/// `name`.bias [outputs] of x's type.
Tensor linear(const Tensor &x, const std::string &name, int64_t outputs, const LinearOptions &options = {},
              Caller at = Caller::here());

struct ConvolutionLayerOptions {
  std::vector<int64_t> strides = {1, 1};  ///< rows and columns from one window to the next
  std::vector<int64_t> padding = {0, 0};  ///< rows and columns of zeros on each side
  std::vector<int64_t> dilation = {1, 1}; ///< rows and columns from one tap to the next
  int64_t groups = 1;                     ///< the number of groups of channels
  bool bias = true;                       ///< whether a bias is added
};
/// convolution(x, weight) + bias, with the variables `name`.weight [outputs, channels / groups, rows, columns] and
/// `name`.bias [outputs]. Both are at first uniform in +-1/sqrt(channels / groups rows columns). `kernel` is the
/// window's rows and columns.
Tensor convolution(const Tensor &x, const std::string &name, int64_t outputs, const std::vector<int64_t> &kernel,
                   const ConvolutionLayerOptions &options = {}, Caller at = Caller::here());

struct BatchNormOptions {
  bool training = true; ///< whether x is normalized by the batch's statistics, and not by the running ones
  double momentum = 0.1, epsilon = 1e-5;
};
/// Batch normalization of x [samples, channels, height, width], with the variables `name`.weight (at first ones) and
/// `name`.bias (zeros). In training, `name`.running_mean (at first zeros) and `name`.running_var (ones) move towards
/// the batch's statistics by `momentum`. The running variance uses the unbiased estimate, n / (n - 1) times the
/// variance.
Tensor batchNorm(const Tensor &x, const std::string &name, const BatchNormOptions &options = {},
                 Caller at = Caller::here());

/// Layer normalization over the last dimension, with the variables `name`.weight (at first ones) and `name`.bias
/// (zeros).
Tensor layerNorm(const Tensor &x, const std::string &name, double epsilon = 1e-5, Caller at = Caller::here());

/// Looks up the rows of the variable `name`.weight [rows, width], f32 and at first standard normal, at the integers
/// `ids`. An id that is no row's number is an error of the run.
Tensor embeddingTable(const Tensor &ids, const std::string &name, int64_t rows, int64_t width,
                      Caller at = Caller::here());

} // namespace splitcast

#endif // SPLITCAST_COMPILER_GRAPH_GRAPH_H
