#include "compiler/graph/Graph.h"

#include "compiler/Compile.h"
#include "compiler/Pipelines.h"
#include "compiler/graph/GraphDiagnostics.h"

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdio>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <sstream>

namespace splitcast {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A classifier with a training and a prediction function.
void buildClassifier(Graph &graph, const Optimizer &optimizer) {
  graph.function("train");
  Tensor x = graph.input("x", ElementType::F32, {12, 10}, split(0));
  Tensor labels = graph.input("labels", ElementType::I64, {12}, split(0));
  Tensor loss = mean(softmaxCrossEntropy(linear(relu(linear(x, "fc1", 6)), "fc2", 3), labels));
  graph.minimize(loss, optimizer);
  graph.output("loss", loss);
  graph.function("predict");
  Tensor sample = graph.input("x", ElementType::F32, {4, 10}, split(0));
  graph.output("logits", linear(relu(linear(sample, "fc1", 6)), "fc2", 3));
}

/// A language model that uses every other op.
void buildLanguageModel(Graph &graph) {
  graph.function("train");
  Tensor ids = graph.input("ids", ElementType::I64, {8, 4}, split(0));
  Tensor next = graph.input("next", ElementType::I64, {8}, split(0));
  Tensor windows = reshape(embeddingTable(ids, "table", 16, 6), {8, 24});
  Tensor hidden = gelu(linear(windows, "hidden", 12, {false, Init::normal(0.0, 0.1)}));
  Tensor gate = graph.variable("gate", {12}, Init::constant(1.0), {ElementType::F32, "hidden", {}, true});
  Tensor scaled = div(mul(hidden, gate), shift(exp(neg(scale(hidden, 0.5))), 1.0));
  Tensor logits = linear(scaled, "out", 16);
  Tensor loss = add(mean(softmaxCrossEntropy(logits, next)), scale(mse(logits, tanh(logits)), 0.1));
  graph.minimize(loss, AdamW{1e-3});
  graph.output("loss", loss);
  graph.output("norms", sqrt(sum(mul(logits, logits), {1})));
}

std::string errorsOf(Graph &graph) {
  absl::StatusOr<mlir::ModuleOp> module = graph.finish();
  return module.ok() ? "" : std::string(module.status().message());
}

/// Runs 'enable-zero' on what `text` says: "" or the first error.
std::string compile(const std::string &text, const std::string &options) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  DiagnosticCollector collector(&context);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  mlir::PassManager manager(&context);
  sbp::ZeroOptions zero;
  bool isParsed = module && !sbp::parseZeroOptions(options, &zero);
  if (isParsed)
    buildGlobalPipeline(manager, zero);
  if (isParsed && succeeded(manager.run(*module)) && succeeded(mlir::verify(*module)))
    return "";
  return options + ": " + absl::StrJoin(collector.locatedMessages(), "\n");
}

// What a graph writes is a module that parses, verifies and compiles with every choice of ZeRO.
TEST(Graph, CompilesAtEveryStage) {
  for (int64_t ranks : {1, 2, 3, 4}) {
    Graph classifier({"cpu", {{"dp", ranks}}}), languageModel({"cpu", {{"dp", ranks}}});
    buildClassifier(classifier, Adam{0.01});
    buildLanguageModel(languageModel);
    for (Graph *graph : {&classifier, &languageModel}) {
      absl::StatusOr<std::string> text = graph->text();
      ASSERT_TRUE(text.ok()) << text.status();
      for (const char *options : {"stage=0", "stage=1", "stage=2", "stage=3", "stage=1 strategy=tensor",
                                  "stage=2 strategy=tensor", "stage=3 strategy=tensor", "stage=3 bucket-bytes=100000"})
        EXPECT_EQ(compile(*text, options), "") << ranks << " ranks\n" << *text;
    }
  }
}

/// An optimizer of a user: nothing of Splitcast names it.
struct Heavy {
  double lr, mass = 0.5;
  static constexpr std::string_view kName = "heavy";
  template <typename Self, typename Each> static void numbers(Self &self, Each &&each) {
    each("lr", self.lr, Bounds::NotNegative);
    each("mass", self.mass, Bounds::BelowOne);
  }
  nn::Expr update(nn::Update &u) const {
    u.setState("speed", u.state("speed") * mass + u.gradient());
    return u.parameter() - u.learningRate() * u.state("speed");
  }
};

/// Another that has taken the name of one that is there.
struct OtherAdam {
  double lr;
  static constexpr std::string_view kName = "adam";
  template <typename Self, typename Each> static void numbers(Self &self, Each &&each) {
    each("lr", self.lr, Bounds::NotNegative);
  }
  nn::Expr update(nn::Update &u) const { return u.parameter() - u.learningRate() * sign(u.gradient()); }
};

