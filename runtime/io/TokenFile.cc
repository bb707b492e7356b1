#include "runtime/io/TokenFile.h"

#include "runtime/api/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <vector>

namespace splitcast::runtime {

absl::StatusOr<TokenFile> TokenFile::open(const std::string &path, const TokenFormat &format, int64_t leastTokens) {
  SPLITCAST_ASSIGN_OR_RETURN(File file, File::openForReading(path));
  SPLITCAST_ASSIGN_OR_RETURN(int64_t bytes, file.sizeBytes());
  const int64_t tokens = bytes / format.bytesPerToken;
  if (bytes % format.bytesPerToken != 0)
    return fileError(absl::StatusCode::kInvalidArgument, path,
                     absl::StrCat("has ", bytes, " bytes, which is no multiple of ", format.bytesPerToken,
                                  " bytes per token; give the right number of bytes per token"));
  if (tokens < leastTokens)
    return fileError(absl::StatusCode::kInvalidArgument, path,
                     absl::StrCat(tokens == 0 ? "is empty" : absl::StrCat("has ", tokens, " tokens"), "; at least ",
                                  leastTokens, " tokens are needed: give a longer file or a shorter context"));
  return TokenFile(std::move(file), format, tokens);
}

absl::Status TokenFile::read(int64_t first, int64_t count, int64_t *to) const {
  if (first < 0 || count < 0 || first > tokens || count > tokens - first)
    return fileError(absl::StatusCode::kInvalidArgument, file.path(),
                     absl::StrCat(count, " tokens from token ", first, " on were asked for; the file has ", tokens,
                                  "; ask for a range within it"));
  const int64_t width = format.bytesPerToken;
  std::vector<unsigned char> bytes(count * width);
  SPLITCAST_RETURN_IF_ERROR(file.readAt(first * width, count * width, bytes.data()));
  for (int64_t token = 0; token < count; ++token) {
    to[token] = 0;
    for (int64_t byte = width - 1; byte >= 0; --byte)
      to[token] = to[token] * 256 + bytes[token * width + byte];
    if (to[token] >= format.vocabulary)
      return fileError(
          absl::StatusCode::kInvalidArgument, file.path(),
          absl::StrCat("has ", to[token], " as token ", first + token, ", but the vocabulary has ", format.vocabulary,
                       " tokens, numbered from 0; give a larger vocabulary, or the right number of bytes per token"));
  }
  return absl::OkStatus();
}

} // namespace splitcast::runtime
