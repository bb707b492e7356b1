#include "runtime/cuda/CudnnAttention.h"

#include <utility>

namespace splitcast::runtime {
namespace {

using Extents = CudnnGraph::Extents;
using Tensor = CudnnGraph::Tensor;
using Storage = CudnnGraph::Storage;

/// Makes the tensors that both graphs have.
struct Layout {
  CudnnGraph &graph;
  const AttentionSizes &sizes;

  Extents ofQueries() const { return {sizes.samples, sizes.heads, sizes.positions, sizes.width}; }
  Extents ofKeys() const { return {sizes.samples, sizes.heads, sizes.keys, sizes.width}; }
  Extents scores() const { return {sizes.samples, sizes.heads, sizes.positions, sizes.keys}; }
  Extents rows() const { return {sizes.samples, sizes.heads, sizes.positions, 1}; }
  /// Returns the strides of extents [samples, heads, positions, width] for
  /// memory in the order [samples, positions, heads, width].
  static Extents strides(const Extents &e) { return {e[2] * e[1] * e[3], e[3], e[1] * e[3], 1}; }

  Tensor memory(const Extents &extents) const {
    return graph.tensor(extents, strides(extents), sizes.type, Storage::Memory);
  }
  /// Returns a tensor in memory with the last two dimensions exchanged.
  Tensor transposed(Extents extents) const {
    Extents at = strides(extents);
    std::swap(extents[2], extents[3]);
    std::swap(at[2], at[3]);
    return graph.tensor(extents, at, sizes.type, Storage::Memory);
  }
  Tensor perRow(Storage storage) const {
    return graph.tensor(rows(), CudnnGraph::rowMajor(rows()), CUDNN_DATA_FLOAT, storage);
  }
  Tensor product(const Tensor &x, const Tensor &y) const {
    Tensor result = graph.between(scores());
    graph.matmul(x, y, result);
    return result;
  }
};

/// Scalars that cuDNN reads from host memory.
struct Values {
  Tensor scale, lowest;
  explicit Values(CudnnGraph &graph) : scale(graph.value()), lowest(graph.value()) {}
};

/// Returns x with rows and columns exchanged, rounded to the element type.
Tensor transposedScores(const Layout &layout, const Tensor &x) {
  const auto [samples, heads, positions, keys] = x.extents;
  Tensor result =
      layout.graph.tensor({samples, heads, keys, positions}, {heads * positions * keys, positions * keys, 1, keys},
                          layout.sizes.type, Storage::Virtual);
  layout.graph.reshape(x, result);
  return result;
}

} // namespace

AttentionForwardUids buildAttention(CudnnGraph &graph, const AttentionSizes &sizes, bool keepsStatistics) {
  const Layout layout{graph, sizes};
  Tensor query = layout.memory(layout.ofQueries()), key = layout.transposed(layout.ofKeys()),
         value = layout.memory(layout.ofKeys()), output = layout.memory(layout.ofQueries());
  const Values values(graph);
  Tensor scores = graph.pointwise(CUDNN_POINTWISE_MUL, layout.product(query, key), &values.scale);
  if (sizes.isCausal)
    scores = graph.selectCausal(scores, values.lowest);
  Tensor highest = graph.reduce(CUDNN_REDUCE_TENSOR_MAX, scores);
  Tensor shifted = graph.pointwise(CUDNN_POINTWISE_SUB, scores, &highest);
  Tensor weights = graph.pointwise(CUDNN_POINTWISE_EXP, shifted);
  Tensor sum = graph.reduce(CUDNN_REDUCE_TENSOR_ADD, weights);
  // cuDNN recognizes the graph as attention only if it computes the statistics.
  Tensor logarithm = graph.pointwise(CUDNN_POINTWISE_LOG, sum);
  Tensor statistics = layout.perRow(keepsStatistics ? Storage::Memory : Storage::Virtual);
  graph.pointwiseInto(statistics, CUDNN_POINTWISE_ADD, highest, &logarithm);
  Tensor probabilities = graph.pointwise(CUDNN_POINTWISE_DIV, weights, &sum, sizes.type);
  graph.matmul(probabilities, value, output);
  return {query.uid,
          key.uid,
          value.uid,
          output.uid,
          values.scale.uid,
          sizes.isCausal ? values.lowest.uid : 0,
          keepsStatistics ? statistics.uid : 0};
}

AttentionBackwardUids buildAttentionGradient(CudnnGraph &graph, const AttentionSizes &sizes) {
  const Layout layout{graph, sizes};
  Tensor gradient = layout.memory(layout.ofQueries()), query = layout.memory(layout.ofQueries()),
         key = layout.transposed(layout.ofKeys()), value = layout.transposed(layout.ofKeys()),
         output = layout.memory(layout.ofQueries());
  Tensor queryGradient = layout.memory(layout.ofQueries()), keyGradient = layout.memory(layout.ofKeys()),
         valueGradient = layout.memory(layout.ofKeys());
  Tensor statistics = layout.perRow(Storage::Memory), delta = layout.perRow(Storage::Memory);
  const Values values(graph);
  Tensor one = graph.value();

  // `delta` is, row by row, the sum of gradient times output. cuDNN recognizes
  // the graph only with the multiplication by one.
  Tensor products = graph.pointwise(CUDNN_POINTWISE_MUL, gradient, &output);
  graph.pointwiseInto(delta, CUDNN_POINTWISE_MUL, graph.reduce(CUDNN_REDUCE_TENSOR_ADD, products), &one);

  Tensor scores = graph.pointwise(CUDNN_POINTWISE_MUL, layout.product(query, key), &values.scale);
  Tensor exponents = graph.pointwise(CUDNN_POINTWISE_SUB, scores, &statistics);
  if (sizes.isCausal)
    exponents = graph.selectCausal(exponents, values.lowest);
  Tensor probabilities = graph.pointwise(CUDNN_POINTWISE_EXP, exponents);
  graph.matmul(transposedScores(layout, probabilities), gradient, valueGradient);

  Tensor centered = graph.pointwise(CUDNN_POINTWISE_SUB, layout.product(gradient, value), &delta);
  Tensor weighted = graph.pointwise(CUDNN_POINTWISE_MUL, centered, &probabilities);
  Tensor scoreGradient = graph.pointwise(CUDNN_POINTWISE_MUL, weighted, &values.scale);
  graph.matmul(transposedScores(layout, scoreGradient), query, keyGradient);

  const Extents keys = layout.ofKeys();
  Tensor plainKey = graph.tensor(keys, Layout::strides(keys), sizes.type, Storage::Virtual);
  graph.reshape(key, plainKey);
  graph.matmul(scoreGradient, plainKey, queryGradient);
  return {gradient.uid,    query.uid,         key.uid,          value.uid,
          output.uid,      statistics.uid,    delta.uid,        queryGradient.uid,
          keyGradient.uid, valueGradient.uid, values.scale.uid, sizes.isCausal ? values.lowest.uid : 0,
          one.uid};
}

} // namespace splitcast::runtime