struct OtherCosine {
  double warmup = 0;
  static constexpr std::string_view kName = "cosine";
  template <typename Self, typename Each> static void numbers(Self &self, Each &&each) {
    each("warmup", self.warmup, Bounds::CountOrNone);
  }
  nn::Expr factor(const nn::Expr &t) const { return cos(t); }
};

struct WithoutNumbers {
  static constexpr std::string_view kName = "without_numbers";
  template <typename Self, typename Each> static void numbers(Self &, Each &&) {}
  nn::Expr update(nn::Update &u) const { return u.parameter() - u.gradient(); }
};

/// One that does not say that it counts.
struct Uncounted {
  double lr;
  static constexpr std::string_view kName = "uncounted";
  template <typename Self, typename Each> static void numbers(Self &self, Each &&each) {
    each("lr", self.lr, Bounds::NotNegative);
  }
  nn::Expr update(nn::Update &u) const {
    return u.parameter() - u.power("half_power", 0.5).as(u.gradient()) * u.gradient();
  }
};

TEST(Graph, SaysThatAnOptimizerCountsNoUpdates) {
  Graph graph({"cpu", {{"dp", 2}}});
  buildClassifier(graph, Uncounted{0.1});
  absl::StatusOr<std::string> text = graph.text();
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(compile(*text, "stage=0"), HasSubstr("asks for a power of 5.000000e-01, but uncounted counts no updates; "
                                                   "give it 'static constexpr bool kCountsUpdates = true'"));
}

/// "#nn.sgd<lr = 0.1>" of a module.
std::string sgdOf(const std::string &text) {
  const size_t begin = text.find("#nn.sgd<");
  return text.substr(begin, text.find('>', begin) + 1 - begin);
}

// Of whole numbers of many digits MLIR would print the bits, and read them as the number.
TEST(Graph, WritesNumbersThatReadBack) {
  const std::pair<double, const char *> rates[] = {
      {1234567.0, "1234567.0"}, {12345678.0, "12345678.0"}, {0x1p53, "9007199254740992.0"}, {1e22, "1.000000e+22"}};
  for (const auto &[rate, spelled] : rates) {
    Graph graph({"cpu", {{"dp", 2}}});
    buildClassifier(graph, Sgd{rate});
    absl::StatusOr<std::string> text = graph.text();
    ASSERT_TRUE(text.ok()) << text.status();
    EXPECT_EQ(sgdOf(*text), absl::StrCat("#nn.sgd<lr = ", spelled, ">"));
    mlir::DialectRegistry registry;
    registerDialects(registry);
    mlir::MLIRContext context(registry);
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(*text, &context);
    ASSERT_TRUE(module) << *text;
    std::string again;
    llvm::raw_string_ostream stream(again);
    module->print(stream);
    EXPECT_EQ(sgdOf(stream.str()), sgdOf(*text));
  }
}

TEST(Graph, CompilesWithEveryOptimizer) {
  for (const Optimizer &optimizer :
       {Optimizer(Sgd{0.1}), Optimizer(Momentum{0.1}), Optimizer(AdamW{0.1}), Optimizer(Heavy{0.1})}) {
    Graph graph({"cpu", {{"dp", 2}}});
    buildClassifier(graph, optimizer);
    absl::StatusOr<std::string> text = graph.text();
    ASSERT_TRUE(text.ok()) << text.status();
    EXPECT_EQ(compile(*text, "stage=3"), "");
  }
}

TEST(Graph, SaysWhatOptimizersMayBe) {
  const auto errorOf = [](const Optimizer &optimizer, const std::optional<RateSchedule> &schedule) {
    Graph graph({"cpu", {{"dp", 2}}});
    Tensor x = graph.input("x", ElementType::F32, {8, 4}, split(0));
    StepOptions options;
    options.schedule = schedule;
    graph.minimize(mean(linear(x, "fc", 2)), optimizer, options);
    return std::string(graph.text().status().message());
  };
  EXPECT_THAT(errorOf(Adam{0.1, 1.0}, {}),
              HasSubstr("adam has beta1 = 1; it must be a number of at least 0 and less than 1"));
  EXPECT_THAT(errorOf(Heavy{-1}, {}), HasSubstr("heavy has lr = -1"));
  EXPECT_THAT(errorOf(Sgd{0.1}, CosineRate{10, 0, 10}), HasSubstr("cosine has warmup = 10 of steps = 10"));
  EXPECT_EQ(errorOf(Sgd{0.1}, CosineRate{10, 0, 9}), "");
  EXPECT_THAT(errorOf(OtherAdam{0.1}, {}), HasSubstr("adam is another optimizer's name; give yours its own"));
  EXPECT_THAT(errorOf(Sgd{0.1}, OtherCosine{}), HasSubstr("cosine is another schedule's name; give yours its own"));
  EXPECT_EQ(errorOf(Adam{0.1}, CosineRate{10}), ""); // whose names these are
  EXPECT_THAT(errorOf(WithoutNumbers{}, {}), HasSubstr("without_numbers has no numbers; the first is its learning"));
  EXPECT_THAT(errorOf(Sgd{1e39}, {}), HasSubstr("sgd has lr = 1e+39, which f32 does not hold; it must be 0, or of a"));
  EXPECT_THAT(errorOf(Sgd{1e-60}, {}), HasSubstr("sgd has lr = 1e-60, which f32 does not hold"));
  EXPECT_EQ(errorOf(Sgd{1e-40}, {}), "");
  EXPECT_EQ(errorOf(Sgd{0.0}, {}), "");
}

