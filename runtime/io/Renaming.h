//===- Renaming.h - Renames the tensors of other programs' files ---------------===//
#ifndef SPLITCAST_RUNTIME_IO_RENAMING_H
#define SPLITCAST_RUNTIME_IO_RENAMING_H

#include "absl/status/statusor.h"

#include <string>
#include <vector>

namespace splitcast::runtime {

/// The tensor that a file calls `from` is called `to` here. Both may have one *, which stands for the same text in
/// both, perhaps an empty one: "transformer.h.*.weight" and "h*.weight".
struct Renaming {
  std::string from, to;

  /// Parses "FROM=TO".
  ///   Errors  InvalidArgument: a side is missing or has two stars, or only one side has a star.
  static absl::StatusOr<Renaming> parse(const std::string &text);
};

/// Returns the name after the first renaming that matches the whole name, or the name itself. No other is applied.
std::string renamed(const std::string &name, const std::vector<Renaming> &renamings);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_IO_RENAMING_H
