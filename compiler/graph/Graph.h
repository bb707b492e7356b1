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
// Errors  No call fails by itself. What is wrong (shapes that do not fit, a name used twice) is noted with the call
// that did
//         it, the result is an invalid tensor, what is computed from it is invalid too, and finish() returns all of it.
// Places  Each op knows the file and line of the call that made it, which errors of this graph and of whatever compiles
//         it begin with. Behind a function of the user's own that is the line within; one that ends in a parameter
//         `Caller at = Caller::here()`, and hands `at` on, gives its caller's. What is computed, and what ranks compare
//         of it, does not depend on it.
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
// Where a call stands
//===----------------------------------------------------------------------===//

/// File and line of a call, as the default of a function's last parameter. Only here() makes one, so that no list in
/// braces is taken for it.
class Caller {
public:
  /// Where the function is called whose default this is.
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
// How tensors lie
//===----------------------------------------------------------------------===//

inline sbp::Sbp split(int64_t dim) { return sbp::Sbp::split(dim); }
inline sbp::Sbp broadcast() { return sbp::Sbp::broadcast(); }

/// One entry per axis of the placement; those of the last axes may be left out and are then broadcast.
struct Layout {
  Layout() = default;
  Layout(sbp::Sbp first) : entries{std::move(first)} {}
  Layout(std::vector<sbp::Sbp> entries) : entries(std::move(entries)) {}

  sbp::NdSbp entries;
};

/// The ranks that a graph runs on.
struct GraphOptions {
  std::string deviceKind = "cpu";
  std::vector<sbp::Axis> axes = {{"dp", 1}};
};

//===----------------------------------------------------------------------===//
// Variables and steps; optimizers are in dialects/nn/Optimizers.h
//===----------------------------------------------------------------------===//

/// What a variable holds before the first step. Elements depend on the session's seed, the variable's name and their
/// index only.
class Init {
public:
  static Init zeros() { return constant(0.0); }
  static Init constant(double value) { return {Kind::Constant, value, 0.0}; }
  static Init uniform(double low, double high) { return {Kind::Uniform, low, high}; }
  static Init normal(double mean, double stddev) { return {Kind::Normal, mean, stddev}; }
  /// A tensor of a safetensors file.
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
  std::string group; ///< what it is gathered and reduced with; empty: the name up to its last dot
  Layout logical;    ///< as the graph reads it
  bool trainable = true;
  sbp::Policy policy = {}; ///< what ZeRO does with this variable alone; the rest, its group and the compiler are told
};

/// Variables of a step that an optimizer of their own updates.
struct ParameterGroup {
  std::string name;                  ///< letters, digits and underscores
  std::vector<std::string> patterns; ///< of whole names of variables: "*.bias", where a star stands for any characters
  Optimizer optimizer;               ///< its learning rate is the variable optimizer.NAME.learning_rate
};

struct StepOptions {
  /// Micro-batches that the step is computed in, one after the other, whose gradients are added up: a divisor of what
  /// the first axis (or that of ZeRO) splits of the inputs. The session's inputs and outputs stay those of the step.
  int64_t accumulate = 1;
  /// When ranks add up their gradients: those of each micro-batch, or once each rank's own sums, which are whole.
  /// Absent: as the compiler is told. Another order is another rounding.
  std::optional<sbp::AccumulateOrder> accumulateOrder = std::nullopt;
  /// Whether sums over the batch have no rounding, so that the bits are those of every number of ranks and both orders
  /// that have as many micro-batches in all. Absent: as the compiler is told.
  std::optional<bool> reproducible = std::nullopt;
  /// By what the learning rate is multiplied at each step: CosineRate{.steps = 1000, .warmup = 100}.
  std::optional<RateSchedule> schedule = std::nullopt;
  /// Gradients are multiplied by clipNorm / (norm + 1e-6) where the norm of all of them together is more; or their
  /// elements are brought to -clipValue .. clipValue. Above 0; one of them at most.
  std::optional<double> clipNorm = std::nullopt, clipValue = std::nullopt;
  /// What the loss is multiplied by for backward, so that small floats hold the gradients: LossScale{}, which changes,
  /// or LossScale::fixed(1024). Gradients are divided by it before they are clipped and used; a step in which one is
  /// not finite changes no variable. Needed where variables are read as f16. The same in all steps of a graph.
  std::optional<LossScale> lossScale = std::nullopt;
  /// Variables that are in none are updated by the optimizer of all; one that is in two is an error, and so is a group
  /// of which no variable is trained.
  std::vector<ParameterGroup> groups = {};
};

//===----------------------------------------------------------------------===//
// Graph
//===----------------------------------------------------------------------===//

struct GraphState;

/// A value of one of a graph's functions. Copies are the same value; the graph outlives them.
class Tensor {
public:
  Tensor() = default;

