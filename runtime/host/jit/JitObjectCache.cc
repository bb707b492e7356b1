#include "runtime/host/jit/JitObjectCache.h"

#include "runtime/api/StatusMacros.h"

#include "absl/strings/match.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

#include <algorithm>
#include <sys/stat.h>
#include <utility>

namespace splitcast::runtime {
namespace {

constexpr char kMagic[] = "SCKERN01", kSuffix[] = ".kernel";
constexpr size_t kMagicBytes = 8;
constexpr size_t kDigestBytes = 32;
constexpr size_t kKeyCharacters = 2 * kDigestBytes;
constexpr int64_t kMaxFileBytes = int64_t{256} << 20; ///< more than any kernel
/// No kernel takes so long to write.
constexpr time_t kTemporarySeconds = 3600;

std::string sha256(const std::string &data) {
  auto digest = llvm::SHA256::hash(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(data.data()), data.size()));
  return std::string(digest.begin(), digest.end());
}

std::string headerOf(const std::string &key, const std::string &object) { return kMagic + sha256(key + object); }

std::string nameOf(const std::string &key) { return key + kSuffix; }

/// Returns whether the file is a kernel, or was to become one.
bool isOfKernel(absl::string_view name) { return name.substr(std::min(name.size(), kKeyCharacters), 7) == kSuffix; }

/// A directory that has other files, too, keeps the rights that its user gave it.
void makePrivate(const OwnDirectory &own) {
  const std::vector<std::string> names = own.names();
  if (std::all_of(names.begin(), names.end(), isOfKernel))
    own.makePrivate();
}

/// Removes what writers left behind when they were killed.
void sweep(const OwnDirectory &own) {
  for (const std::string &name : own.names())
    if (isOfKernel(name) && absl::EndsWith(name, ".tmp"))
      own.removeIfOlder(name, kTemporarySeconds);
}

} // namespace

std::string sha256Hex(const std::string &data) { return llvm::toHex(sha256(data), /*LowerCase=*/true); }

absl::Status JitObjectCache::open() {
  if (directory.empty() || std::exchange(isTried, true))
    return absl::OkStatus();
  SPLITCAST_ASSIGN_OR_RETURN(OwnDirectory own, OwnDirectory::open(directory));
  // Earlier versions made it with the rights of the umask.
  struct stat found{};
  if (::stat(directory.c_str(), &found) == 0 && (found.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    makePrivate(own);
  opened.emplace(std::move(own));
  return absl::OkStatus();
}

absl::StatusOr<std::optional<std::string>> JitObjectCache::read(const std::string &key) const {
  if (!opened)
    return std::optional<std::string>();
  SPLITCAST_ASSIGN_OR_RETURN(std::optional<std::string> data, opened->read(nameOf(key), kMaxFileBytes));
  if (!data || data->size() < kMagicBytes + kDigestBytes)
    return std::optional<std::string>();
  std::string object = data->substr(kMagicBytes + kDigestBytes);
  if (data->compare(0, kMagicBytes + kDigestBytes, headerOf(key, object)) != 0)
    return std::optional<std::string>();
  return std::make_optional(std::move(object));
}

absl::Status JitObjectCache::write(const std::string &key, const std::string &object) {
  if (!opened)
    return absl::OkStatus();
  if (!std::exchange(isSwept, true))
    sweep(*opened);
  return opened->write(nameOf(key), headerOf(key, object) + object);
}

} // namespace splitcast::runtime
