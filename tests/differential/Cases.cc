#include "tests/differential/Cases.h"

#include "dialects/sbp/Sbp.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

#include <random>

using namespace mlir;

namespace splitcast::differential {

namespace {

std::string onRanks(absl::string_view text, int64_t ranks) {
  return absl::StrReplaceAll(text, {{"RANKS", absl::StrCat(ranks)}});
}

/// On inputs whose rows are #S0; which variables there are, the models say.
constexpr const char *kTrainMlp =
    R"(func.func @train(%x: tensor<8x10xf32, #S0>, %y: tensor<8x3xf32, #S0>) -> tensor<f32> {
  %w1 = sbp.read @fc1.weight : tensor<10x6xf32>
  %b1 = sbp.read @fc1.bias : tensor<6xf32>
  %w2 = sbp.read @fc2.weight : tensor<6x3xf32>
  %b2 = sbp.read @fc2.bias : tensor<3xf32>
  %0 = nn.matmul %x, %w1 : (tensor<8x10xf32, #S0>, tensor<10x6xf32>) -> tensor<8x6xf32>
  %1 = nn.add %0, %b1 : (tensor<8x6xf32>, tensor<6xf32>) -> tensor<8x6xf32>
  %2 = nn.relu %1 : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %3 = nn.matmul %2, %w2 : (tensor<8x6xf32>, tensor<6x3xf32>) -> tensor<8x3xf32>
  %4 = nn.add %3, %b2 : (tensor<8x3xf32>, tensor<3xf32>) -> tensor<8x3xf32>
  %d = nn.sub %4, %y : (tensor<8x3xf32>, tensor<8x3xf32, #S0>) -> tensor<8x3xf32>
  %q = nn.mul %d, %d : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %s = nn.reduce_sum %q {dims = array<i64: 0, 1>} : (tensor<8x3xf32>) -> tensor<f32>
  %loss = nn.scale %s {value = 0.0416666 : f64} : (tensor<f32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.adam<lr = 0.01, beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-8>
  return %loss : tensor<f32>
})";

constexpr const char *kMlpVariables = R"(
#p = #sbp.placement<"cpu", [dp = RANKS]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @fc1.weight : tensor<10x6xf32, #B> init #sbp.normal<mean = 0.0, stddev = 0.5>
sbp.variable @fc1.bias : tensor<6xf32, #B>
sbp.variable @fc2.weight : tensor<6x3xf32, #B> init #sbp.normal<mean = 0.0, stddev = 0.5>
sbp.variable @fc2.bias : tensor<3xf32, #B>)";

std::string mlpOf(const char *variables) { return absl::StrCat(variables, "\n", kTrainMlp); }

constexpr const char *kClassifier = R"(
#p = #sbp.placement<"cpu", [dp = RANKS]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @fc1.weight : tensor<256x128xf32, #B> init #sbp.uniform<-0.0625, 0.0625>
sbp.variable @fc1.bias : tensor<128xf32, #B>
sbp.variable @fc2.weight : tensor<128x10xf32, #B> init #sbp.uniform<-0.088, 0.088>
sbp.variable @fc2.bias : tensor<10xf32, #B>
func.func @train(%x: tensor<6x256xf32, #S0>, %labels: tensor<6xi64, #S0>) -> tensor<f32> {
  %w1 = sbp.read @fc1.weight : tensor<256x128xf32>
  %b1 = sbp.read @fc1.bias : tensor<128xf32>
  %w2 = sbp.read @fc2.weight : tensor<128x10xf32>
  %b2 = sbp.read @fc2.bias : tensor<10xf32>
  %0 = nn.matmul %x, %w1 : (tensor<6x256xf32, #S0>, tensor<256x128xf32>) -> tensor<6x128xf32>
  %1 = nn.add %0, %b1 : (tensor<6x128xf32>, tensor<128xf32>) -> tensor<6x128xf32>
  %2 = nn.relu %1 : (tensor<6x128xf32>) -> tensor<6x128xf32>
  %3 = nn.matmul %2, %w2 : (tensor<6x128xf32>, tensor<128x10xf32>) -> tensor<6x10xf32>
  %4 = nn.add %3, %b2 : (tensor<6x10xf32>, tensor<10xf32>) -> tensor<6x10xf32>
  %5 = nn.softmax_cross_entropy %4, %labels : (tensor<6x10xf32>, tensor<6xi64, #S0>) -> tensor<6xf32>
  %s = nn.reduce_sum %5 {dims = array<i64: 0>} : (tensor<6xf32>) -> tensor<f32>
  %loss = nn.scale %s {value = 0.16666667 : f64} : (tensor<f32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.1>
  return %loss : tensor<f32>
})";

/// On GPUs, so small floats of a width that is a multiple of 8 have flash attention.
constexpr const char *kAttention = R"(
#p = #sbp.placement<"cuda", [dp = RANKS]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @query.weight : tensor<6x16xf32, #B> init #sbp.normal<mean = 0.0, stddev = 0.5>
sbp.variable @key.weight : tensor<6x16xf32, #B> init #sbp.normal<mean = 0.0, stddev = 0.5>
func.func @train(%x: tensor<4x5x6xf32, #S0>, %y: tensor<4x5x2x8xf32, #S0>) -> tensor<f32> {
  %wq = sbp.read @query.weight : tensor<6x16xf32>
  %wk = sbp.read @key.weight : tensor<6x16xf32>
  %r = nn.reshape %x : (tensor<4x5x6xf32, #S0>) -> tensor<20x6xf32>
  %0 = nn.matmul %r, %wq : (tensor<20x6xf32>, tensor<6x16xf32>) -> tensor<20x16xf32>
  %1 = nn.matmul %r, %wk : (tensor<20x6xf32>, tensor<6x16xf32>) -> tensor<20x16xf32>
  %2 = nn.reshape %0 : (tensor<20x16xf32>) -> tensor<4x5x2x8xf32>
  %3 = nn.reshape %1 : (tensor<20x16xf32>) -> tensor<4x5x2x8xf32>
  %q = nn.cast %2 : (tensor<4x5x2x8xf32>) -> tensor<4x5x2x8xbf16>
  %k = nn.cast %3 : (tensor<4x5x2x8xf32>) -> tensor<4x5x2x8xbf16>
  %4 = nn.attention %q, %k, %k {causal, scale = 0.25 : f64} : (tensor<4x5x2x8xbf16>, tensor<4x5x2x8xbf16>, tensor<4x5x2x8xbf16>) -> tensor<4x5x2x8xbf16>
  %5 = nn.cast %4 : (tensor<4x5x2x8xbf16>) -> tensor<4x5x2x8xf32>
  %d = nn.sub %5, %y : (tensor<4x5x2x8xf32>, tensor<4x5x2x8xf32, #S0>) -> tensor<4x5x2x8xf32>
  %6 = nn.mul %d, %d : (tensor<4x5x2x8xf32>, tensor<4x5x2x8xf32>) -> tensor<4x5x2x8xf32>
  %s = nn.reduce_sum %6 {dims = array<i64: 0, 1, 2, 3>} : (tensor<4x5x2x8xf32>) -> tensor<f32>
  %loss = nn.scale %s {value = 0.05 : f64} : (tensor<f32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.1>
  return %loss : tensor<f32>
})";

constexpr const char *kLanguageModel = R"(
#p = #sbp.placement<"cpu", [dp = RANKS]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @embedding.weight : tensor<31x6xf32, #B> init #sbp.normal<mean = 0.0, stddev = 1.0>
sbp.variable @fc1.weight : tensor<24x13xf32, #B> init #sbp.normal<mean = 0.0, stddev = 0.2>
sbp.variable @fc1.bias : tensor<13xf32, #B>
sbp.variable @fc2.weight : tensor<13x31xf32, #B> init #sbp.normal<mean = 0.0, stddev = 0.3>
sbp.variable @fc2.bias : tensor<31xf32, #B>
func.func @train(%ids: tensor<5x4xi64, #S0>, %next: tensor<5xi64, #S0>) -> tensor<f32> {
  %table = sbp.read @embedding.weight : tensor<31x6xf32>
  %w1 = sbp.read @fc1.weight : tensor<24x13xf32>
  %b1 = sbp.read @fc1.bias : tensor<13xf32>
  %w2 = sbp.read @fc2.weight : tensor<13x31xf32>
  %b2 = sbp.read @fc2.bias : tensor<31xf32>
  %0 = nn.embedding %table, %ids : (tensor<31x6xf32>, tensor<5x4xi64, #S0>) -> tensor<5x4x6xf32>
  %1 = nn.reshape %0 : (tensor<5x4x6xf32>) -> tensor<5x24xf32>
  %2 = nn.matmul %1, %w1 : (tensor<5x24xf32>, tensor<24x13xf32>) -> tensor<5x13xf32>
  %3 = nn.add %2, %b1 : (tensor<5x13xf32>, tensor<13xf32>) -> tensor<5x13xf32>
  %4 = nn.gelu %3 : (tensor<5x13xf32>) -> tensor<5x13xf32>
  %5 = nn.matmul %4, %w2 : (tensor<5x13xf32>, tensor<13x31xf32>) -> tensor<5x31xf32>
  %6 = nn.add %5, %b2 : (tensor<5x31xf32>, tensor<31xf32>) -> tensor<5x31xf32>
  %7 = nn.softmax_cross_entropy %6, %next : (tensor<5x31xf32>, tensor<5xi64, #S0>) -> tensor<5xf32>
  %s = nn.reduce_sum %7 {dims = array<i64: 0>} : (tensor<5xf32>) -> tensor<f32>
  %loss = nn.scale %s {value = 0.2 : f64} : (tensor<f32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32>
    with #nn.adamw<lr = 0.01, beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-8, weight_decay = 0.01>
  return %loss : tensor<f32>
})";

constexpr const char *kTensorParallelVariables = R"(
#p = #sbp.placement<"cpu", [dp = 2, tp = 2]>
#B = #sbp.nd<#p, [B, B]>
#S0 = #sbp.nd<#p, [S(0), B]>
#w1 = #sbp.nd<#p, [B, S(1)]>
#b1 = #sbp.nd<#p, [B, S(0)]>
#w2 = #sbp.nd<#p, [B, S(0)]>
sbp.variable @fc1.weight : tensor<10x6xf32, #w1> init #sbp.normal<mean = 0.0, stddev = 0.5>
sbp.variable @fc1.bias : tensor<6xf32, #b1>
sbp.variable @fc2.weight : tensor<6x3xf32, #w2> init #sbp.normal<mean = 0.0, stddev = 0.5>
sbp.variable @fc2.bias : tensor<3xf32, #B>)";

/// One half of the batch; reads of its own, as a loop over micro-batches has.
constexpr const char *kHalf = R"(
  %w1N = sbp.read @fc1.weight : tensor<10x6xf32>
  %w2N = sbp.read @fc2.weight : tensor<6x3xf32>
  %hN = nn.matmul %xN, %w1N : (tensor<4x10xf32, #S0>, tensor<10x6xf32>) -> tensor<4x6xf32>
  %rN = nn.relu %hN : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %oN = nn.matmul %rN, %w2N : (tensor<4x6xf32>, tensor<6x3xf32>) -> tensor<4x3xf32>
  %dN = nn.sub %oN, %yN : (tensor<4x3xf32>, tensor<4x3xf32, #S0>) -> tensor<4x3xf32>
  %qN = nn.mul %dN, %dN : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %sN = nn.reduce_sum %qN {dims = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<f32>)";

constexpr const char *kMicroBatches = R"(
#p = #sbp.placement<"cpu", [dp = RANKS]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @fc1.weight : tensor<10x6xf32, #B> init #sbp.normal<mean = 0.0, stddev = 0.5>
sbp.variable @fc2.weight : tensor<6x3xf32, #B> init #sbp.normal<mean = 0.0, stddev = 0.5>
func.func @train(%xa: tensor<4x10xf32, #S0>, %xb: tensor<4x10xf32, #S0>,
                 %ya: tensor<4x3xf32, #S0>, %yb: tensor<4x3xf32, #S0>) -> tensor<f32> {HALF_A HALF_B
  %s = nn.add %sa, %sb : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %loss = nn.scale %s {value = 0.0416666 : f64} : (tensor<f32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.momentum<lr = 0.05, momentum = 0.9>
  return %loss : tensor<f32>
})";

constexpr const char *kManyRanks = R"(
#p = #sbp.placement<"cpu", [dp = 10]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
#S1 = #sbp.nd<#p, [S(1)]>
#U = #sbp.nd<#p, [S(1 by 3)]>
sbp.variable @w : tensor<23x11xf32, #S0> init #sbp.normal<mean = 0.0, stddev = 0.5>
func.func @train(%x: tensor<6x23xf32, #S1>, %y: tensor<14x12xf32, #S0>) -> tensor<f32> {
  %w = sbp.read @w : tensor<23x11xf32>
  %0 = nn.matmul %x, %w : (tensor<6x23xf32, #S1>, tensor<23x11xf32>) -> tensor<6x11xf32>
  %1 = sbp.boxing %0 : tensor<6x11xf32> -> tensor<6x11xf32, #S1>
  %2 = nn.tanh %1 : (tensor<6x11xf32, #S1>) -> tensor<6x11xf32, #S1>
  %3 = sbp.boxing %2 : tensor<6x11xf32, #S1> -> tensor<6x11xf32, #S0>
  %4 = sbp.boxing %y : tensor<14x12xf32, #S0> -> tensor<14x12xf32, #S1>
  %5 = nn.tanh %4 : (tensor<14x12xf32, #S1>) -> tensor<14x12xf32, #S1>
  %u = sbp.boxing %5 : tensor<14x12xf32, #S1> -> tensor<14x12xf32, #U>
  %v = nn.tanh %u : (tensor<14x12xf32, #U>) -> tensor<14x12xf32, #U>
  %a = sbp.boxing %v : tensor<14x12xf32, #U> -> tensor<14x12xf32, #S0>
  %b = nn.tanh %a : (tensor<14x12xf32, #S0>) -> tensor<14x12xf32, #S0>
  %c = sbp.boxing %b : tensor<14x12xf32, #S0> -> tensor<14x12xf32, #U>
  %d = nn.tanh %c : (tensor<14x12xf32, #U>) -> tensor<14x12xf32, #U>
  %6 = sbp.boxing %d : tensor<14x12xf32, #U> -> tensor<14x12xf32, #B>
  %7 = nn.mul %6, %6 : (tensor<14x12xf32, #B>, tensor<14x12xf32, #B>) -> tensor<14x12xf32, #B>
  %8 = nn.mul %3, %3 : (tensor<6x11xf32, #S0>, tensor<6x11xf32, #S0>) -> tensor<6x11xf32, #S0>
  %9 = nn.reduce_sum %7 {dims = array<i64: 0, 1>} : (tensor<14x12xf32, #B>) -> tensor<f32>
  %10 = nn.reduce_sum %8 {dims = array<i64: 0, 1>} : (tensor<6x11xf32, #S0>) -> tensor<f32>
  %s = nn.add %9, %10 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %loss = nn.scale %s {value = 0.01 : f64} : (tensor<f32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.1>
  return %loss : tensor<f32>
})";

/// 12 rows. What divides the loss is known when all rows have been seen; %z is returned row by row.
constexpr const char *kMaskedMean = R"(
#p = #sbp.placement<"cpu", [dp = RANKS]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<4x2xf32> init #sbp.normal<mean = 0.0, stddev = 0.5>
func.func @train(%x: tensor<12x4xf32, #S0>, %mask: tensor<12x2xf32, #S0>) -> (tensor<f32>, tensor<12x2xf32>) {
  %w = sbp.read @w : tensor<4x2xf32>
  %y = nn.matmul %x, %w : (tensor<12x4xf32, #S0>, tensor<4x2xf32>) -> tensor<12x2xf32>
  %positive = nn.relu %mask : (tensor<12x2xf32, #S0>) -> tensor<12x2xf32>
  %m = nn.shift %positive {value = 1.0 : f64} : (tensor<12x2xf32>) -> tensor<12x2xf32>
  %z = nn.mul %y, %m : (tensor<12x2xf32>, tensor<12x2xf32>) -> tensor<12x2xf32>
  %sum = nn.reduce_sum %z {dims = array<i64: 0, 1>} : (tensor<12x2xf32>) -> tensor<f32>
  %count = nn.reduce_sum %m {dims = array<i64: 0, 1>} : (tensor<12x2xf32>) -> tensor<f32>
  %loss = nn.div %sum, %count : (tensor<f32>, tensor<f32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.adam<lr = 0.1, beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-8>
  return %loss, %z : tensor<f32>, tensor<12x2xf32>
})";

/// Buckets of 128 elements (a, d) and of 64 (b, c).
constexpr const char *kCopies = R"(
#p = #sbp.placement<"cpu", [dp = RANKS]>
#B = #sbp.nd<#p, [B]>
sbp.variable @a.w : tensor<64xf32, #B>
sbp.variable @a.v : tensor<64xf32, #B>
sbp.variable @b.w : tensor<64xf32, #B>
sbp.variable @c.w : tensor<64xf32, #B>
sbp.variable @d.w : tensor<64xf32, #B>
sbp.variable @d.v : tensor<64xf32, #B>
sbp.variable @a.w.m : tensor<64xf32, #B> state_of @a.w role "m"
sbp.variable @b.w.m : tensor<64xf32, #B> state_of @b.w role "m"
sbp.variable @c.w.m : tensor<64xf32, #B> state_of @c.w role "m"
sbp.variable @d.w.m : tensor<64xf32, #B> state_of @d.w role "m"
sbp.variable @d.v.m : tensor<64xf32, #B> state_of @d.v role "m"
func.func @train() -> (tensor<64xf32>, tensor<64xf32>) {
  %aw = sbp.read @a.w : tensor<64xf32>
  sbp.assign @b.w, %aw : tensor<64xf32>
  %cw = sbp.read @c.w : tensor<64xf32>
  sbp.assign @d.w, %cw : tensor<64xf32>
  sbp.assign @d.v, %aw : tensor<64xf32>
  %am = sbp.read @a.w.m : tensor<64xf32>
  sbp.assign @b.w.m, %am : tensor<64xf32>
  %cm = sbp.read @c.w.m : tensor<64xf32>
  sbp.assign @d.v.m, %cm : tensor<64xf32>
  %dm = sbp.read @d.v.m : tensor<64xf32>
  sbp.assign @d.w.m, %dm : tensor<64xf32>
  %bw = sbp.read @b.w : tensor<64xf32>
  %dv = sbp.read @d.v : tensor<64xf32>
  return %bw, %dv : tensor<64xf32>, tensor<64xf32>
})";

} // namespace

Case copies(int64_t ranks) { return {"copies", onRanks(kCopies, ranks), 0}; }
Case mlp(int64_t ranks) { return {"mlp", onRanks(mlpOf(kMlpVariables), ranks), 0}; }
Case classifier(int64_t ranks) { return {"classifier", onRanks(kClassifier, ranks), 9}; }
Case languageModel(int64_t ranks) { return {"language model", onRanks(kLanguageModel, ranks), 30}; }
Case attention(int64_t ranks) { return {"attention", onRanks(kAttention, ranks), 0}; }
Case maskedMean(int64_t ranks) { return {"masked mean", onRanks(kMaskedMean, ranks), 0}; }
Case manyRanks() { return {"many ranks", kManyRanks, 0}; }
Case tensorParallelMlp() { return {"tensor-parallel mlp", mlpOf(kTensorParallelVariables), 0}; }
Case pipelineMlp() {
  return {"pipeline mlp",
          absl::StrReplaceAll(mlpOf(kTensorParallelVariables),
                              {{"tp = 2", "pp = 2"},
                               {"#w1 = #sbp.nd<#p, [B, S(1)]>", "#w1 = #sbp.nd<#p, [B, At(0)]>"},
                               {"#b1 = #sbp.nd<#p, [B, S(0)]>", "#b1 = #sbp.nd<#p, [B, At(0)]>"},
                               {"#w2 = #sbp.nd<#p, [B, S(0)]>", "#w2 = #sbp.nd<#p, [B, At(1)]>"},
                               {"@fc2.bias : tensor<3xf32, #B>", "@fc2.bias : tensor<3xf32, #w2>"}}),
          0};
}
Case tensorParallelMlpInPairs() {
  return {"tensor-parallel mlp in pairs",
          absl::StrReplaceAll(mlpOf(kTensorParallelVariables),
                              {{"[B, S(0)]", "[B, S(0 by 2)]"}, {"[B, S(1)]", "[B, S(1 by 2)]"}}),
          0};
}

Case microBatches(int64_t ranks) {
  std::string text = onRanks(kMicroBatches, ranks);
  for (const char *half : {"a", "b"})
    text = absl::StrReplaceAll(
        text, {{half == std::string("a") ? "HALF_A" : "HALF_B",
                absl::StrReplaceAll(kHalf, {{"N ", absl::StrCat(half, " ")}, {"N,", absl::StrCat(half, ",")}})}});
  return {"micro-batches", text, 0};
}

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

namespace {

Tensor randomTensor(std::mt19937_64 &random, RankedTensorType type, int64_t mostId) {
  Tensor tensor = Tensor::zeros(sbp::shapeOf(type), type.getElementType());
  for (double &value : tensor.floats)
    value = static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-52 - 1.0);
  for (int64_t &value : tensor.integers)
    value = random() % (mostId + 1);
  return tensor;
}

} // namespace

std::vector<Call> randomSteps(ModuleOp module, const Case &of, int64_t steps) {
  std::mt19937_64 random(1);
  std::vector<Call> calls;
  auto train = module.lookupSymbol<func::FuncOp>("train");
  for (int64_t step = 0; step < steps; ++step) {
    calls.push_back({"train", {}});
    for (Type type : train.getArgumentTypes())
      calls.back().inputs.push_back(randomTensor(random, cast<RankedTensorType>(type), of.mostId));
  }
  return calls;
}

Variables randomVariables(ModuleOp module) {
  std::mt19937_64 random(2);
  Variables variables;
  for (auto variable : module.getOps<sbp::VariableOp>())
    if (!isa_and_nonnull<sbp::ConstantInitAttr>(variable.getInitAttr()))
      variables[variable.getSymName().str()] = randomTensor(random, variable.getTensorType(), 0);
  return variables;
}

std::vector<Configuration> allConfigurations() {
  std::vector<Configuration> all;
  for (int stage : {0, 1, 2, 3})
    for (sbp::Strategy strategy : {sbp::Strategy::Bucket, sbp::Strategy::Tensor, sbp::Strategy::Whole}) {
      if (stage == 0 && strategy == sbp::Strategy::Whole)
        continue; // nothing is split
      Configuration configuration;
      configuration.stage = stage;
      configuration.strategy = strategy;
      all.push_back(configuration);
    }
  Configuration oneBucket;
  oneBucket.stage = 3;
  oneBucket.bucketBytes = 1 << 20;
  oneBucket.prefetch = 0;
  oneBucket.keep = sbp::Keep::Never;
  oneBucket.recompute = sbp::Recompute::Yes;
  oneBucket.update = sbp::Update::Last;
  all.push_back(oneBucket);
  oneBucket.recompute = sbp::Recompute::Elementwise;
  all.push_back(oneBucket);
  return all;
}

} // namespace splitcast::differential
