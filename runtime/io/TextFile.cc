#include "runtime/io/TextFile.h"

#include "absl/strings/str_cat.h"

namespace splitcast::runtime {

absl::StatusOr<TextFile> TextFile::open(const std::string &path, int64_t minimumBytes) {
  absl::StatusOr<File> file = File::openForReading(path);
  if (!file.ok())
    return file.status();
  absl::StatusOr<int64_t> bytes = file->sizeBytes();
  if (!bytes.ok())
    return bytes.status();
  if (*bytes == 0)
    return fileError(absl::StatusCode::kInvalidArgument, path,
                     absl::StrCat("is empty; at least ", minimumBytes, " bytes of text are needed"));
  if (*bytes < minimumBytes)
    return fileError(absl::StatusCode::kInvalidArgument, path,
                     absl::StrCat("has ", *bytes, " bytes; at least ", minimumBytes,
                                  " are needed; give a longer text or smaller batches"));
  return TextFile(std::move(*file), *bytes);
}

absl::Status TextFile::read(int64_t offset, int64_t bytes, void *to) const {
  if (offset < 0 || bytes < 0 || offset > fileBytes || bytes > fileBytes - offset)
    return fileError(absl::StatusCode::kInvalidArgument, file.path(),
                     absl::StrCat(bytes, " bytes from byte ", offset, " on were asked for; the text has ", fileBytes,
                                  " bytes; ask for a range within it"));
  return file.readAt(offset, bytes, to);
}

} // namespace splitcast::runtime
