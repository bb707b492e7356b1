//===- Cases.h - Models that are compiled with every configuration ------------------===//
#ifndef SPLITCAST_TESTS_DIFFERENTIAL_CASES_H
#define SPLITCAST_TESTS_DIFFERENTIAL_CASES_H

#include "tests/differential/Oracle.h"
#include "tests/differential/PassList.h"

namespace splitcast::differential {

/// A model with the training function @train, as MLIR text.
struct Case {
  std::string name;
  std::string text;
  int64_t mostId = 0; ///< the elements of integer inputs are 0 to mostId
};

/// Two linear layers with ReLU, squared error, Adam; on [dp = ranks], with a batch of 8.
Case mlp(int64_t ranks);
/// Layers of 256, 128 and 10 elements, softmax cross-entropy, SGD.
Case classifier(int64_t ranks);
/// Embedding, reshape, linear, GELU, linear, cross-entropy per byte, AdamW.
Case languageModel(int64_t ranks);
/// Attention of bf16 of two linear layers' rows, and a sum of squares, on GPUs.
Case attention(int64_t ranks);
/// A linear layer whose loss is divided by a sum over the batch of 12. It also returns its rows.
Case maskedMean(int64_t ranks);
/// Sums, gathers and exchanges of columns on [dp = 10], where many pieces are cut and joined at a time. Pieces are
/// ragged, empty, and in units.
Case manyRanks();
/// The MLP on [dp = 2, tp = 2]: the first weight split by columns along tp, the second by rows.
Case tensorParallelMlp();
/// The same with the 6 hidden features in pairs: one rank of tp has 4 of them and the other 2, so slots have two sizes.
Case tensorParallelMlpInPairs();
/// The MLP on [dp = 2, pp = 2], with each layer on one rank of pp.
Case pipelineMlp();
/// Variables and optimizer states that are copied to others: from a larger bucket to a smaller one and back, at equal
/// and at different offsets, and within a bucket.
Case copies(int64_t ranks);
/// The MLP with its loss as a sum over two halves of the batch, each of which reads the weights.
Case microBatches(int64_t ranks);

/// Calls of @train with random inputs; floats are in [-1, 1).
std::vector<Call> randomSteps(mlir::ModuleOp module, const Case &of, int64_t steps);

/// Random values for the variables of the module that have no constant initializer.
Variables randomVariables(mlir::ModuleOp module);

/// Every stage with every strategy, and a few bucket sizes and prefetch depths.
std::vector<Configuration> allConfigurations();

} // namespace splitcast::differential

#endif // SPLITCAST_TESTS_DIFFERENTIAL_CASES_H
