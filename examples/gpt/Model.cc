#include "examples/gpt/Model.h"

#include "absl/strings/str_cat.h"

#include <cmath>

namespace splitcast {
namespace {

constexpr double kDeviation = 0.02; ///< of initial weights; smaller where a block adds to what flows past it

class Gpt {
public:
  Gpt(Graph &graph, const GptSizes &sizes, bool drops) : graph(graph), sizes(sizes), drops(drops) {}

  Tensor logits(const Tensor &tokens) {
    samples = tokens.shape()[0];
    positions = tokens.shape()[1];
    VariableOptions ends;
    ends.group = "embedding";
    Tensor words = graph.variable("wte.weight", {sizes.vocabulary, sizes.width}, Init::normal(0, kDeviation), ends);
    Tensor places = graph.variable("wpe.weight", {sizes.context, sizes.width}, Init::normal(0, kDeviation), ends);
    Tensor here = positions == sizes.context ? places : slice(places, 0, 0, positions);
    Tensor x = dropped(add(embedding(words, tokens), here));
    for (int64_t layer = 0; layer < sizes.layers; ++layer)
      x = block(x, absl::StrCat("h", layer));
    Tensor rows = reshape(layerNorm(x, "ln"), {samples * positions, sizes.width});
    return matmul(rows, words, {false, true});
  }

private:
  Tensor block(const Tensor &x, const std::string &name) {
    Tensor attended = add(x, attend(normalized(x, name + ".ln1"), name));
    Tensor up = dense(rowsOf(normalized(attended, name + ".ln2")), name + ".up", 4 * sizes.width, kDeviation);
    Tensor down = dense(gelu(up, /*approximate=*/true), name + ".down", sizes.width, outDeviation());
    return add(attended, dropped(reshape(down, attended.shape())));
  }

  Tensor attend(const Tensor &x, const std::string &name) {
    Tensor rows = rowsOf(x);
    auto heads = [&](const char *part) {
      return reshape(dense(rows, absl::StrCat(name, ".", part), sizes.width, kDeviation),
                     {samples, positions, sizes.heads, sizes.width / sizes.heads});
    };
    AttentionOptions options;
    options.causal = true;
    Tensor mixed = attention(heads("query"), heads("key"), heads("value"), options);
    return dropped(
        reshape(dense(reshape(mixed, rows.shape()), name + ".projection", sizes.width, outDeviation()), x.shape()));
  }

  // All variables of a block are one group, which is gathered and reduced together.
  Tensor parameter(const std::string &name, const sbp::Shape &shape, const Init &init) {
    VariableOptions options;
    options.group = name.substr(0, name.find('.'));
    return graph.variable(name, shape, init, options);
  }
  Tensor normalized(const Tensor &x, const std::string &name) {
    return layerNorm(x, parameter(name + ".weight", {sizes.width}, Init::constant(1)),
                     parameter(name + ".bias", {sizes.width}, Init::zeros()));
  }
  Tensor dense(const Tensor &x, const std::string &name, int64_t outputs, double deviation) {
    Tensor weight = parameter(name + ".weight", {x.shape()[1], outputs}, Init::normal(0, deviation));
    return add(matmul(x, weight), parameter(name + ".bias", {outputs}, Init::zeros()));
  }

  Tensor rowsOf(const Tensor &x) { return reshape(x, {samples * positions, sizes.width}); }
  Tensor dropped(const Tensor &x) { return drops && sizes.dropout > 0 ? dropout(x, sizes.dropout) : x; }
  double outDeviation() const { return kDeviation / std::sqrt(2.0 * static_cast<double>(sizes.layers)); }

  Graph &graph;
  const GptSizes &sizes;
  bool drops;
  int64_t samples = 0, positions = 0;
};

} // namespace

Tensor gptLogits(Graph &graph, const Tensor &tokens, const GptSizes &sizes, bool drops) {
  return Gpt(graph, sizes, drops).logits(tokens);
}

int64_t gptParameters(const GptSizes &sizes) {
  const int64_t d = sizes.width;
  const int64_t block = 12 * d * d + 13 * d; // 4 d x d, two of d x 4d; their biases; two layer norms
  return (sizes.vocabulary + sizes.context) * d + sizes.layers * block + 2 * d;
}

} // namespace splitcast
