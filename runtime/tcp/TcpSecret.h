//===- TcpSecret.h - What only the ranks of a job know ------------------------===//
//
// The cryptography is OpenSSL's. docs/security.md says what it protects from.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_TCP_TCPSECRET_H
#define SPLITCAST_RUNTIME_TCP_TCPSECRET_H

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace splitcast::runtime {

/// A shorter secret could be guessed.
inline constexpr int64_t kLeastSecretBytes = 16, kMostSecretBytes = 4096;

/// Returns the secret in SPLITCAST_SECRET, or in the file that SPLITCAST_SECRET_FILE names, without the ends of lines
/// behind it. It is empty if neither variable is set.
///   Errors  InvalidArgument: both are set; the secret is too short or too long; the file is not a regular file of this
///           user that nobody else can read or write. Messages never contain the secret.
absl::StatusOr<std::string> secretFromEnvironment();

using Digest = std::array<uint8_t, 32>;

/// Returns HMAC-SHA256 of the text. The secret may be empty.
Digest authenticate(const std::string &secret, absl::string_view text);

/// Compares in a time that does not depend on where the digests differ.
bool isSame(const Digest &a, const Digest &b);

/// Returns random bytes that nobody can predict.
///   Errors  Unavailable: the system has none.
absl::StatusOr<Digest> drawNonce();

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_TCP_TCPSECRET_H
