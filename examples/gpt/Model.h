//===- Model.h - Language models shaped as GPT-2 and GPT-NeoX ----------------===//
#ifndef SPLITCAST_EXAMPLES_GPT_MODEL_H
#define SPLITCAST_EXAMPLES_GPT_MODEL_H

#include "compiler/graph/Graph.h"

namespace splitcast {

/// Its sizes. GPT-2 (Radford et al. 2019): learned positions, layer norms before attention and before the two layers of
/// each block, gelu by tanh, the table of the input also the last product's matrix. Query, key and value are three
/// matrices.
struct GptSizes {
  int64_t vocabulary = 256;
  int64_t context = 64; ///< tokens that a prediction sees, at most
  int64_t layers = 4;
  int64_t heads = 4;
  int64_t width = 128; ///< numbers that stand for a token; a multiple of the heads
  double dropout = 0.0;
  /// As GPT-NeoX (Black et al. 2022) instead: attention and the two layers of a block beside each other, positions by a
  /// rotation of the first quarter of each head's queries and keys (so width / heads is a multiple of 8) and no wpe,
  /// gelu by erf, and a matrix of its own for the last product, out.
  bool isNeox = false;
  /// Above 0: of each matrix of a block, the sum of it and of a product of two that are so narrow (Hu et al. 2021), the
  /// second of zeros at first: NAME.down [inputs, rank] and NAME.up [rank, outputs]. These alone are trained.
  int64_t adapterRank = 0;
};

/// An axis of the graph's mesh along which a model is divided between ranks.
struct ModelAxis {
  int64_t number = -1; ///< of the axis; -1: there is none
  int64_t ranks = 1;   ///< along it
  int64_t rounds = 1;  ///< of a pipeline: how often what flows through the blocks comes by each rank
};

/// Logits [samples * positions, vocabulary] of the token after each position of `tokens` [samples, positions], whose
/// positions are at most `context`. Variables: wte, wpe or out, h0.* to hN.*, ln.
///
/// Along a tensor axis each block is divided (Shoeybi et al. 2019): its heads, and the columns of its wide layer; and
/// the vocabulary, if the ranks divide it evenly. Only the matrices say so: query, key, value, up and out are split by
/// columns, projection, down and wte by rows.
///
/// Along a pipeline axis blocks are divided (Huang et al. 2019) into stages of about as many layers, one after the
/// other, as many on each rank as there are rounds: stage s is on rank s % ranks. There are no more stages than layers.
/// wpe is on the first rank, ln and out on the last. wte is on the first where out is there, and else, as both ends use
/// it, on all. Only variables say so; what is computed of them follows.
Tensor gptLogits(Graph &graph, const Tensor &tokens, const GptSizes &sizes, bool drops, const ModelAxis &tensor = {},
                 const ModelAxis &pipeline = {});

} // namespace splitcast

#endif // SPLITCAST_EXAMPLES_GPT_MODEL_H
