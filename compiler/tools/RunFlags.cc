#include "compiler/tools/RunFlags.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include <set>

namespace splitcast {
namespace {

absl::Status invalid(const std::string &text) { return absl::InvalidArgumentError(text); }

/// One option of --enable-zero.
absl::Status parseZeroOption(const std::string &key, const std::string &value, EnableZero *zero) {
  int64_t stage = 0;
  if (key == "stage") {
    if (!absl::SimpleAtoi(value, &stage) || stage < 0 || stage > 3)
      return invalid(absl::StrCat("stage is '", value, "', which must be 0, 1, 2 or 3"));
    zero->stage = static_cast<int>(stage);
  } else if (key == "strategy") {
    if (value != "bucket" && value != "tensor")
      return invalid(absl::StrCat("strategy is '", value, "', which must be bucket or tensor"));
    zero->strategy = value;
  } else if (key == "bucket-bytes") {
    if (!absl::SimpleAtoi(value, &zero->bucketBytes) || zero->bucketBytes < 0)
      return invalid(absl::StrCat("bucket-bytes is '", value, "', which must be a number of bytes, 0 or more"));
  } else if (key == "axis") {
    zero->axis = value;
  } else {
    return invalid(absl::StrCat("it has no option '", key, "'; options are stage, strategy, bucket-bytes and axis"));
  }
  return absl::OkStatus();
}

/// Parses NAME=FILE.npy onto `files`.
absl::Status parseNamedFile(const std::string &text, std::vector<NamedFile> *files) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    return invalid("it must be NAME=FILE.npy");
  files->push_back({text.substr(0, equals), text.substr(equals + 1)});
  return absl::OkStatus();
}

} // namespace

absl::Status parseEnableZero(const std::string &text, EnableZero *zero) {
  std::set<std::string> seen;
  *zero = EnableZero();
  for (absl::string_view option : absl::StrSplit(text, ',')) {
    std::pair<std::string, std::string> pair = absl::StrSplit(option, absl::MaxSplits('=', 1));
    if (!seen.insert(pair.first).second)
      return invalid(absl::StrCat("it has '", pair.first, "' twice; give it once"));
    if (absl::Status status = parseZeroOption(pair.first, pair.second, zero); !status.ok())
      return status;
  }
  if (seen.count("bucket-bytes") && zero->strategy != "bucket")
    return invalid("bucket-bytes is of strategy=bucket only; leave one of the two out");
  return absl::OkStatus();
}

void RunFlags::addTo(Flags &flags) {
  flags.addPositional("MODULE.mlir", &module);
  flags.addString("function", &function, "NAME", "which to run (the only one, or 'train')");
  flags.addInteger("steps", &steps, 0, INT64_MAX, "how often (as the inputs have, or once without inputs)");
  flags.addParsed("enable-zero", "stage=N[,strategy=S][,bucket-bytes=N][,axis=A]",
                  "what is split over the ranks (nothing)", false,
                  [this](const std::string &text) { return parseEnableZero(text, &zero); });
  flags.addInteger("prefetch", &prefetch, 0, 1, "groups that are gathered ahead");
  flags.addInteger("seed", &seed, 0, INT64_MAX, "of the variables' initial values");
  flags.addParsed("input", "NAME=FILE.npy", "an input of every step, which is the file's leading dimension", true,
                  [this](const std::string &text) { return parseNamedFile(text, &inputs); });
  flags.addParsed("output", "NAME=FILE.npy", "an output of every step, likewise", true,
                  [this](const std::string &text) { return parseNamedFile(text, &outputs); });
  flags.addString("load-variables", &loadVariables, "FILE", "safetensors with whole variables, before the first step");
  flags.addString("save-variables", &saveVariables, "FILE", "likewise, after the last");
  flags.addString("metrics", &metrics, "FILE.jsonl", "step, seconds and outputs that are one number, a line per step");
  flags.addSwitch("report", &report, "print memory and communication before anything runs");
  launch.addTo(flags);
}

} // namespace splitcast
