//===- Model.h - A GPT-2-shaped language model -------------------------------===//
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
};

/// Logits [samples * positions, vocabulary] of the token after each position of `tokens` [samples, positions], whose
/// positions are at most `context`. Variables: wte, wpe, h0.* to hN.*, ln.
Tensor gptLogits(Graph &graph, const Tensor &tokens, const GptSizes &sizes, bool drops);

/// The number of its parameters.
int64_t gptParameters(const GptSizes &sizes);

} // namespace splitcast

#endif // SPLITCAST_EXAMPLES_GPT_MODEL_H