/// What flags say.
TEST(Graph, ReadsOptimizersAndSchedules) {
  std::optional<Optimizer> optimizer;
  EXPECT_EQ(parseOptimizer("adamw,lr=6e-4,weight-decay=0.1", &optimizer), std::nullopt);
  ASSERT_TRUE(optimizer);
  EXPECT_EQ((*optimizer)->values(), (std::vector<double>{6e-4, 0.9, 0.999, 1e-8, 0.1}));
  const std::pair<const char *, const char *> wrong[] = {
      {"adamax,lr=1", "'adamax' is no optimizer; it must be adagrad, adam, adamw, "},
      {"adam", "adam needs lr; write lr=NUMBER"},
      {"adam,lr=1,rate=2", "adam has no 'rate'; it has lr, beta1, beta2, epsilon"},
      {"adam,lr=1,lr=2", "adam says lr twice"},
      {"adam,lr=1x", "'lr=1x' gives adam no lr; write lr=NUMBER, a finite number of at least 0"},
      {"adam,lr", "'lr' gives adam no lr"},
      {"adamw,lr=1,weight-decay", "'weight-decay' gives adamw no weight-decay; write weight-decay=NUMBER"},
      {"adam,lr=1e-400", "'lr=1e-400' gives adam no lr"},
      {"adam,lr=1,", "'lr=1,' ends in a comma; write NUMBER=X behind it, or leave it out"},
      {"adam,lr=1,beta1=1", "adam has beta1 = 1; it must be a number of at least 0 and less than 1"}};
  for (const auto &[text, says] : wrong)
    EXPECT_THAT(parseOptimizer(text, &optimizer).value_or(""), HasSubstr(says)) << text;
  std::optional<RateSchedule> schedule;
  EXPECT_EQ(parseRateSchedule("cosine,steps=100,warmup=10", &schedule), std::nullopt);
  ASSERT_TRUE(schedule);
  EXPECT_EQ((*schedule)->values(), (std::vector<double>{100, 0, 10}));
  EXPECT_THAT(parseRateSchedule("cosine,steps=10,warmup=10", &schedule).value_or(""),
              HasSubstr("steps count the warm-up, too"));
}