  bool isValid() const { return value != nullptr; }
  /// Global; empty when invalid.
  sbp::Shape shape() const;
  /// Requires isValid().
  ElementType type() const;

private:
  friend class GraphBuilder;
  friend class Graph;
  Tensor(GraphState *graph, mlir::Value value) : graph(graph), value(value) {}

  GraphState *graph = nullptr; ///< none: made by no graph
  mlir::Value value;           ///< none: an error was noted
};

class Graph {
public:
  explicit Graph(const GraphOptions &options);
  ~Graph();
  Graph(Graph &&) noexcept;

  /// Begins a function, or goes on with it: inputs, reads and outputs belong to the last one named. "main" before the
  /// first call.
  void function(const std::string &name, Caller at = Caller::here());

  /// What ZeRO does with all variables of a group, and of the groups within it ("h" and "h.0"), as far as they do not
  /// say it themselves; what nobody says, the compiler's options do. `sbp::parsePolicy("stage=3,keep=never", &policy)`
  /// reads one.
  void group(const std::string &name, const sbp::Policy &policy, Caller at = Caller::here());

  Tensor input(const std::string &name, ElementType type, const sbp::Shape &shape, const Layout &layout = {},
               Caller at = Caller::here());

  /// The value that a variable has when the function begins. The first call of a name makes the variable; later ones,
  /// in whatever function, must agree in shape and type, and their `init` and other options count for nothing.
  Tensor variable(const std::string &name, const sbp::Shape &shape, const Init &init,
                  const VariableOptions &options = {}, Caller at = Caller::here());

  /// Each element is `value`, rounded to the type.
  Tensor constant(ElementType type, const sbp::Shape &shape, double value, Caller at = Caller::here());

  /// Each element is its index along dimension `dim`, from 0 on.
  Tensor iota(ElementType type, const sbp::Shape &shape, int64_t dim, Caller at = Caller::here());

  /// Variables made so far whose whole names match are not trained, whatever their options said: "h0.*", where a star
  /// stands for any characters. Each pattern is of one variable at least.
  void freeze(const std::vector<std::string> &patterns, Caller at = Caller::here());

  /// A step of training: differentiates the scalar `loss` and updates the trainable variables that it depends on. Once
  /// per function.
  void minimize(const Tensor &loss, const Optimizer &optimizer, const StepOptions &options = {},
                Caller at = Caller::here());

  /// What a variable that is not trained holds after the function: a value of this function, of the variable's shape
  /// and type. Once per function and variable.
  void assign(const std::string &variable, const Tensor &value, Caller at = Caller::here());

  void output(const std::string &name, const Tensor &tensor, Caller at = Caller::here());

  /// Elements of the variables so far, and of those that are trained. Frozen scalars (rates and counts) are none, nor
  /// is the optimizer's state.
  struct Parameters {
    int64_t all = 0, trained = 0;
  };
  Parameters parameters() const;

  /// Names of the variables, in the order in which they were made; the optimizer's state is not among them.
  const std::vector<std::string> &variableNames() const;

