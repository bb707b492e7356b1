//===- GraphCheck.h - One random graph through every pass -----------------------------===//
#ifndef SPLITCAST_TESTS_PROPERTY_GRAPHCHECK_H
#define SPLITCAST_TESTS_PROPERTY_GRAPHCHECK_H

#include "absl/status/status.h"

#include <cstdint>
#include <map>
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
  std::set<std::string> ops;   ///< that occurred after some pass
};

/// Generates the graph of this seed and compiles it in its ways: every pass is checked (EveryPass.h), and all ways must give
/// the same bits on each level.
GraphCheckResult checkGraph(uint64_t seed, const GraphCheckOptions &options);

} // namespace splitcast::property

#endif // SPLITCAST_TESTS_PROPERTY_GRAPHCHECK_H
