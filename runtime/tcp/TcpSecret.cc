#include "runtime/tcp/TcpSecret.h"

#include "runtime/api/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

namespace splitcast::runtime {
namespace {

constexpr char kVariable[] = "SPLITCAST_SECRET", kFileVariable[] = "SPLITCAST_SECRET_FILE";

absl::Status wrongFile(const std::string &path, const std::string &what) {
  return absl::InvalidArgumentError(absl::StrCat(kFileVariable, " names '", path, "', ", what));
}

/// Returns an error unless the open file is one that only this user can have
/// written, and that only this user can read.
absl::Status checkFile(int file, const std::string &path) {
  struct stat found{};
  if (fstat(file, &found) != 0)
    return wrongFile(path, absl::StrCat("which cannot be examined: ", std::strerror(errno)));
  if (!S_ISREG(found.st_mode))
    return wrongFile(path, "which is no regular file");
  if (found.st_uid != geteuid())
    return wrongFile(
        path, absl::StrCat("which belongs to user ", found.st_uid, "; it must be a file of this user, ", geteuid()));
  if ((found.st_mode & 077) != 0)
    return wrongFile(path, "which others may read or write; use chmod 600, and another secret");
  return absl::OkStatus();
}

absl::StatusOr<std::string> readFile(const std::string &path) {
  // A pipe without a writer would block.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0)
    return wrongFile(path, absl::StrCat("which cannot be opened: ", std::strerror(errno)));
  absl::Status status = checkFile(file, path);
  std::string text(kMostSecretBytes + 3, '\0'); // room for an end of line, and to see that there is more
  const ssize_t count = status.ok() ? read(file, text.data(), text.size()) : 0;
  if (count < 0)
    status = wrongFile(path, absl::StrCat("which cannot be read: ", std::strerror(errno)));
  close(file);
  SPLITCAST_RETURN_IF_ERROR(status);
  text.resize(count);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r'))
    text.pop_back();
  return text;
}

} // namespace

absl::StatusOr<std::string> secretFromEnvironment() {
  const char *value = std::getenv(kVariable), *path = std::getenv(kFileVariable);
  const bool hasValue = value && *value, hasPath = path && *path;
  if (hasValue && hasPath)
    return absl::InvalidArgumentError(
        absl::StrCat(kVariable, " and ", kFileVariable, " are both set; unset one of them"));
  if (!hasValue && !hasPath)
    return std::string();
  std::string secret = hasValue ? value : "";
  if (hasPath) {
    SPLITCAST_ASSIGN_OR_RETURN(secret, readFile(path));
  }
  const int64_t bytes = static_cast<int64_t>(secret.size());
  if (bytes < kLeastSecretBytes || bytes > kMostSecretBytes)
    return absl::InvalidArgumentError(absl::StrCat("the secret of ", hasValue ? kVariable : kFileVariable, " has ",
                                                   bytes > kMostSecretBytes ? "too many" : absl::StrCat(bytes),
                                                   " bytes; it must have ", kLeastSecretBytes, " to ", kMostSecretBytes,
                                                   ", such as 'openssl rand -hex 32' prints"));
  return secret;
}

Digest authenticate(const std::string &secret, absl::string_view text) {
  Digest digest = {};
  unsigned int bytes = 0;
  // It fails only without memory; a digest of zeros then matches nobody's.
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char *>(text.data()), text.size(), digest.data(), &bytes);
  return digest;
}

bool isSame(const Digest &a, const Digest &b) {
  const Digest failed = {};
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0 && CRYPTO_memcmp(a.data(), failed.data(), a.size()) != 0;
}

absl::StatusOr<Digest> drawNonce() {
  Digest nonce = {};
  if (RAND_bytes(nonce.data(), static_cast<int>(nonce.size())) != 1)
    return absl::UnavailableError("the system gives no random numbers");
  return nonce;
}

} // namespace splitcast::runtime
