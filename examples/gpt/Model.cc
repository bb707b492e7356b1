#include "examples/gpt/Model.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cmath>

namespace splitcast {
namespace {

constexpr double kDeviation = 0.02; ///< the standard deviation of initial weights; see also outDeviation()

constexpr int64_t kWhole = -1;     ///< instead of a dimension: the variable is not split
constexpr int64_t kAllStages = -1; ///< instead of a stage: the variable is on all ranks of the pipeline

constexpr double kRotationBase = 10000; ///< pair i of p is rotated by base^(-i / p) radians per position

class Gpt {
public:
  Gpt(Graph &graph, const GptSizes &sizes, bool drops, const ModelAxis &tensor, const ModelAxis &pipeline)
      : graph(graph), sizes(sizes), drops(drops), tensor(tensor), pipeline(pipeline) {}

  Tensor logits(const Tensor &tokens) {
    samples = tokens.shape()[0];
    positions = tokens.shape()[1];
    stage = sizes.isNeox ? 0 : kAllStages;
    Tensor words = atTheEnds("wte.weight", {sizes.vocabulary, sizes.width}, ofVocabulary(0));
    stage = 0;
    Tensor x = embedding(words, tokens);
    if (sizes.isNeox)
      prepareRotations();
    else
      x = add(x, places());
    x = dropped(x);
    for (int64_t layer = 0; layer < sizes.layers; ++layer) {
      stage = layer * pipeline.ranks * pipeline.rounds / sizes.layers % pipeline.ranks;
      x = block(x, absl::StrCat("h", layer));
    }
    stage = pipeline.ranks - 1;
    Tensor rows = rowsOf(normalized(x, "ln"));
    return sizes.isNeox ? matmul(rows, atTheEnds("out.weight", {sizes.width, sizes.vocabulary}, ofVocabulary(1)))
                        : matmul(rows, words, {false, true});
  }

private:
  /// A variable outside the blocks. The output matrix is a group of its own, so that it is gathered by itself: it is
  /// used long after the embeddings.
  Tensor atTheEnds(const std::string &name, const sbp::Shape &shape, int64_t splitDim = kWhole) {
    return parameter(name, shape, Init::normal(0, kDeviation), name == "out.weight" ? "out" : "embedding", splitDim);
  }
  /// The dimension to split of a matrix whose dimension `dim` is the vocabulary. It stays whole if the ranks do not
  /// divide it evenly: the logits would otherwise have to be gathered for the loss.
  int64_t ofVocabulary(int64_t dim) const { return sizes.vocabulary % tensor.ranks == 0 ? dim : kWhole; }

  Tensor places() {
    Tensor all = atTheEnds("wpe.weight", {sizes.context, sizes.width});
    return positions == sizes.context ? all : slice(all, 0, 0, positions);
  }

  Tensor block(const Tensor &x, const std::string &name) {
    Tensor attended = attend(normalized(x, name + ".ln1"), name);
    if (sizes.isNeox)
      return add(x, add(attended, layers(normalized(x, name + ".ln2"), name)));
    Tensor sum = add(x, attended);
    return add(sum, layers(normalized(sum, name + ".ln2"), name));
  }

  Tensor layers(const Tensor &x, const std::string &name) {
    Tensor up = dense(rowsOf(x), name + ".up", 4 * sizes.width, kDeviation, Cut::Columns);
    Tensor down =
        dense(gelu(up, /*approximate=*/!sizes.isNeox), name + ".down", sizes.width, outDeviation(), Cut::Rows);
    return dropped(reshape(down, x.shape()));
  }

  Tensor attend(const Tensor &x, const std::string &name) {
    Tensor rows = rowsOf(x);
    auto heads = [&](const char *part) {
      return reshape(dense(rows, absl::StrCat(name, ".", part), sizes.width, kDeviation, Cut::Columns),
                     {samples, positions, sizes.heads, sizes.width / sizes.heads});
    };
    AttentionOptions options;
    options.causal = true;
    Tensor mixed = attention(rotated(heads("query")), rotated(heads("key")), heads("value"), options);
    Tensor projected =
        dense(reshape(mixed, rows.shape()), name + ".projection", sizes.width, outDeviation(), Cut::Rows);
    return dropped(reshape(projected, x.shape()));
  }

  /// Computes the rotary positions: elements i and i + rotatedPairs() of a head are rotated, as a pair, by the angle
  /// position * base^(-i / rotatedPairs()).
  void prepareRotations() {
    const sbp::Shape shape = {positions, 1, rotatedPairs()};
    const double perPair = -std::log(kRotationBase) / static_cast<double>(rotatedPairs());
    Tensor speeds = exp(scale(graph.iota(ElementType::F32, shape, 2), perPair));
    Tensor angles = mul(graph.iota(ElementType::F32, shape, 0), speeds);
    cosines = cos(angles);
    sines = sin(angles);
  }

