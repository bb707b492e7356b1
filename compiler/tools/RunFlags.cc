#include "compiler/tools/RunFlags.h"

#include "compiler/tools/ModuleFile.h"

namespace splitcast {
namespace {

absl::Status invalid(const std::string &text) { return absl::InvalidArgumentError(text); }

/// Parses NAME=FILE.npy and appends it to `files`.
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
  flags.addSwitch(kAllowBytecode, &allowBytecode, kAllowBytecodeHelp);
  flags.addString("function", &function, "NAME", "the function to run (the module's only one, or 'train')");
  flags.addInteger("steps", &steps, 0, INT64_MAX,
                   "the number of steps to run; by default as many as the inputs have, or 1 without inputs");
  flags.addZero(&zero);
  flags.addInteger("seed", &seed, 0, INT64_MAX, "the seed of the variables' initial values");
  flags.addParsed("input", "NAME=FILE.npy", "read input NAME from the file, whose leading dimension counts the steps",
                  true, [this](const std::string &text) { return parseNamedFile(text, &inputs); });
  flags.addParsed("output", "NAME=FILE.npy", "write output NAME to the file, whose leading dimension counts the steps",
                  true, [this](const std::string &text) { return parseNamedFile(text, &outputs); });
  sources.addTo(flags);
  flags.addString("save-variables", &saveVariables, "FILE", "write all variables after the last step");
  flags.addString("metrics", &metrics, "FILE.jsonl",
                  "write a line per step: its number, its seconds, and the outputs that are single numbers");
  flags.addSwitch("report", &report, "print memory and communication before anything runs");
  for (const char *name : {"metrics", "report"}) // only rank 0 writes these
    flags.letDiffer(name);
  checkpoints.addTo(flags);
  launch.addTo(flags);
}

} // namespace splitcast
