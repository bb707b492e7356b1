// Defines the operands of library calls, and verifies the attributes.
#include "dialects/exec/Exec.h"
#include "dialects/exec/Window.h"
#include "dialects/sbp/algebra/Sizes.h"

using namespace mlir;
using namespace splitcast;
using namespace splitcast::exec;

namespace {

struct Operand {
  sbp::Shape shape;
  Type type;
};

std::vector<int64_t> bytesOf(const std::vector<Operand> &operands) {
  std::vector<int64_t> bytes;
  for (const Operand &operand : operands)
    bytes.push_back(sbp::checkedBytes(operand.shape, sbp::elementBytes(operand.type)).value_or(0));
  return bytes;
}

/// Verifies the conditions that calls have in common. Each parameter is named
/// as in the text of the attribute, and only the first fault is reported.
class CallVerifier {
public:
  CallVerifier(function_ref<InFlightDiagnostic()> emitError, StringRef call) : emitError(emitError), call(call) {}

  CallVerifier &sizes(ArrayRef<std::pair<const char *, int64_t>> named) {
    for (auto [name, size] : named)
      if (isGood() && size < 0)
        fail() << name << " = " << size << "; it must be at least 0";
    return *this;
  }

  CallVerifier &floats(const char *name, Type type) {
    if (isGood() && !(type.isF16() || type.isBF16() || type.isF32() || type.isF64()))
      fail() << name << " = " << type << "; it must be f16, bf16, f32 or f64";
    return *this;
  }

  CallVerifier &real(const char *name, FloatAttr value) {
    if (isGood() && !value.getType().isF64())
      fail() << name << " = " << value << "; it must be an f64";
    return *this;
  }

  CallVerifier &indices(const char *name, Type type) {
    if (isGood() && !(type.isSignlessInteger(32) || type.isSignlessInteger(64)))
      fail() << name << " = " << type << "; it must be i32 or i64";
    return *this;
  }

  CallVerifier &isOneOf(const char *name, StringRef value, ArrayRef<StringRef> allowed) {
    if (isGood() && !llvm::is_contained(allowed, value)) {
      InFlightDiagnostic error = fail() << name << " = \"" << value << "\"; it must be one of ";
      llvm::interleaveComma(allowed, error);
    }
    return *this;
  }

  /// Verifies that there are `count` numbers, from `least` to Window::kMost.
  CallVerifier &numbers(const char *name, DenseI64ArrayAttr found, size_t count, int64_t least) {
    const bool fits = isGood() && static_cast<size_t>(found.size()) == count &&
                      llvm::all_of(found.asArrayRef(), [&](int64_t n) { return n >= least && n <= Window::kMost; });
    if (isGood() && !fits)
      fail() << name << " = [" << found.asArrayRef() << "]; give " << count << " numbers from " << least << " to "
             << Window::kMost;
    return *this;
  }

  CallVerifier &atMostF32(const char *name, Type type) {
    if (isGood() && type.isF64())
      fail() << name << " = " << type << "; it must be f16, bf16 or f32";
    return *this;
  }

  LogicalResult operands(const std::vector<Operand> &all) {
    for (const Operand &operand : all)
      if (isGood() && !sbp::checkedBytes(operand.shape, sbp::elementBytes(operand.type))) {
        InFlightDiagnostic error = fail() << "an operand of ";
        llvm::interleave(operand.shape, error, " x ");
        error << " elements of " << operand.type << ", which is more than " << sbp::kMostBytesText
              << "; use more ranks, or smaller tensors";
      }
    return result;
  }

  LogicalResult scores(const AttentionExtents &attention) {
    if (isGood() && !isAddressable(attention))
      fail() << "scores of " << attention.samples << " x " << attention.heads << " x " << attention.positions << " x "
             << attention.keys << " elements, for which a device needs more than " << sbp::kMostBytesText
             << "; use more ranks, or smaller tensors";
    return result;
  }

private:
  bool isGood() const { return succeeded(result); }
  InFlightDiagnostic fail() {
    result = failure();
    return emitError() << "call of '" << call << "' has ";
  }

  function_ref<InFlightDiagnostic()> emitError;
  StringRef call;
  LogicalResult result = success();
};

std::vector<Operand> operandsOfMatmul(int64_t products, int64_t m, int64_t n, int64_t k, Type type) {
  return {{{products, m, k}, type}, {{products, k, n}, type}, {{products, m, n}, type}};
}

std::vector<Operand> operandsOfAttention(const AttentionExtents &call, Type type, Type maskType) {
  const Operand query{{call.samples, call.positions, call.heads, call.width}, type},
      key{{call.samples, call.keys, call.heads, call.width}, type},
      statistics{{call.samples, call.heads, call.positions},
                 type.isF64() ? type : Type(Float32Type::get(type.getContext()))};
  std::vector<Operand> operands = {query, key, key};
  if (call.isGradient)
    operands.insert(operands.begin(), query);
  if (maskType)
    operands.push_back({{call.samples, call.keys}, maskType});
  // Attention's results are last in either: the forward call writes them, and
  // the gradient reads them.
  if (!call.isGradient || call.hasStatistics)
    operands.push_back(query);
  if (call.hasStatistics)
    operands.push_back(statistics);
  if (call.isGradient)
    operands.insert(operands.end(), {query, key, key});
  return operands;
}

std::vector<Operand> operandsOfEmbeddingGrad(int64_t rows, int64_t vocabulary, int64_t width, Type type,
                                             Type indexType) {
  return {{{rows, width}, type}, {{rows}, indexType}, {{vocabulary, width}, type}};
}

} // namespace

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

