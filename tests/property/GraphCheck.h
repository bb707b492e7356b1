//===- GraphCheck.h - Checks every pass on a random graph -----------------------------===//
#ifndef SPLITCAST_TESTS_PROPERTY_GRAPHCHECK_H
#define SPLITCAST_TESTS_PROPERTY_GRAPHCHECK_H

#include "absl/status/statusor.h"

#include <cstdint>
#include <set>
#include <string>

namespace splitcast::property {

struct GraphCheckOptions {
  bool runsPlan = false;
  std::string objectCacheDir;
};

/// The result of checking a graph.
struct GraphCheckResult {
  absl::Status status;         ///< an error has the seed, the pass, the graph and the result of the pass
  bool isExact = false;        ///< whether levels gave the same numbers, and not only nearly the same
  bool isRoundedApart = false; ///< whether levels agree less well than in f32, because of rounding to bf16 or f16
};

/// Generates the graph of this seed, and compiles it with each of its configurations. Every pass is checked
/// (EveryPass.h), and all configurations must give the same bits at each level. For every fourth graph, one
/// configuration runs --cse and
/// --canonicalize between all passes.
GraphCheckResult checkGraph(uint64_t seed, const GraphCheckOptions &options);

/// The names of ops in a graph, or after any pass with its first configuration (on rank 0).
struct GraphOps {
  std::set<std::string> all;
  std::set<std::string> features; ///< the features of the graph (ModelState.h)
  /// Ops with an operand or result of this type in the programs of rank 0.
  std::set<std::string> ofBF16, ofF16;
  /// Ops with an operand or result there whose extents are all equal and at least 3: with 2 dimensions, or with 3 or
  /// more.
  std::set<std::string> ofSquares, ofCubes;
  /// Ops with an operand or result of bf16 or f16 in the global program of which ranks hold different parts.
  std::set<std::string> ofSplitHalves;
};

/// Returns the ops of the graph of this seed, without running it.
absl::StatusOr<GraphOps> opsOf(uint64_t seed);

} // namespace splitcast::property

#endif // SPLITCAST_TESTS_PROPERTY_GRAPHCHECK_H
