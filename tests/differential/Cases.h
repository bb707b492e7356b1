//===- Cases.h - Models that are compiled in every way ------------------------------===//
#ifndef SPLITCAST_TESTS_DIFFERENTIAL_CASES_H
#define SPLITCAST_TESTS_DIFFERENTIAL_CASES_H

#include "tests/differential/Oracle.h"
#include "tests/differential/PassList.h"

namespace splitcast::differential {

/// A model that trains in @train: MLIR, and what its inputs may be.
struct Case {
  std::string name;
  std::string text;
  int64_t mostId = 0; ///< inputs of integers are 0 to mostId
};

/// Two linear layers with ReLU, squared error, Adam; on [dp = ranks], batch 8.
Case mlp(int64_t ranks);
/// 256-128-10, softmax cross-entropy, SGD.
Case classifier(int64_t ranks);
/// Embedding, reshape, linear, GELU, linear, cross-entropy per byte, AdamW.
Case languageModel(int64_t ranks);
/// A linear layer whose loss is divided by a sum over the batch of 12; returns its rows, too.
Case maskedMean(int64_t ranks);
/// On [dp = 10], where pieces are cut and joined many at a time: sums, gathers and exchanges of columns, ragged, empty
/// and in units.
Case manyRanks();
/// The MLP on [dp = 2, tp = 2]: the first weight split by columns along tp, the second by rows.
Case tensorParallelMlp();
/// The same with the 6 hidden features in pairs, 4 of them on one rank of tp and 2 on the other: slots of two sizes.
Case tensorParallelMlpInPairs();
/// The MLP on [dp = 2, pp = 2], its layers on one rank of pp each.
Case pipelineMlp();
/// Variables and states that are copied to others: from a larger bucket to a smaller one and back, at one offset and at
/// another, and within one.
Case copies(int64_t ranks);
/// The MLP's loss as the sum over two halves of the batch, with weights read for each.
Case microBatches(int64_t ranks);

/// Calls of @train with random inputs, floats in [-1, 1).
std::vector<Call> randomSteps(mlir::ModuleOp module, const Case &of, int64_t steps);

/// Random values for the variables of the module that have no constant initializer.
Variables randomVariables(mlir::ModuleOp module);

/// Every stage with every strategy, and a few bucket sizes and depths.
std::vector<Configuration> allConfigurations();

} // namespace splitcast::differential

#endif // SPLITCAST_TESTS_DIFFERENTIAL_CASES_H