LogicalResult MatmulAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t products, int64_t m, int64_t n,
                                 int64_t k, bool, bool, Type type) {
  return CallVerifier(emitError, "matmul")
      .sizes({{"products", products}, {"m", m}, {"n", n}, {"k", k}})
      .floats("type", type)
      .operands(operandsOfMatmul(products, m, n, k, type));
}

StringRef MatmulAttr::getCallName() const { return "matmul"; }

MatmulAttr MatmulAttr::withType(Type type) const {
  return get(getContext(), getProducts(), getM(), getN(), getK(), getTransposeA(), getTransposeB(), type);
}

std::vector<int64_t> MatmulAttr::getOperandBytes() const {
  return bytesOf(operandsOfMatmul(getProducts(), getM(), getN(), getK(), getType()));
}

double MatmulAttr::getFlops() const {
  return 2.0 * static_cast<double>(getProducts()) * static_cast<double>(getM()) * static_cast<double>(getN()) *
         static_cast<double>(getK());
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

// NOLINTNEXTLINE(readability-function-size): a parameter per field, as MLIR declares it
LogicalResult AttentionAttr::verify(function_ref<InFlightDiagnostic()> emitError, bool gradient, int64_t samples,
                                    int64_t positions, int64_t keys, int64_t heads, int64_t width, FloatAttr scale,
                                    bool, Type type, Type maskType, bool statistics, std::optional<int64_t> workspace) {
  CallVerifier verifier(emitError, gradient ? "attention_grad" : "attention");
  verifier
      .sizes({{"samples", samples},
              {"positions", positions},
              {"keys", keys},
              {"heads", heads},
              {"width", width},
              {"workspace", workspace.value_or(0)}})
      .real("scale", scale)
      .floats("type", type);
  if (maskType)
    verifier.indices("mask_type", maskType);
  const AttentionExtents extents{gradient, maskType != nullptr,     samples,   positions, keys, heads,
                                 width,    sbp::elementBytes(type), statistics};
  if (failed(verifier.operands(operandsOfAttention(extents, type, maskType))))
    return failure();
  return verifier.scores(extents);
}

AttentionExtents AttentionAttr::getExtents() const {
  return {getGradient(), getMaskType() != nullptr,     getSamples(),   getPositions(), getKeys(), getHeads(),
          getWidth(),    sbp::elementBytes(getType()), getStatistics()};
}

StringRef AttentionAttr::getCallName() const { return getGradient() ? "attention_grad" : "attention"; }

std::vector<int64_t> AttentionAttr::getOperandBytes() const {
  return bytesOf(operandsOfAttention(getExtents(), getType(), getMaskType()));
}

AttentionAttr AttentionAttr::withWorkspace(int64_t bytes) const {
  return get(getContext(), getGradient(), getSamples(), getPositions(), getKeys(), getHeads(), getWidth(), getScale(),
             getCausal(), getType(), getMaskType(), getStatistics(), bytes);
}

AttentionAttr AttentionAttr::withType(Type type) const {
  return get(getContext(), getGradient(), getSamples(), getPositions(), getKeys(), getHeads(), getWidth(), getScale(),
             getCausal(), type, getMaskType(), getStatistics(), std::nullopt);
}

/// Counts the products of scores and output; for the gradient, those of scores
/// and of the gradients of scores, query, key and value. If there are as many
/// positions as keys, half of the scores are causal.
double AttentionAttr::getFlops() const {
  const double scores = static_cast<double>(getSamples()) * static_cast<double>(getHeads()) *
                        static_cast<double>(getPositions()) * static_cast<double>(getKeys());
  const double share = getCausal() && getPositions() == getKeys() ? 0.5 : 1.0;
  return (getGradient() ? 5 : 2) * 2.0 * share * scores * static_cast<double>(getWidth());
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// Returns the shape of the output of a convolution. Requires numbers that are
/// in range.
static std::vector<int64_t> outputOf(ArrayRef<int64_t> input, ArrayRef<int64_t> weight, ArrayRef<int64_t> strides,
                                     ArrayRef<int64_t> padding, ArrayRef<int64_t> dilation) {
  std::vector<int64_t> output = {input[0], weight[0]};
  for (unsigned i : {0, 1})
    output.push_back(Window{weight[2 + i], strides[i], padding[i], dilation[i]}.windows(input[2 + i]));
  return output;
}

static std::vector<Operand> operandsOfConvolution(StringRef call, DenseI64ArrayAttr input, DenseI64ArrayAttr weight,
                                                  DenseI64ArrayAttr output, Type type) {
  const Operand x{input.asArrayRef().vec(), type}, w{weight.asArrayRef().vec(), type},
      y{output.asArrayRef().vec(), type};
  if (call == ConvolutionAttr::kOutput)
    return {x, w, y};
  return call == ConvolutionAttr::kInput ? std::vector<Operand>{y, w, x} : std::vector<Operand>{y, x, w};
}

// NOLINTNEXTLINE(readability-function-size): a parameter per field, as MLIR declares it
LogicalResult ConvolutionAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef call,
                                      DenseI64ArrayAttr input, DenseI64ArrayAttr weight, DenseI64ArrayAttr output,
                                      DenseI64ArrayAttr strides, DenseI64ArrayAttr padding, DenseI64ArrayAttr dilation,
                                      Type type, std::optional<int64_t> workspace) {
  if (failed(CallVerifier(emitError, "convolution")
                 .isOneOf("call", call, {kOutput, kInput, kWeight})
                 .floats("type", type)
                 .atMostF32("type", type)
                 .sizes({{"workspace", workspace.value_or(0)}})
                 .numbers("input", input, 4, 1)
                 .numbers("weight", weight, 4, 1)
                 .numbers("output", output, 4, 1)
                 .numbers("strides", strides, 2, 1)
                 .numbers("padding", padding, 2, 0)
                 .numbers("dilation", dilation, 2, 1)
                 .operands(operandsOfConvolution(call, input, weight, output, type))))
    return failure();
  const std::vector<int64_t> expected = outputOf(input, weight, strides, padding, dilation);
  if (output.asArrayRef() != ArrayRef(expected))
    return emitError() << "call of 'convolution' has output = [" << output.asArrayRef() << "]; it must be ["
                       << ArrayRef(expected) << "]";
  if (input[1] % weight[1] == 0 && weight[0] % (input[1] / weight[1]) == 0)
    return success();
  return emitError()
         << "call of 'convolution' has weight = [" << weight.asArrayRef() << "] for " << input[1]
         << " channels; its channels must divide these into groups, and the number of groups must divide the outputs";
}

StringRef ConvolutionAttr::getCallName() const { return getCall(); }

std::vector<int64_t> ConvolutionAttr::getOperandBytes() const {
  return bytesOf(operandsOfConvolution(getCall(), getInput(), getWeight(), getOutput(), getType()));
}

ConvolutionAttr ConvolutionAttr::withWorkspace(std::optional<int64_t> bytes) const {
  return get(getContext(), getCall(), getInput(), getWeight(), getOutput(), getStrides(), getPadding(), getDilation(),
             getType(), bytes);
}

/// Each element of the output takes one multiplication and one addition per tap
/// and channel of the weight. Either gradient takes as many in all.
double ConvolutionAttr::getFlops() const {
  double flops = 2.0;
  for (int64_t extent : getOutput().asArrayRef())
    flops *= static_cast<double>(extent);
  for (int64_t extent : getWeight().asArrayRef().drop_front())
    flops *= static_cast<double>(extent);
  return flops;
}

//===----------------------------------------------------------------------===//
// Embeddings
//===----------------------------------------------------------------------===//

LogicalResult EmbeddingGradAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t rows, int64_t vocabulary,
                                        int64_t width, Type type, Type indexType, std::optional<int64_t> first,
                                        std::optional<int64_t> workspace) {
  return CallVerifier(emitError, "embedding_grad")
      .sizes({{"rows", rows},
              {"vocabulary", vocabulary},
              {"width", width},
              {"workspace", workspace.value_or(0)},
              {"first", first.value_or(0)}})
      .floats("type", type)
      .indices("index_type", indexType)
      .operands(operandsOfEmbeddingGrad(rows, vocabulary, width, type, indexType));
}

StringRef EmbeddingGradAttr::getCallName() const { return "embedding_grad"; }

std::vector<int64_t> EmbeddingGradAttr::getOperandBytes() const {
  return bytesOf(operandsOfEmbeddingGrad(getRows(), getVocabulary(), getWidth(), getType(), getIndexType()));
}

double EmbeddingGradAttr::getFlops() const { return static_cast<double>(getRows()) * static_cast<double>(getWidth()); }

EmbeddingGradAttr EmbeddingGradAttr::withWorkspace(int64_t bytes) const {
  return get(getContext(), getRows(), getVocabulary(), getWidth(), getType(), getIndexType(), getFirst(), bytes);
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

LogicalResult CheckIndicesAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t count, int64_t places,
                                       Type type, std::optional<int64_t>, StringRef) {
  return CallVerifier(emitError, "check_indices")
      .sizes({{"count", count}, {"places", places}})
      .indices("type", type)
      .operands({{{count}, type}});
}

StringRef CheckIndicesAttr::getCallName() const { return "check_indices"; }

std::vector<int64_t> CheckIndicesAttr::getOperandBytes() const { return bytesOf({{{getCount()}, getType()}}); }

double CheckIndicesAttr::getFlops() const { return 0; }
