#include "compiler/launch/VariableSources.h"

#include "runtime/api/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <cstdio>

namespace splitcast {

void VariableSources::addTo(Flags &flags) {
  flags.addString("load-variables", &variables, "FILE",
                  "load all variables from this safetensors file before the first step");
  flags.addString("load-weights", &weights, "FILE",
                  "likewise, but without optimizer state and counts, which begin anew; other tensors are ignored");
  flags.addString(
      "load-known", &known, "FILE",
      "load what the file and the model have in common, optimizer state included; the rest begins anew: for a "
      "model of which more or less is trained than when the file was saved");
  flags.addParsed("rename", "FROM=TO",
                  "the tensor FROM in the file of --load-weights is variable TO; * stands for any text in both", true,
                  [this](const std::string &text) {
                    absl::StatusOr<runtime::Renaming> renaming = runtime::Renaming::parse(text);
                    if (renaming.ok())
                      renamings.push_back(*renaming);
                    return renaming.status();
                  });
  rates.addTo(flags);
}

absl::Status VariableSources::check(const std::string &resume) const {
  std::vector<std::string> said;
  for (const auto &[flag, path] : {std::pair("--load-variables=", &variables),
                                   std::pair("--load-weights=", &weights),
                                   {"--load-known=", &known},
                                   {"--resume=", &resume}})
    if (!path->empty())
      said.push_back(flag + *path);
  if (said.size() > 1)
    return absl::InvalidArgumentError(
        absl::StrCat(absl::StrJoin(said, " and "), " say where variables come from; give only one of them"));
  if (!renamings.empty() && weights.empty())
    return absl::InvalidArgumentError("--rename is given without --load-weights, to whose file it applies; give both");
  return absl::OkStatus();
}

namespace {

/// Prints "3 variables begin anew: a, b, c", or nothing if there are none.
void say(const std::string &path, const std::vector<std::string> &names, const char *one, const char *several) {
  if (!names.empty())
    fprintf(stderr, "'%s': %zu %s: %s\n", path.c_str(), names.size(), names.size() == 1 ? one : several,
            absl::StrJoin(names, ", ").c_str());
}

} // namespace

absl::Status VariableSources::loadKnown(Session &session, int64_t rank) const {
  runtime::LoadedVariables loaded;
  SPLITCAST_RETURN_IF_ERROR(rates.load(session, known, [&] {
    SPLITCAST_ASSIGN_OR_RETURN(loaded, session.loadKnown(known));
    return absl::OkStatus();
  }));
  if (rank == 0) {
    say(known, loaded.kept, "variable begins anew", "variables begin anew");
    say(known, loaded.unused, "tensor is not used", "tensors are not used");
    if (!loaded.kept.empty())
      fprintf(stderr,
              "variables that begin anew are best in a group of their own, whose counts and rate then begin anew, "
              "too\n");
  }
  return absl::OkStatus();
}

absl::Status VariableSources::load(Session &session, int64_t rank) const {
  if (!known.empty())
    return loadKnown(session, rank);
  if (!variables.empty())
    return rates.load(session, variables, [&] { return session.loadVariables(variables); });
  if (weights.empty())
    return absl::OkStatus();
  absl::StatusOr<std::vector<std::string>> unused = session.loadWeights(weights, renamings);
  if (unused.ok() && rank == 0)
    say(weights, *unused, "tensor is not used", "tensors are not used");
  return unused.status();
}

} // namespace splitcast