// The module as a whole: names, one read per variable and function at its entry, initializers, a mean over global
// counts.
TEST(Graph, WritesWhatWasSaid) {
  Graph graph({"cpu", {{"dp", 2}}});
  graph.function("train");
  Tensor x = graph.input("x", ElementType::F32, {8, 4}, split(0));
  Tensor y = linear(linear(x, "fc", 4), "fc", 4);
  Tensor frozen = graph.variable("shift", {4}, Init::zeros(), {ElementType::F32, "fc", {}, false});
  Tensor loss = mse(y, add(x, frozen));
  graph.minimize(loss, Sgd{0.5});
  graph.output("loss", loss);
  absl::StatusOr<std::string> text = graph.text();
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, R"(#cpu_dp2_ = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#cpu_dp2_, [B]>
#S0_ = #sbp.nd<#cpu_dp2_, [S(0)]>
module attributes {sbp.placement = #cpu_dp2_} {
  sbp.variable @fc.weight : tensor<4x4xf32, #B> init #sbp.uniform<-5.000000e-01 : f64, 5.000000e-01 : f64>
  sbp.variable @fc.bias : tensor<4xf32, #B> init #sbp.uniform<-5.000000e-01 : f64, 5.000000e-01 : f64>
  sbp.variable @shift : tensor<4xf32, #B> init #sbp.constant<0.000000e+00 : f64> group "fc" frozen
  func.func @train(%arg0: tensor<8x4xf32, #S0_> {sbp.name = "x"}) -> (tensor<f32> {sbp.name = "loss"}) {
    %fc.weight = sbp.read @fc.weight : tensor<4x4xf32>
    %fc.bias = sbp.read @fc.bias : tensor<4xf32>
    %shift = sbp.read @shift : tensor<4xf32>
    %0 = nn.matmul %arg0, %fc.weight : (tensor<8x4xf32, #S0_>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %1 = nn.add %0, %fc.bias : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
    %2 = nn.matmul %1, %fc.weight : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %3 = nn.add %2, %fc.bias : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
    %4 = nn.add %arg0, %shift : (tensor<8x4xf32, #S0_>, tensor<4xf32>) -> tensor<8x4xf32>
    %5 = nn.sub %3, %4 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %6 = nn.mul %5, %5 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %7 = nn.reduce_sum %6 {dims = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
    %loss = nn.scale %7 {value = 3.125000e-02 : f64} : (tensor<f32>) -> tensor<f32>
    nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 5.000000e-01>
    return %loss : tensor<f32>
  }
}
)");
  EXPECT_THAT(graph.variableNames(), ElementsAre("fc.weight", "fc.bias", "shift"));
}

TEST(Graph, Accumulates) {
  Graph graph({"cpu", {{"dp", 2}}});
  graph.function("train");
  Tensor x = graph.input("x", ElementType::F32, {12, 4}, split(0));
  Tensor loss = mean(linear(x, "fc", 2));
  graph.minimize(loss, Sgd{0.5}, {/*accumulate=*/3});
  graph.output("loss", loss);
  absl::StatusOr<std::string> text = graph.text();
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("attributes {sbp.micro_batches = 3 : i64}"));
  EXPECT_EQ(compile(*text, "stage=2"), "");
  EXPECT_THAT(compile(*text, "stage=2 accumulate=5"), ""); // what the graph says counts
  Graph once({"cpu", {{"dp", 2}}});
  once.minimize(mean(linear(once.input("x", ElementType::F32, {12, 4}, split(0)), "fc", 2)), Sgd{0.5},
                {/*accumulate=*/3, sbp::AccumulateOrder::PerStep});
  EXPECT_THAT(*once.text(),
              HasSubstr(R"(attributes {sbp.accumulate_order = "per-step", sbp.micro_batches = 3 : i64})"));
  Graph exact({"cpu", {{"dp", 2}}});
  exact.minimize(mean(linear(exact.input("x", ElementType::F32, {12, 4}, split(0)), "fc", 2)), Sgd{0.5},
                 {/*accumulate=*/3, std::nullopt, /*reproducible=*/true});
  EXPECT_THAT(*exact.text(), HasSubstr("attributes {sbp.micro_batches = 3 : i64, sbp.reproducible = true}"));
  EXPECT_EQ(compile(*exact.text(), "stage=2"), "");
  Graph uneven({"cpu", {{"dp", 2}}});
  uneven.minimize(mean(linear(uneven.input("x", ElementType::F32, {12, 4}, split(0)), "fc", 2)), Sgd{0.5},
                  {/*accumulate=*/4, std::nullopt, /*reproducible=*/true});
  EXPECT_THAT(compile(*uneven.text(), "stage=2"), HasSubstr("which 8 addends"));
  Graph none({"cpu", {{"dp", 2}}});
  none.minimize(mean(linear(none.input("x", ElementType::F32, {12, 4}, split(0)), "fc", 2)), Sgd{0.5}, {0});
  EXPECT_THAT(std::string(none.finish().status().message()),
              HasSubstr("has accumulate = 0; there must be at least one micro-batch"));
}

TEST(Graph, ShapesAndTypes) {
  Graph graph({"cpu", {{"dp", 2}, {"tp", 2}}});
  Tensor x = graph.input("x", ElementType::F64, {8, 4, 2}, Layout{{split(0), split(2)}});
  EXPECT_EQ(x.shape(), (sbp::Shape{8, 4, 2}));
  EXPECT_EQ(sum(x, {2, 0}).shape(), (sbp::Shape{4}));
  EXPECT_EQ(mean(x).shape(), sbp::Shape());
  EXPECT_EQ(reshape(x, {32, 2}).shape(), (sbp::Shape{32, 2}));
  EXPECT_EQ(cast(x, ElementType::F32).type(), ElementType::F32);
  EXPECT_EQ(x.type(), ElementType::F64);
  EXPECT_EQ(matmul(reshape(x, {4, 16}), reshape(x, {4, 16}), {true, false}).shape(), (sbp::Shape{16, 16}));
  EXPECT_TRUE(boxTo(x, Layout{{broadcast(), split(1)}}).isValid());
  EXPECT_EQ(errorsOf(graph), "");
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

struct ErrorCase {
  const char *name;
  void (*build)(Graph &graph, Tensor x, Tensor ids); ///< x: 8x4xf32, ids: 8xi64
  const char *expected;
};

const ErrorCase kErrorCases[] = {
    {"MatmulExtents", [](Graph &, Tensor x, Tensor) { matmul(x, x); },
     "matmul(x: 8x4xf32, x: 8x4xf32) contracts 4 of 'tensor<8x4xf32>' with 8 of 'tensor<8x4xf32>'"},
    {"MatmulRank", [](Graph &, Tensor x, Tensor) { matmul(x, sum(x)); },
     "matmul(x: 8x4xf32, f32) needs operands that have two dimensions"},
    {"MatmulInteger", [](Graph &, Tensor, Tensor ids) { matmul(reshape(ids, {2, 4}), reshape(ids, {4, 2})); },
     "matmul(2x4xi64, 4x2xi64) operand #0 must be a"},
    {"Broadcast", [](Graph &graph, Tensor x, Tensor) { add(x, graph.input("y", ElementType::F32, {3})); },
     "add(x: 8x4xf32, y: 3xf32) operands"},
    {"ElementTypes", [](Graph &, Tensor x, Tensor ids) { add(reshape(x, {4, 8}), ids); }, "use nn.cast"},
    {"ReluOfIntegers", [](Graph &, Tensor, Tensor ids) { relu(ids); }, "relu(ids: 8xi64)"},
    {"Reshape", [](Graph &, Tensor x, Tensor) { reshape(x, {5, 6}); },
     "reshape(x: 8x4xf32) gives shape 5x6; it must have 32 elements"},
    {"ReshapeNegative", [](Graph &, Tensor x, Tensor) { reshape(x, {-8, -4}); }, "gives shape -8x-4"},
    {"SumDims", [](Graph &, Tensor x, Tensor) { sum(x, {0, 2}); }, "distinct dimensions of the operand, 0 to 1"},
    {"SumTwice", [](Graph &, Tensor x, Tensor) { sum(x, {1, 1}); }, "[1, 1]"},
    {"MeanOfNothing", [](Graph &graph, Tensor, Tensor) { mean(graph.input("e", ElementType::F32, {0, 4})); },
     "mean of no elements"},
    {"EmbeddingTable", [](Graph &, Tensor x, Tensor ids) { embedding(sum(x, {0}), ids); }, "rows of a table"},
    {"EmbeddingIds", [](Graph &, Tensor x, Tensor) { embedding(x, x); }, "i32 or i64"},
    {"Labels", [](Graph &, Tensor x, Tensor ids) { softmaxCrossEntropy(x, reshape(ids, {4, 2})); },
     "labels must have the logits' dimensions except the last"},
    {"MseShapes", [](Graph &, Tensor x, Tensor) { mse(x, sum(x, {0})); }, "compares tensors of different shapes"},
    {"LinearRank", [](Graph &, Tensor x, Tensor) { linear(sum(x), "fc", 4); }, "linear 'fc'(f32) gives 4 outputs"},
    {"LinearOutputs", [](Graph &, Tensor x, Tensor) { linear(x, "fc", 0); }, "gives 0 outputs"},
    {"VariableShape", [](Graph &, Tensor x, Tensor) { linear(linear(x, "fc", 6), "fc", 6); },
     "variable 'fc.weight' is 6x6 of f32, but it was made as 4x6 of f32"},
    {"InputTwice", [](Graph &graph, Tensor, Tensor) { graph.input("x", ElementType::F32, {1}); },
     "input 'x' is there already"},
    {"InputExtent", [](Graph &graph, Tensor, Tensor) { graph.input("y", ElementType::F32, {-1}); },
     "extents must not be negative"},
    {"InputSplit", [](Graph &graph, Tensor, Tensor) { graph.input("y", ElementType::F32, {4}, split(1)); },
     "input 'y' cannot lay out 4 as [S(1)]"},
    {"InputCoordinate",
     [](Graph &graph, Tensor, Tensor) { graph.input("y", ElementType::F32, {4}, Layout{sbp::Sbp::at(64)}); },
     "input 'y' cannot lay out 4 as [At(64)]; entries must be B, S(d) with d a dimension of the tensor, or At(k) with "
     "k a coordinate of the axis"},
    {"InputAxes",
     [](Graph &graph, Tensor, Tensor) { graph.input("y", ElementType::F32, {4}, Layout{{split(0), split(0)}}); },
     "has a layout along 2 axes, but the placement has 1"},
    {"LossShape", [](Graph &graph, Tensor x, Tensor) { graph.minimize(x, Sgd{1.0}); }, "minimize(x: 8x4xf32)"},
    {"MinimizeTwice",
     [](Graph &graph, Tensor x, Tensor) {
       Tensor loss = mean(linear(x, "fc", 2));
       graph.minimize(loss, Sgd{1.0});
       graph.minimize(loss, Sgd{1.0});
     },
     "is the second minimize in function 'f'"},
    {"OutputTwice",
     [](Graph &graph, Tensor x, Tensor) {
       graph.output("x", x);
       graph.output("x", x);
     },
     "output 'x' is there already"},
    {"OutputOfNothing", [](Graph &graph, Tensor, Tensor) { graph.output("y", Tensor()); },
     "output 'y' has a tensor that no graph made"},
    {"OperandOfNothing", [](Graph &, Tensor x, Tensor) { add(x, Tensor()); },
     "add(x: 8x4xf32, invalid) has an operand that no graph made"},
    {"MinimizeNothing", [](Graph &graph, Tensor, Tensor) { graph.minimize(Tensor(), Sgd{1.0}); },
     "minimize has a tensor that no graph made"},
    {"TwoFunctions",
     [](Graph &graph, Tensor x, Tensor) {
       graph.function("g");
       add(x, graph.input("y", ElementType::F32, {4}));
     },
     "add(x: 8x4xf32, y: 4xf32) has operands of two functions"},
    {"FunctionName",
     [](Graph &graph, Tensor x, Tensor) {
       linear(x, "fc", 2);
       graph.function("fc.bias");
     },
     "function 'fc.bias' has the name of a variable"},
    {"VariableName", [](Graph &graph, Tensor, Tensor) { graph.variable("f", {1}, Init::zeros()); },
     "variable 'f' has the name of a function"},
};

class GraphErrors : public ::testing::TestWithParam<ErrorCase> {};

// Each is noted once, with the call; what is computed from the invalid tensor adds nothing and does no harm.
TEST_P(GraphErrors, AreNotedWithTheCall) {
  Graph graph({"cpu", {{"dp", 2}}});
  graph.function("f");
  Tensor x = graph.input("x", ElementType::F32, {8, 4}, split(0));
  Tensor ids = graph.input("ids", ElementType::I64, {8}, split(0));
  GetParam().build(graph, x, ids);
  std::string errors = errorsOf(graph);
  EXPECT_THAT(errors, HasSubstr(GetParam().expected));
  EXPECT_EQ(errors.find('\n'), std::string::npos) << errors;
}

INSTANTIATE_TEST_SUITE_P(Graph, GraphErrors, ::testing::ValuesIn(kErrorCases),
                         [](const auto &info) { return info.param.name; });

TEST(Graph, FreezesByNames) {
  Graph graph({"cpu", {{"dp", 2}}});
  for (const char *name : {"h0.weight", "h0.bias", "h1.weight", "h10.bias"})
    graph.variable(name, {8, 3}, Init::zeros());
  graph.variable("rate", {}, Init::zeros(), {.trainable = false});
  EXPECT_EQ(graph.parameters().all, 4 * 24);
  EXPECT_EQ(graph.parameters().trained, 4 * 24);
  graph.freeze({"h0.*", "h1*.bias"});
  EXPECT_EQ(graph.parameters().all, 4 * 24);
  EXPECT_EQ(graph.parameters().trained, 24);
  graph.freeze({"h1.bias"});
  EXPECT_THAT(errorsOf(graph),
              HasSubstr("freeze has the pattern 'h1.bias', which matches none of the 5 variables made so "
                        "far; write a whole name, in which * stands for any characters"));
}

TEST(Graph, InvalidTensorsStayInvalid) {
  Graph graph({"cpu", {{"dp", 2}}});
  Tensor x = graph.input("x", ElementType::F32, {8, 4}, split(0));
  Tensor bad = matmul(x, x);
  EXPECT_FALSE(bad.isValid());
  Tensor loss = mean(softmaxCrossEntropy(linear(gelu(add(bad, x)), "fc", 3), embeddingTable(bad, "t", 3, 3)));
  EXPECT_FALSE(mse(cast(reshape(boxTo(loss, split(0)), {3}), ElementType::F32), x).isValid());
  for (const Tensor &made : {neg(bad), variance(bad, {0}), mean(bad), mse(bad, bad), rmsNorm(bad, bad),
                             groupNorm(bad, bad, bad, 2), meanOfPresent(bad, bad), meanCrossEntropy(bad, bad, 0)})
    EXPECT_FALSE(made.isValid());
  EXPECT_FALSE(loss.isValid());
  graph.minimize(loss, Sgd{1.0});
  graph.output("loss", loss);
  EXPECT_THAT(errorsOf(graph), HasSubstr("matmul"));
  EXPECT_EQ(errorsOf(graph).find('\n'), std::string::npos);
}

TEST(Graph, AllErrorsAreReturned) {
  Graph graph({"cpu", {{"dp", 2}}});
  Tensor x = graph.input("x", ElementType::F32, {8, 4});
  matmul(x, x);
  reshape(x, {3});
  std::vector<std::string> lines = absl::StrSplit(errorsOf(graph), '\n');
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], HasSubstr("matmul"));
  EXPECT_THAT(lines[1], HasSubstr("reshape"));
}

