#include "compiler/tools/RunFlags.h"

#include "absl/strings/str_cat.h"

namespace splitcast {
namespace {

absl::Status invalid(const std::string &text) { return absl::InvalidArgumentError(text); }

/// Parses NAME=FILE.npy onto `files`.
absl::Status parseNamedFile(const std::string &text, std::vector<NamedFile> *files) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    return invalid("it must be NAME=FILE.npy");
  files->push_back({text.substr(0, equals), text.substr(equals + 1)});
  return absl::OkStatus();
}

} // namespace

void RunFlags::addTo(Flags &flags) {
  flags.addPositional("MODULE.mlir", &module);
  flags.addString("function", &function, "NAME", "which to run (the only one, or 'train')");
  flags.addInteger("steps", &steps, 0, INT64_MAX, "how often (as the inputs have, or once without inputs)");
  flags.addZero(&zero);
  flags.addInteger("seed", &seed, 0, INT64_MAX, "of the variables' initial values");
  flags.addParsed("input", "NAME=FILE.npy", "an input of every step, which is the file's leading dimension", true,
                  [this](const std::string &text) { return parseNamedFile(text, &inputs); });
  flags.addParsed("output", "NAME=FILE.npy", "an output of every step, likewise", true,
                  [this](const std::string &text) { return parseNamedFile(text, &outputs); });
  sources.addTo(flags);
  flags.addString("save-variables", &saveVariables, "FILE", "all variables, after the last step");
  flags.addString("metrics", &metrics, "FILE.jsonl", "step, seconds and outputs that are one number, a line per step");
  flags.addSwitch("report", &report, "print memory and communication before anything runs");
  for (const char *name : {"metrics", "report"}) // which rank 0 makes
    flags.letDiffer(name);
  checkpoints.addTo(flags);
  launch.addTo(flags);
}

} // namespace splitcast
