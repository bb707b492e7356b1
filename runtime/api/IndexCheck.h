//===- IndexCheck.h - What "check_indices" refuses, on any device ---------------------------------===//
//
// The library call #exec.check_indices<count = N, places = P, ignored = I, ...>.
//   Operands  indices [N]; no output.
//   Errors    InvalidArgument: an index outside of 0..P-1 that is not I. On the host at the launch; on a GPU when its
//             stream is synchronized, and until then kernels read some place within the table instead.
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

  int64_t count = 0, places = 0;
  ElementType type = ElementType::I64; ///< or I32
  std::optional<int64_t> ignored;
  std::string what;

  static IndexCheck from(exec::CheckIndicesAttr call);

  bool isLegal(int64_t index) const { return (index >= 0 && index < places) || index == ignored; }
  /// The error for the index at `position`, as text.
  absl::Status refuse(int64_t position, const std::string &index) const;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_INDEXCHECK_H