  /// Rotates queries or keys [samples, positions, heads, width per head]; returns them as they are for GPT-2.
  Tensor rotated(const Tensor &x) {
    if (!sizes.isNeox)
      return x;
    const int64_t pairs = rotatedPairs(), width = x.shape()[3];
    Tensor first = slice(x, 3, 0, pairs), second = slice(x, 3, pairs, pairs);
    return concat({sub(mul(first, cosines), mul(second, sines)), add(mul(second, cosines), mul(first, sines)),
                   slice(x, 3, 2 * pairs, width - 2 * pairs)},
                  3);
  }
  int64_t rotatedPairs() const { return sizes.width / sizes.heads / 8; }

  /// Makes a variable. Dimension `splitDim` is split over the ranks of the tensor axis, if there is one. All variables
  /// of a block are in one group, so that they are gathered and reduced together.
  Tensor parameter(const std::string &name, const sbp::Shape &shape, const Init &init, const std::string &group,
                   int64_t splitDim = kWhole) {
    VariableOptions options;
    options.group = group;
    options.logical = layoutOf(splitDim);
    options.trainable = sizes.adapterRank == 0;
    return graph.variable(name, shape, init, options);
  }
  Tensor ofBlock(const std::string &name, const sbp::Shape &shape, const Init &init, int64_t splitDim = kWhole) {
    return parameter(name, shape, init, name.substr(0, name.find('.')), splitDim);
  }

  /// The layout of a variable of the current stage.
  Layout layoutOf(int64_t splitDim) const {
    sbp::NdSbp entries(std::max(tensor.number, pipeline.number) + 1, broadcast());
    if (tensor.number >= 0 && splitDim != kWhole)
      entries[tensor.number] = split(splitDim);
    if (pipeline.number >= 0 && stage != kAllStages)
      entries[pipeline.number] = sbp::Sbp::at(stage);
    return {entries};
  }

  /// How a dense layer is split over the ranks of the tensor axis: the columns of its matrix and the elements of its
  /// bias, or the rows of its matrix, and the bias is whole.
  enum class Cut { Columns, Rows };
  Tensor normalized(const Tensor &x, const std::string &name) {
    return layerNorm(x, ofBlock(name + ".weight", {sizes.width}, Init::constant(1)),
                     ofBlock(name + ".bias", {sizes.width}, Init::zeros()));
  }
  Tensor dense(const Tensor &x, const std::string &name, int64_t outputs, double deviation, Cut cut) {
    const int64_t inputs = x.shape()[1];
    const bool isByColumns = cut == Cut::Columns;
    Tensor y = matmul(x, ofBlock(name + ".weight", {inputs, outputs}, Init::normal(0, deviation), isByColumns ? 1 : 0));
    y = add(y, ofBlock(name + ".bias", {outputs}, Init::zeros(), isByColumns ? 0 : kWhole));
    return sizes.adapterRank > 0 ? add(y, adapted(x, name + ".adapter", outputs)) : y;
  }
  Tensor adapted(const Tensor &x, const std::string &name, int64_t outputs) {
    VariableOptions options;
    options.group = name.substr(0, name.find('.'));
    options.logical = layoutOf(kWhole);
    Tensor down =
        graph.variable(name + ".down", {x.shape()[1], sizes.adapterRank}, Init::normal(0, kDeviation), options);
    Tensor up = graph.variable(name + ".up", {sizes.adapterRank, outputs}, Init::zeros(), options);
    return matmul(matmul(x, down), up);
  }

  Tensor rowsOf(const Tensor &x) { return reshape(x, {samples * positions, sizes.width}); }
  Tensor dropped(const Tensor &x) { return drops && sizes.dropout > 0 ? dropout(x, sizes.dropout) : x; }
  /// The standard deviation for matrices whose products are added to the residual stream: there are two per layer, and
  /// this keeps the variance of their sum the same for any number of layers.
  double outDeviation() const { return kDeviation / std::sqrt(2.0 * static_cast<double>(sizes.layers)); }

  Graph &graph;
  const GptSizes &sizes;
  bool drops;
  const ModelAxis tensor, pipeline;
  int64_t stage = 0; ///< the coordinate along the pipeline axis at which the next variables are made, or kAllStages
  int64_t samples = 0, positions = 0;
  Tensor cosines, sines; ///< [positions, 1, rotatedPairs()], of the rotations' angles
};

} // namespace

Tensor gptLogits(Graph &graph, const Tensor &tokens, const GptSizes &sizes, bool drops, const ModelAxis &tensor,
                 const ModelAxis &pipeline) {
  return Gpt(graph, sizes, drops, tensor, pipeline).logits(tokens);
}

} // namespace splitcast
