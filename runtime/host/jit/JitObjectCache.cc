#include "runtime/host/jit/JitObjectCache.h"

#include "absl/strings/str_cat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace splitcast::runtime {
namespace {

constexpr char kMagic[] = "SCKERN01";
constexpr size_t kMagicBytes = 8;
constexpr size_t kDigestBytes = 32;

std::string sha256(const std::string &data) {
  auto digest = llvm::SHA256::hash(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(data.data()), data.size()));
  return std::string(digest.begin(), digest.end());
}

std::string headerOf(const std::string &key, const std::string &object) { return kMagic + sha256(key + object); }

/// Returns a name that no other writer uses, in this process or another.
std::string temporaryName(const std::string &path) {
  static std::atomic<int> count{0};
  return absl::StrCat(path, ".", getpid(), ".", count++, ".tmp");
}

absl::Status notKept(const std::string &path, const std::string &reason) {
  return absl::UnavailableError(absl::StrCat("cannot keep the compiled kernel ", path, ": ", reason));
}

} // namespace

std::string sha256Hex(const std::string &data) { return llvm::toHex(sha256(data), /*LowerCase=*/true); }

std::optional<std::string> JitObjectCache::read(const std::string &key) const {
  if (directory.empty())
    return std::nullopt;
  std::ifstream file(pathOf(key), std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  std::string data = content.str();
  if (!file || data.size() < kMagicBytes + kDigestBytes)
    return std::nullopt;
  std::string object = data.substr(kMagicBytes + kDigestBytes);
  if (data.compare(0, kMagicBytes + kDigestBytes, headerOf(key, object)) != 0)
    return std::nullopt;
  return object;
}

absl::Status JitObjectCache::write(const std::string &key, const std::string &object) const {
  if (directory.empty())
    return absl::OkStatus();
  std::string path = pathOf(key);
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return notKept(path, error.message());
  std::string temporary = temporaryName(path);
  std::ofstream file(temporary, std::ios::binary);
  file << headerOf(key, object) << object;
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::string reason = std::strerror(errno);
    std::remove(temporary.c_str());
    return notKept(path, reason);
  }
  return absl::OkStatus();
}

} // namespace splitcast::runtime
