//===- TokenFile.h - Reads parts of a file of tokens ----------------*- C++ -*-===//
#ifndef SPLITCAST_RUNTIME_IO_TOKENFILE_H
#define SPLITCAST_RUNTIME_IO_TOKENFILE_H

#include "runtime/io/File.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstdint>
#include <string>

namespace splitcast::runtime {

/// The range and the size of a file's tokens. They are numbers from 0 on that lie one after the other, little-endian,
/// without a header.
struct TokenFormat {
  int64_t bytesPerToken = 1; ///< 1 (as in a text), 2 or 4
  int64_t vocabulary = 256;  ///< each token is less than this
};

/// Keeps the file open, and copies tokens when asked. Several threads may read it.
class TokenFile {
public:
  /// Opens a file of tokens.
  ///   Errors  those of File.h; InvalidArgument: the file has fewer than `leastTokens` tokens, or ends within a token.
  static absl::StatusOr<TokenFile> open(const std::string &path, const TokenFormat &format, int64_t leastTokens = 1);

  int64_t size() const { return tokens; }
  /// Copies tokens [first, first + count) to `to`, which has room for them. After an error some may have been copied.
  ///   Errors  InvalidArgument: the file does not have all of them, or one is not less than the vocabulary.
  absl::Status read(int64_t first, int64_t count, int64_t *to) const;

private:
  TokenFile(File file, const TokenFormat &format, int64_t tokens)
      : file(std::move(file)), format(format), tokens(tokens) {}

  File file;
  TokenFormat format;
  int64_t tokens;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_IO_TOKENFILE_H