TEST(Graph, PlacementsAreChecked) {
  for (const GraphOptions &options :
       {GraphOptions{"cpu", {}}, GraphOptions{"cpu", {{"dp", 0}}}, GraphOptions{"cpu", {{"dp", 2}, {"dp", 2}}}}) {
    Graph graph(options);
    graph.function("f");
    graph.output("x", relu(graph.input("x", ElementType::F32, {8}, split(0))));
    VariableOptions layout;
    layout.logical = split(0);
    graph.output("w", relu(graph.variable("w", {8}, Init::zeros(), layout)));
    EXPECT_THAT(errorsOf(graph), HasSubstr("Graph: "));
  }
}

TEST(Graph, NothingAfterFinish) {
  Graph graph({"cpu", {{"dp", 2}}});
  Tensor x = graph.input("x", ElementType::F32, {8, 4});
  graph.output("x", x);
  ASSERT_EQ(errorsOf(graph), "");
  ASSERT_EQ(errorsOf(graph), "");
  EXPECT_FALSE(relu(x).isValid());
  EXPECT_THAT(errorsOf(graph), HasSubstr("relu(x: 8x4xf32) comes after the graph was finished"));
}

TEST(Graph, OtherGraphsTensors) {
  Graph graph({"cpu", {{"dp", 2}}}), other({"cpu", {{"dp", 2}}});
  Tensor x = graph.input("x", ElementType::F32, {8}), y = other.input("y", ElementType::F32, {8});
  EXPECT_FALSE(add(x, y).isValid());
  EXPECT_THAT(errorsOf(graph), HasSubstr("add(x: 8xf32, y: 8xf32) has an operand of another graph"));
}

