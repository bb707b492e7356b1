//===- IndexCheck.h - Which indices "check_indices" refuses, on any device ------------------------===//
//
// The library call #exec.check_indices<count = N, places = P, ignored = I, ...> checks indices into a table.
//   Operands  It reads indices [N] and has no output.
//   Errors    InvalidArgument: an index is outside of 0..P-1 and is not I. The host returns the error at the launch. On
//             a GPU, Launchable::takeFinding returns it; until then kernels read some entry within the table instead.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_API_INDEXCHECK_H
#define SPLITCAST_RUNTIME_API_INDEXCHECK_H

#include "dialects/exec/Exec.h"
#include "runtime/api/ElementType.h"

#include "absl/status/status.h"

#include <optional>
#include <string>

namespace splitcast::runtime {

struct IndexCheck {
  static constexpr char kName[] = "check_indices";

  int64_t count = 0, places = 0;       ///< the number of indices, and of entries that they may name
  ElementType type = ElementType::I64; ///< or I32
  std::optional<int64_t> ignored;
  std::string what; ///< names the op in error messages

  static IndexCheck from(exec::CheckIndicesAttr call);

  bool isLegal(int64_t index) const { return (index >= 0 && index < places) || index == ignored; }
  /// Returns the error for `index`, a number as text, at `position` of the indices.
  absl::Status refuse(int64_t position, const std::string &index) const;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_INDEXCHECK_H
