//===- AlikeInputs.h - Inputs of which ranks have the same part ----------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_ALIKEINPUTS_H
#define SPLITCAST_COMPILER_LAUNCH_ALIKEINPUTS_H

#include "absl/types/span.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace splitcast {

/// The inputs of a function, of which a rank may have the same part as another: a rate that all must give alike, or the
/// rows of a batch that ranks along `tp` share. Their values become Frame::alike in each run.
///   at 2 x 2 ranks (dp, tp): `rate` is whole on all, `x` is split along dp
///   rank 0 has in common  with rank 1: rate and x    with ranks 2 and 3: rate
class AlikeInputs {
public:
  /// `haveInCommon` has, for each input, the ranks that have the same part as this one; this rank need not be among
  /// them.
  AlikeInputs(int64_t ranks, const std::vector<std::vector<int64_t>> &haveInCommon);

  /// Returns a digest per rank: of this rank's values of the inputs that it has in common with that rank. `pieces` are
  /// this rank's pieces of all inputs.
  std::vector<uint64_t> digests(absl::Span<const absl::Span<const std::byte>> pieces) const;
  /// Returns whether any rank has the same part of this input as this rank.
  bool isShared(size_t input) const { return shared[input]; }

private:
  std::vector<bool> shared;              ///< by input
  std::vector<std::vector<size_t>> sets; ///< the sets of inputs that this rank has in common with some rank
  std::vector<size_t> setOf;             ///< by rank: the index in `sets`
};

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_ALIKEINPUTS_H
