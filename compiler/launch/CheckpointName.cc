#include "compiler/launch/CheckpointName.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace splitcast {

namespace {

constexpr char kPrefix[] = "step-", kJob[] = "-job-", kManifest[] = ".json";

} // namespace

std::string CheckpointName::text() const {
  const std::string name = absl::StrFormat("%s%09d", kPrefix, step);
  return job <= 1 ? name : absl::StrCat(name, kJob, job);
}

std::optional<CheckpointName> CheckpointName::ofFile(const std::string &fileName) {
  const std::string stem = fileName.substr(0, fileName.find('.'));
  absl::string_view rest = stem;
  if (stem.size() == fileName.size() || !absl::ConsumePrefix(&rest, kPrefix))
    return std::nullopt;
  CheckpointName name;
  const size_t job = rest.find(kJob);
  const bool isNumber = absl::SimpleAtoi(rest.substr(0, job), &name.step) && name.step >= 0 &&
                        (job == rest.npos || absl::SimpleAtoi(rest.substr(job + sizeof(kJob) - 1), &name.job));
  return isNumber && name.text() == stem ? std::make_optional(name) : std::nullopt;
}

std::optional<CheckpointName> CheckpointName::ofManifest(const std::string &fileName) {
  const std::optional<CheckpointName> name = ofFile(fileName);
  return name && fileName == name->text() + kManifest ? name : std::nullopt;
}

} // namespace splitcast
