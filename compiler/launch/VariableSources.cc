#include "compiler/launch/VariableSources.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <cstdio>

namespace splitcast {

void VariableSources::addTo(Flags &flags) {
  flags.addString("load-variables", &variables, "FILE", "safetensors with all variables, before the first step");
  flags.addString("load-weights", &weights, "FILE",
                  "likewise, without state of optimizers and counts, which begin anew; further tensors are left out");
  flags.addParsed("rename", "FROM=TO", "what the file of --load-weights calls FROM is TO; * is any text, in both", true,
                  [this](const std::string &text) {
                    absl::StatusOr<runtime::Renaming> renaming = runtime::Renaming::parse(text);
                    if (renaming.ok())
                      renamings.push_back(*renaming);
                    return renaming.status();
                  });
}

absl::Status VariableSources::check(const std::string &resume) const {
  std::vector<std::string> said;
  for (const auto &[flag, path] :
       {std::pair("--load-variables=", &variables), std::pair("--load-weights=", &weights), {"--resume=", &resume}})
    if (!path->empty())
      said.push_back(flag + *path);
  if (said.size() > 1)
    return absl::InvalidArgumentError(
        absl::StrCat(absl::StrJoin(said, " and "), " say where variables come from; give one of them"));
  if (!renamings.empty() && weights.empty())
    return absl::InvalidArgumentError("--rename is given, but no --load-weights, whose file it is about; give both");
  return absl::OkStatus();
}

absl::Status VariableSources::load(Session &session, int64_t rank) const {
  if (!variables.empty())
    return session.loadVariables(variables);
  if (weights.empty())
    return absl::OkStatus();
  absl::StatusOr<std::vector<std::string>> unused = session.loadWeights(weights, renamings);
  if (unused.ok() && !unused->empty() && rank == 0)
    fprintf(stderr, "'%s': %zu tensors are not used: %s\n", weights.c_str(), unused->size(),
            absl::StrJoin(*unused, ", ").c_str());
  return unused.status();
}

} // namespace splitcast