//===----------------------------------------------------------------------===//
// Where ops come from
//===----------------------------------------------------------------------===//

/// What an error that is found at a line of this file begins with.
std::string atLine(int line) { return absl::StrCat(__FILE__, ":", line, ": "); }

/// The ops that the other models have not.
void buildRest(Graph &graph) {
  graph.group("words", sbp::Policy().setStage(1));
  graph.function("train");
  Tensor x = graph.input("x", ElementType::F32, {8, 4, 2, 6}, split(0));
  Tensor labels = graph.input("labels", ElementType::I64, {8, 4}, split(0));
  Tensor words = graph.variable("words.bias", {6}, Init::zeros());
  Tensor mixed = attention(x, x, layerNorm(add(x, words), "norm"), {true, {}});
  Tensor parts = concat({slice(mixed, 2, 0, 1), slice(dropout(mixed, 0.5), 2, 1, 1)}, 2);
  parts = add(parts, graph.iota(ElementType::F32, {8, 4, 2, 6}, 1));
  Tensor logits = sub(reshape(parts, {8, 4, 12}), log(exp(cos(sin(transpose(reshape(parts, {8, 12, 4}), {0, 2, 1}))))));
  Tensor loss = meanCrossEntropy(boxTo(logits, split(0)), labels, 0);
  graph.minimize(
      add(loss, add(add(mean(softmax(x)), mean(logSumExp(x))), mean(sum(cast(labels, ElementType::F32), {1}), {0}))),
      Momentum{0.1});
  graph.output("loss", loss);
}

