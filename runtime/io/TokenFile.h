//===- TokenFile.h - A file of tokens, read piecewise ---------------*- C++ -*-===//
#ifndef SPLITCAST_RUNTIME_IO_TOKENFILE_H
#define SPLITCAST_RUNTIME_IO_TOKENFILE_H

#include "runtime/io/File.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstdint>
#include <string>

namespace splitcast::runtime {

/// Which numbers the tokens of a file are, and how they lie: one after the other, the least byte first, without a head.
struct TokenFormat {
  int64_t bytesPerToken = 1; ///< 1, as those of a text, 2 or 4
  int64_t vocabulary = 256;  ///< each is less than that
};

/// Keeps the file open and copies tokens out on request.
class TokenFile {
public:
  /// Errors, besides those of File.h: InvalidArgument when the file has fewer than `leastTokens` tokens, or none, or a
  /// part of one at its end.
  static absl::StatusOr<TokenFile> open(const std::string &path, const TokenFormat &format, int64_t leastTokens = 1);

  int64_t size() const { return tokens; }
  /// Tokens [first, first + count) to `to`.
  ///   Errors  InvalidArgument: not all of them are in the file, or one is none of the vocabulary.
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
