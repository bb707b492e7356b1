//===- Renaming.h - Names of tensors in files of others ------------------------===//
#ifndef SPLITCAST_RUNTIME_IO_RENAMING_H
#define SPLITCAST_RUNTIME_IO_RENAMING_H

#include "absl/status/statusor.h"

#include <string>
#include <vector>

namespace splitcast::runtime {

/// What a file calls `from` is `to`. Each may have one *, any text, which is the same in both:
/// "transformer.h.*.weight" and "h*.weight".
struct Renaming {
  std::string from, to;

  /// "FROM=TO".
  ///   Errors  InvalidArgument: one is missing, has two stars, or only one of them has one.
  static absl::StatusOr<Renaming> parse(const std::string &text);
};

/// The name after the first renaming that fits, or the name itself.
std::string renamed(const std::string &name, const std::vector<Renaming> &renamings);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_IO_RENAMING_H