/// The files of all ops and arguments below the module; "" for those that have none.
std::set<std::string> filesOf(mlir::ModuleOp module) {
  std::set<std::string> files;
  auto add = [&](mlir::Location location) {
    auto file = location->findInstanceOf<mlir::FileLineColLoc>();
    files.insert(file ? file.getFilename().str() : "");
  };
  module.getBody()->walk([&](mlir::Operation *op) { add(op->getLoc()); });
  for (auto function : module.getOps<mlir::func::FuncOp>())
    for (mlir::BlockArgument argument : function.getArguments())
      add(argument.getLoc());
  return files;
}

// No op has a line of the library, however many ops the call is made of.
TEST(Graph, EveryOpHasAPlaceOfTheCaller) {
  for (auto build : {+[](Graph &graph) { buildClassifier(graph, Adam{0.01}); }, &buildLanguageModel, &buildRest}) {
    Graph graph({"cpu", {{"dp", 2}}});
    build(graph);
    absl::StatusOr<mlir::ModuleOp> module = graph.finish();
    ASSERT_TRUE(module.ok()) << module.status();
    EXPECT_THAT(filesOf(*module), ElementsAre(__FILE__));
  }
}

TEST(Graph, ErrorsBeginWithFileAndLine) {
  Graph graph({"cpu", {{"dp", 2}}});
  Tensor x = graph.input("x", ElementType::F32, {8, 4}, split(0));
  const int first = __LINE__ + 1;
  matmul(x, x);
  linear(x, "fc", 0);
  std::vector<std::string> lines = absl::StrSplit(errorsOf(graph), '\n');
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], StartsWith(atLine(first) + "matmul(x: 8x4xf32"));
  EXPECT_THAT(lines[1], StartsWith(atLine(first + 1) + "linear 'fc'(x: 8x4xf32"));
}

