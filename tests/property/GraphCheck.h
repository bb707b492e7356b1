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
  absl::Status status;  ///< with seed, pass, graph and what the pass made, when it is not OK
  bool isExact = false; ///< levels gave the same numbers; else nearly the same
};

/// Generates the graph of this seed and compiles it in its ways: every pass is checked (EveryPass.h), and all ways must
/// give the same bits on each level. For every fourth graph, one way has --cse and --canonicalize between all passes.
GraphCheckResult checkGraph(uint64_t seed, const GraphCheckOptions &options);

/// The names of the ops that occur in the graph of this seed, or after a pass in its first way (rank 0). Runs nothing.
absl::StatusOr<std::set<std::string>> opsOf(uint64_t seed);

} // namespace splitcast::property

#endif // SPLITCAST_TESTS_PROPERTY_GRAPHCHECK_H
