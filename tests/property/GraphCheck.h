//===- GraphCheck.h - One random graph through every pass -----------------------------===//
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

/// What was checked of one graph.
struct GraphCheckResult {
  absl::Status status;         ///< with seed, pass, graph and what the pass made, when it is not OK
  bool isExact = false;        ///< levels gave the same numbers; else nearly the same
  bool isRoundedApart = false; ///< less near than what computes in f32: rounding to bf16 or f16 made the difference
};

/// Generates the graph of this seed and compiles it in its ways: every pass is checked (EveryPass.h), and all ways must
/// give the same bits on each level. For every fourth graph, one way has --cse and --canonicalize between all passes.
GraphCheckResult checkGraph(uint64_t seed, const GraphCheckOptions &options);

/// Names of ops in a graph, or after a pass in its first way (rank 0).
struct GraphOps {
  std::set<std::string> all;
  std::set<std::string> features; ///< that the graph has (ModelState.h)
  /// With an operand or result, in the programs of rank 0, of this type.
  std::set<std::string> ofBF16, ofF16;
  /// Likewise of 2, or of 3 and more dimensions, all of one extent, which is 3 or more.
  std::set<std::string> ofSquares, ofCubes;
  /// With an operand or result, in the global program, of bf16 or f16, of which several ranks hold different parts.
  std::set<std::string> ofSplitHalves;
};

/// Runs no graph.
absl::StatusOr<GraphOps> opsOf(uint64_t seed);

} // namespace splitcast::property

#endif // SPLITCAST_TESTS_PROPERTY_GRAPHCHECK_H
