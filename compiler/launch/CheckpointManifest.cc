#include "compiler/launch/CheckpointManifest.h"

#include "compiler/launch/Alike.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/io/File.h"

#include "absl/strings/str_cat.h"

#include <nlohmann/json.hpp>

namespace splitcast {

namespace {

constexpr int64_t kFormat = 2; ///< format 1 has no validation loss

using Json = nlohmann::ordered_json;

absl::Status damaged(const std::string &path, const std::string &what) {
  return runtime::fileError(absl::StatusCode::kDataLoss, path, absl::StrCat(what, "; use an earlier checkpoint"));
}

/// Returns the number of this name if it is at least 0, and otherwise -1.
int64_t numberIn(const Json &json, const char *name) {
  auto found = json.find(name);
  return found != json.end() && found->is_number_integer() && *found >= 0 ? found->get<int64_t>() : -1;
}

/// Reads the digests. Returns false if they are missing or not strings.
bool readDigests(const Json &json, std::vector<std::string> &digests) {
  auto found = json.find("digests");
  if (found == json.end() || !found->is_array())
    return false;
  for (const Json &one : *found) {
    if (!one.is_string())
      return false;
    digests.push_back(one.get<std::string>());
  }
  return true;
}

} // namespace

std::string CheckpointManifest::text() const {
  Json json = {{"format", kFormat}, {"step", step}, {"seed", seed}, {"bytes", bytes}, {"block_bytes", blockBytes}};
  if (validationLoss)
    json["validation_loss"] = *validationLoss;
  json["digests"] = digests;
  json["digest"] = digest(json.dump());
  return json.dump(1) + "\n";
}

absl::StatusOr<CheckpointManifest> CheckpointManifest::parse(const std::string &text, const std::string &path) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return damaged(path, "is not a JSON object, so the manifest was cut off or damaged");
  if (const int64_t format = numberIn(json, "format"); format > kFormat)
    return runtime::fileError(absl::StatusCode::kInvalidArgument, path,
                              absl::StrCat("has format ", format,
                                           ", which a newer version wrote; this version reads up to ", kFormat,
                                           ": use the newer version, or an older checkpoint"));
  CheckpointManifest manifest{
      numberIn(json, "step"), numberIn(json, "seed"), numberIn(json, "bytes"), numberIn(json, "block_bytes"), {}};
  if (auto loss = json.find("validation_loss"); loss != json.end() && loss->is_number_float())
    manifest.validationLoss = loss->get<double>();
  const bool isWhole = manifest.step >= 0 && manifest.seed >= 0 && manifest.bytes >= 0 && manifest.blockBytes > 0 &&
                       readDigests(json, manifest.digests) &&
                       static_cast<int64_t>(manifest.digests.size()) == manifest.numBlocks();
  if (!isWhole || manifest.text() != text)
    return damaged(path, "was changed after it was written: its digest does not match");
  return manifest;
}

absl::StatusOr<std::vector<std::string>> digestsOfBlocks(const std::string &path, int64_t bytes, int64_t blockBytes,
                                                         int64_t first, int64_t stride) {
  SPLITCAST_ASSIGN_OR_RETURN(runtime::File file, runtime::File::openForReading(path));
  SPLITCAST_ASSIGN_OR_RETURN(int64_t size, file.sizeBytes());
  if (size != bytes)
    return damaged(path, absl::StrCat("has ", size, " bytes, but ", bytes, " were written"));
  std::vector<std::string> digests;
  std::string block;
  for (int64_t number = first; number * blockBytes < bytes; number += stride) {
    block.resize(std::min(blockBytes, bytes - number * blockBytes));
    SPLITCAST_RETURN_IF_ERROR(file.readAt(number * blockBytes, static_cast<int64_t>(block.size()), block.data()));
    digests.push_back(digest(block));
  }
  return digests;
}

} // namespace splitcast
