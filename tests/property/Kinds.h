//===- Kinds.h - Structured graphs -----------------------------------------------------===//
//
// Free graphs (FunctionBuilder.h) hold everything, but rarely together what users have together. A fifth of all seeds
// have models, each with a step that mostly runs twice, of one of the first five kinds. An eighth of the others have
// one of the last two beside their graph (generateBeside).
//
//   recomputed blocks   on [dp, tp]: one or two blocks of attention or of two layers, with residual sums; weights,
//                       biases and scales are whole or split along tp, and some are tied; positions are pooled. The
//                       second configuration recomputes.
//   norms of batches in a pipeline
//                       on [pp, dp]: layers at stages, normalized by statistics of the whole batch, in micro-batches,
//                       mostly of several rows on several ranks. The second configuration recomputes.
//   reproducible pipelines
//                       the same with exact sums, with one row of each rank in a micro-batch
//   masked scores       on [dp, tp]: scores of keys that are not seen are replaced by, or added to, -1e9, the lowest
//                       float, an infinity or NaN; what is not seen has magnitudes from 1e4 to 1e30. Some positions
//                       see only one key, to whose score such a number is added.
//   wide addends        reproducible steps on 1 to 4 ranks in 1 to 12 micro-batches, with gradients whose addends are
//                       from 1e-40 to 1e30, of f32 or f64, many of them square
//   large logits        on [dp, tp]: a loss of classes that are divided along tp, whose logits are eighths beside 5000
//                       to 15,000; and the log_sum_exp of rows with infinities and NaN
//   turns of sessions   on [dp]: two sessions of two functions each, mostly of one program, take turns in any order, in
//                       which they repeat functions. Each must make what it makes alone. Then one rank takes other
//                       turns than the others: all must have an error. Threads run them (SessionTurns.h).
//
// The results of masked scores and large logits are compared with those that the generator computes itself, in f64 and
// from their definitions: what all levels have in common could be wrong (GeneratedGraph::expected).
//
// Data are tenths, which sums round, so that bits show their order; those of wide addends are integers times powers of
// two, and nearly all exact.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_PROPERTY_KINDS_H
#define SPLITCAST_TESTS_PROPERTY_KINDS_H

#include "tests/property/GraphGenerator.h"

#include <optional>

namespace splitcast::property {

/// Returns the graph of the seed if it is of a kind. Whether it is depends on the seed alone.
std::optional<GeneratedGraph> generateOfKind(uint64_t seed, mlir::MLIRContext &context);

} // namespace splitcast::property

#endif // SPLITCAST_TESTS_PROPERTY_KINDS_H