  /// Completes and verifies the module, which the graph owns and which must not be changed. Nothing can be added after.
  ///   Errors  InvalidArgument: what was noted, one line per error.
  absl::StatusOr<mlir::ModuleOp> finish();
  /// The module as MLIR. Finishes the graph.
  absl::StatusOr<std::string> text();
  /// To a file, which appears when it is complete. Finishes the graph.
  absl::Status writeMlir(const std::string &path);

private:
  std::unique_ptr<GraphState> state;
};

//===----------------------------------------------------------------------===//
// Ops: see dialects/nn/Nn.td for what each means
//===----------------------------------------------------------------------===//

struct MatmulOptions {
  bool transposeA = false, transposeB = false;
};
/// Of matrices, or of equally many: dimensions before the last two are equal.
Tensor matmul(const Tensor &a, const Tensor &b, MatmulOptions options = {}, Caller at = Caller::here());

// Shapes broadcast, aligned at the right.
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
/// Of exponents that are neither whole and within -8 to 8 nor 0.5 or -0.5, for numbers above 0 only: exp(exponent
/// log(x)).
Tensor pow(const Tensor &x, double exponent, Caller at = Caller::here());
/// The larger, or the smaller, of two; `b`, where both are equal or one is a NaN, and the gradient is then its. Shapes
/// broadcast.
Tensor maximum(const Tensor &a, const Tensor &b, Caller at = Caller::here());
Tensor minimum(const Tensor &a, const Tensor &b, Caller at = Caller::here());
/// `approximate`: by tanh, else by erf.
Tensor gelu(const Tensor &x, bool approximate = false, Caller at = Caller::here());
Tensor scale(const Tensor &x, double factor, Caller at = Caller::here());
Tensor shift(const Tensor &x, double addend, Caller at = Caller::here());
Tensor cast(const Tensor &x, ElementType type, Caller at = Caller::here());
/// 1 of type f32 where an integer of `x` is not `value`, else 0.
Tensor notEqual(const Tensor &x, int64_t value, Caller at = Caller::here());

/// 1 of type f32 where `a` is to `b` as `predicate` says, else 0: "eq", "ne", "lt", "le", "gt" or "ge". A NaN is
/// unequal to all. Shapes broadcast; no gradient flows back.
Tensor compare(const Tensor &a, const Tensor &b, const std::string &predicate, Caller at = Caller::here());
/// x, through which no gradient flows back.
Tensor stopGradient(const Tensor &x, Caller at = Caller::here());

/// Rows of `table`, which has two dimensions, at integer `ids`.
Tensor embedding(const Tensor &table, const Tensor &ids, Caller at = Caller::here());
Tensor reshape(const Tensor &x, const sbp::Shape &shape, Caller at = Caller::here());
/// Dimension i of the result is dimension permutation[i] of `x`.
Tensor transpose(const Tensor &x, const std::vector<int64_t> &permutation, Caller at = Caller::here());
/// Repeated along dimensions of 1, and along new ones before the first, until it has the shape.
Tensor broadcastTo(const Tensor &x, const sbp::Shape &shape, Caller at = Caller::here());
/// The `count` elements from `start` on along dimension `dim`.
Tensor slice(const Tensor &x, int64_t dim, int64_t start, int64_t count, Caller at = Caller::here());
/// One after the other along dimension `dim`; at least one.
Tensor concat(const std::vector<Tensor> &parts, int64_t dim, Caller at = Caller::here());
/// Over the dimensions given, or over all.
Tensor sum(const Tensor &x, Caller at = Caller::here());
Tensor sum(const Tensor &x, std::vector<int64_t> dims, Caller at = Caller::here());
/// The sum, divided by the global number of elements that were added.
Tensor mean(const Tensor &x, Caller at = Caller::here());
Tensor mean(const Tensor &x, std::vector<int64_t> dims, Caller at = Caller::here());
/// The mean of the squared distances from the mean, over the dimensions given.
Tensor variance(const Tensor &x, const std::vector<int64_t> &dims, Caller at = Caller::here());
/// `chosen` where `condition` is not 0, else `other`, which has no influence there, whatever it is. Shapes broadcast.
Tensor select(const Tensor &condition, const Tensor &chosen, const Tensor &other, Caller at = Caller::here());
/// The mean over the rows (along the first dimension) for which the integer of `present` [rows] is not 0; what the
/// others hold has no influence, and the division is by the global number of those that count, so a NaN where there are
/// none. An input `present` lets a step take fewer samples than its batch has, as at the end of the data, on some ranks
/// none: nothing is compiled again.
Tensor meanOfPresent(const Tensor &x, const Tensor &present, Caller at = Caller::here());
/// Along the last dimension.
Tensor softmax(const Tensor &x, Caller at = Caller::here());
/// log(sum of exp(x)) along the last dimension, of which the result has none.
Tensor logSumExp(const Tensor &x, Caller at = Caller::here());
/// x - logSumExp(x), along the last dimension.
Tensor logSoftmax(const Tensor &x, Caller at = Caller::here());
/// Per row of `logits`; `labels` are integers and lack the last dimension, the classes. 0 where the label is `ignored`.
Tensor softmaxCrossEntropy(const Tensor &logits, const Tensor &labels, std::optional<int64_t> ignored = std::nullopt,
                           Caller at = Caller::here());
/// Its mean over the rows whose label is not `ignored`: the sum divided by their global number.
Tensor meanCrossEntropy(const Tensor &logits, const Tensor &labels, std::optional<int64_t> ignored = std::nullopt,
                        Caller at = Caller::here());
/// Rows along the last dimension with mean 0 and variance 1, times weight, plus bias.
Tensor layerNorm(const Tensor &x, const Tensor &weight, const Tensor &bias, double epsilon = 1e-5,
                 Caller at = Caller::here());
/// x / sqrt(mean of x^2 + epsilon) weight, along the last dimension, which is the weight's (Zhang and Sennrich 2019,
/// arXiv:1910.07467).
Tensor rmsNorm(const Tensor &x, const Tensor &weight, double epsilon = 1e-6, Caller at = Caller::here());
/// x [samples, channels, ...]: each sample's elements of each of `groups` groups of channels with mean 0 and variance
/// 1, times weight [channels], plus bias [channels] (Wu and He 2018, arXiv:1803.08494).
Tensor groupNorm(const Tensor &x, const Tensor &weight, const Tensor &bias, int64_t groups, double epsilon = 1e-5,
                 Caller at = Caller::here());
/// x [samples, channels, ...]: (x - mean) / sqrt(variance + epsilon) weight + bias, all of these [channels]. In
/// training mean and variance are x's own, of the global batch: mean(x, {0, 2, 3}) (Ioffe and Szegedy 2015,
/// arXiv:1502.03167).
Tensor batchNorm(const Tensor &x, const Tensor &weight, const Tensor &bias, const Tensor &mean, const Tensor &variance,
                 double epsilon = 1e-5, Caller at = Caller::here());
struct ConvolutionOptions {
  std::vector<int64_t> strides = {1, 1};  ///< down and across
  std::vector<int64_t> padding = {0, 0};  ///< on both sides
  std::vector<int64_t> dilation = {1, 1}; ///< from tap to tap
};
/// x [samples, channels, height, width], weight [outputs, channels / groups, rows, columns].
Tensor convolution(const Tensor &x, const Tensor &weight, const ConvolutionOptions &options = {},
                   Caller at = Caller::here());
struct TransposedConvolutionOptions {
  std::vector<int64_t> strides = {1, 1};       ///< down and across
  std::vector<int64_t> padding = {0, 0};       ///< on both sides
  std::vector<int64_t> dilation = {1, 1};      ///< from tap to tap
  std::vector<int64_t> outputPadding = {0, 0}; ///< rows and columns more of the result; below the strides
  int64_t groups = 1;                          ///< of channels
};
/// The gradient of a convolution's input: x [samples, channels, height, width], weight [channels, outputs / groups,
/// rows, columns]; a result's extent is (extent - 1) stride - 2 padding + dilation (kernel - 1) + 1 + outputPadding.
Tensor transposedConvolution(const Tensor &x, const Tensor &weight, const TransposedConvolutionOptions &options = {},
                             Caller at = Caller::here());
struct PoolOptions {
  std::vector<int64_t> strides = {};      ///< empty: the kernel
  std::vector<int64_t> padding = {0, 0};  ///< on both sides
  std::vector<int64_t> dilation = {1, 1}; ///< from tap to tap
};
/// The largest element of each window of the last two dimensions; `kernel`: rows and columns.
Tensor maxPool(const Tensor &x, const std::vector<int64_t> &kernel, const PoolOptions &options = {},
               Caller at = Caller::here());
/// The mean of each window, of x [samples, channels, height, width]; what is beside the image counts as 0.
Tensor averagePool(const Tensor &x, const std::vector<int64_t> &kernel, const PoolOptions &options = {},
                   Caller at = Caller::here());
struct AttentionOptions {
  bool causal = false;
  Tensor mask;                                ///< integers [samples, keys], 0 where a key is not seen; invalid: all are
  Tensor bias;                                ///< added to the scores; broadcasts to [samples, heads, positions, keys]
  double dropout = 0.0;                       ///< the probability with which a weight is dropped
  std::optional<double> scale = std::nullopt; ///< of the scores; absent: 1 / sqrt(width)
};
/// softmax(scale query key^T + bias) value per sample and head. Query [samples, positions, heads, width]; key and value
/// [samples, keys, heads, width], or of fewer heads, whose number divides the query's: each is then for as many in a
/// row (Ainslie et al. 2023, arXiv:2305.13245). A position that sees no key gives 0. With a bias or dropout, scores of
/// all positions and keys are kept for backward.
Tensor attention(const Tensor &query, const Tensor &key, const Tensor &value, const AttentionOptions &options = {},
                 Caller at = Caller::here());
/// 0 with probability `rate`, else x / (1 - rate); other elements in each step, the same for any number of ranks. The
/// variables random.seed and random.step, which it makes, say which.
Tensor dropout(const Tensor &x, double rate, Caller at = Caller::here());
/// Mean over all elements of (x - target)^2.
Tensor mse(const Tensor &x, const Tensor &target, Caller at = Caller::here());
/// Asks for a signature; the value stays.
Tensor boxTo(const Tensor &x, const Layout &layout, Caller at = Caller::here());

//===----------------------------------------------------------------------===//
// Layers: variables and ops
//===----------------------------------------------------------------------===//

struct LinearOptions {
  bool bias = true;
  /// Of weight and bias; without it uniform in +-1/sqrt(inputs).
  std::optional<Init> init;
};
/// x weight + bias, with `name`.weight [inputs, outputs] and `name`.bias [outputs].
Tensor linear(const Tensor &x, const std::string &name, int64_t outputs, const LinearOptions &options = {},
              Caller at = Caller::here());

struct ConvolutionLayerOptions {
  std::vector<int64_t> strides = {1, 1};  ///< down and across
  std::vector<int64_t> padding = {0, 0};  ///< on both sides
  std::vector<int64_t> dilation = {1, 1}; ///< from tap to tap
  int64_t groups = 1;
  bool bias = true;
};
/// convolution(x, weight) + bias, with `name`.weight [outputs, channels / groups, rows, columns] and `name`.bias
/// [outputs], uniform in +-1/sqrt(channels / groups rows columns); `kernel`: rows and columns.
Tensor convolution(const Tensor &x, const std::string &name, int64_t outputs, const std::vector<int64_t> &kernel,
                   const ConvolutionLayerOptions &options = {}, Caller at = Caller::here());

struct BatchNormOptions {
  bool training = true; ///< else by the running statistics
  double momentum = 0.1, epsilon = 1e-5;
};
/// batchNorm of x [samples, channels, height, width] with `name`.weight of ones and `name`.bias of zeros. In training,
/// `name`.running_mean and `name`.running_var, of zeros and ones at first, move to the batch's by `momentum`; of the
/// variance as estimated of all that the samples are drawn from: times n / (n - 1).
Tensor batchNorm(const Tensor &x, const std::string &name, const BatchNormOptions &options = {},
                 Caller at = Caller::here());

/// Over the last dimension, with `name`.weight of ones and `name`.bias of zeros.
Tensor layerNorm(const Tensor &x, const std::string &name, double epsilon = 1e-5, Caller at = Caller::here());

/// Rows of `name`.weight [rows, width], standard normal at first, at integer `ids`.
Tensor embeddingTable(const Tensor &ids, const std::string &name, int64_t rows, int64_t width,
                      Caller at = Caller::here());

} // namespace splitcast

#endif // SPLITCAST_COMPILER_GRAPH_GRAPH_H
