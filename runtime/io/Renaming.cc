#include "runtime/io/Renaming.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <algorithm>

namespace splitcast::runtime {

absl::StatusOr<Renaming> Renaming::parse(const std::string &text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    return absl::InvalidArgumentError("it must be FROM=TO");
  Renaming renaming{text.substr(0, equals), text.substr(equals + 1)};
  const auto stars = std::count(renaming.from.begin(), renaming.from.end(), '*');
  if (stars > 1 || std::count(renaming.to.begin(), renaming.to.end(), '*') != stars)
    return absl::InvalidArgumentError("FROM and TO must have one * each, or none");
  return renaming;
}

std::string renamed(const std::string &name, const std::vector<Renaming> &renamings) {
  for (const Renaming &renaming : renamings) {
    const size_t star = renaming.from.find('*');
    if (star == std::string::npos) {
      if (name == renaming.from)
        return renaming.to;
      continue;
    }
    const std::string before = renaming.from.substr(0, star), after = renaming.from.substr(star + 1);
    if (name.size() < before.size() + after.size() || !absl::StartsWith(name, before) || !absl::EndsWith(name, after))
      continue;
    const size_t at = renaming.to.find('*');
    return absl::StrCat(renaming.to.substr(0, at),
                        name.substr(before.size(), name.size() - before.size() - after.size()),
                        renaming.to.substr(at + 1));
  }
  return name;
}

} // namespace splitcast::runtime
