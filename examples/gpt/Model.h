//===- Model.h - Language models shaped like GPT-2 and GPT-NeoX --------------===//
#ifndef SPLITCAST_EXAMPLES_GPT_MODEL_H
#define SPLITCAST_EXAMPLES_GPT_MODEL_H

#include "compiler/graph/Graph.h"

namespace splitcast {

/// The sizes of a model. It is shaped like GPT-2 (Radford et al. 2019): learned position embeddings, a layer norm
/// before attention and one before the MLP of each block, gelu approximated with tanh, and an output matrix that is the
/// token embedding. Unlike in GPT-2, the matrices of query, key and value are three variables.
struct GptSizes {
  int64_t vocabulary = 256; ///< the vocabulary size
  int64_t context = 64;     ///< the number of tokens that a prediction sees at most
  int64_t layers = 4;       ///< the number of blocks
  int64_t heads = 4;        ///< the number of attention heads per block
  int64_t width = 128;      ///< the width of the embedding, a multiple of `heads`
  double dropout = 0.0;     ///< the dropout probability, on the embedding and on what attention and MLP add
  /// Whether the model is shaped like GPT-NeoX instead (Black et al. 2022): attention and MLP of a block are computed
  /// in parallel, gelu uses erf, and the output matrix is a variable of its own, "out". Rotary positions replace the
  /// position embeddings "wpe": they rotate the first quarter of each head's queries and keys, so width / heads must be
  /// a multiple of 8.
  bool isNeox = false;
  /// If above 0, the rank of low-rank adapters (LoRA, Hu et al. 2021), which alone are trained: the product of
  /// NAME.adapter.down [inputs, rank] and NAME.adapter.up [rank, outputs], which is zeros at first, is added to each
  /// matrix NAME.weight of a block.
  int64_t adapterRank = 0;
};

/// An axis of the graph's mesh along which the model is divided among the ranks.
struct ModelAxis {
  int64_t number = -1; ///< the index of the axis in the mesh; -1 if there is none
  int64_t ranks = 1;   ///< the number of ranks along the axis
  int64_t rounds = 1;  ///< for a pipeline: the number of stages per rank, each of which a micro-batch passes once
};

/// Returns the logits [samples * positions, vocabulary] of the token that follows each position of the token ids
/// `tokens` [samples, positions]. There are at most `context` positions. `drops` says whether dropout is applied, which
/// is for training only. The variables are wte, wpe (or out, like GPT-NeoX), h0.*, h1.*, ... and ln.
///
/// Along the axis `tensor` each block is divided (tensor parallelism, Shoeybi et al. 2019): its heads and the columns
/// of its wide layer; and so is the vocabulary, if its size is a multiple of the number of ranks. The model says this
/// by the layouts of matrices alone: query, key, value, up and out are split by columns, projection, down and wte by
/// rows.
///
/// Along the axis `pipeline` the blocks are divided into stages of consecutive layers (pipeline parallelism, Huang et
/// al. 2019), of nearly equal numbers. Each rank has as many stages as there are rounds: stage s is on rank s % ranks.
/// There must be at least as many layers as stages. wpe is on the first rank, ln and out are on the last one. wte is on
/// the first rank if there is an out; otherwise both ends use it, and it is on all ranks. The model says this by the
/// layouts of variables alone; the compiler derives where each op runs.
Tensor gptLogits(Graph &graph, const Tensor &tokens, const GptSizes &sizes, bool drops, const ModelAxis &tensor = {},
                 const ModelAxis &pipeline = {});

} // namespace splitcast

#endif // SPLITCAST_EXAMPLES_GPT_MODEL_H