Tensor innermost(const Tensor &x) { return matmul(x, x); }
constexpr int kInnermostLine = __LINE__ - 1;

Tensor handedOn(const Tensor &x, Caller at = Caller::here()) { return matmul(x, x, {}, at); }

TEST(Graph, HelpersMayHandTheirCallerOn) {
  Graph graph({"cpu", {{"dp", 2}}});
  Tensor x = graph.input("x", ElementType::F32, {8, 4}, split(0));
  innermost(x);
  handedOn(x);
  const int line = __LINE__ - 1;
  std::vector<std::string> lines = absl::StrSplit(errorsOf(graph), '\n');
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], StartsWith(atLine(kInnermostLine)));
  EXPECT_THAT(lines[1], StartsWith(atLine(line)));
}

// What a pass refuses, it refuses at the call.
TEST(Graph, ErrorsOfPassesBeginWithFileAndLine) {
  Graph graph({"cpu", {{"dp", 2}}});
  graph.group("nobody", sbp::Policy().setStage(3));
  const int line = __LINE__ - 1;
  buildClassifier(graph, Sgd{0.1});
  absl::StatusOr<mlir::ModuleOp> module = graph.finish();
  ASSERT_TRUE(module.ok()) << module.status();
  absl::Status status = compileGlobal(*module, CompileOptions()).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr(atLine(line) + "'sbp.group' op \"nobody\" has no variable"));
}

// Names that a user gives stand in the IR, in that of the backward pass, and in messages.
TEST(Graph, NamesOfTensorsAreKept) {
  Graph graph({"cpu", {{"dp", 2}}});
  Tensor x = graph.input("x", ElementType::F32, {8, 4}, split(0));
  Tensor logits = named(linear(named(x, "another"), "fc", 3), "logits");
  Tensor loss = mean(mul(logits, logits));
  graph.minimize(loss, Sgd{0.1});
  graph.output("loss", loss);
  graph.output("again", logits); // has a name
  absl::StatusOr<std::string> text = graph.text();
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("%logits = nn.add"));
  EXPECT_THAT(*text, HasSubstr("%fc.weight = sbp.read @fc.weight"));
  EXPECT_THAT(*text, HasSubstr("%loss = "));
  EXPECT_THAT(*text, HasSubstr("return %loss, %logits"));
  EXPECT_THAT(*text, ::testing::Not(HasSubstr("another")));
  absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> module = compileGlobal(*graph.finish(), CompileOptions());
  ASSERT_TRUE(module.ok()) << module.status();
  std::string compiled;
  llvm::raw_string_ostream os(compiled);
  (*module)->print(os);
  EXPECT_THAT(compiled, ::testing::ContainsRegex("%logits_grad = nn\\.\\w+ .*%logits")) << compiled;
  EXPECT_THAT(compiled, HasSubstr("%fc.weight_grad = nn.matmul"));
}

TEST(Graph, NamesOfTensorsAreInMessages) {
  Graph graph({"cpu", {{"dp", 2}}});
  Tensor hidden = named(exp(graph.input("x", ElementType::F32, {8, 4})), "hidden");
  matmul(hidden, hidden);
  named(hidden, "");
  std::string errors = errorsOf(graph);
  EXPECT_THAT(errors, HasSubstr("matmul(hidden: 8x4xf32, hidden: 8x4xf32)"));
  EXPECT_THAT(errors, HasSubstr("has no name; give one of at least one character"));
}

TEST(Graph, WritesFilesWhole) {
  Graph graph({"cpu", {{"dp", 2}}});
  buildClassifier(graph, Sgd{0.1});
  std::string path = ::testing::TempDir() + "/graph.mlir";
  ASSERT_TRUE(graph.writeMlir(path).ok());
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), *graph.text());
  EXPECT_FALSE(graph.writeMlir(::testing::TempDir() + "/no/such/folder.mlir").ok());
  std::remove(path.c_str());
}

} // namespace
} // namespace splitcast
