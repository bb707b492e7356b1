#include "runtime/api/StatusMacros.h"
#include "runtime/io/Safetensors.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

namespace splitcast::runtime {

namespace {

absl::StatusOr<std::string> readHeaderText(const File &file, int64_t fileBytes) {
  auto damaged = [&](const std::string &text) {
    return fileError(absl::StatusCode::kDataLoss, file.path(), text + "; get it again");
  };
  if (fileBytes < kSafetensorsLengthBytes)
    return damaged(absl::StrCat("has ", fileBytes, " bytes; a safetensors file has at least 8"));
  unsigned char length[kSafetensorsLengthBytes];
  SPLITCAST_RETURN_IF_ERROR(file.readAt(0, sizeof length, length));
  uint64_t headerBytes = 0;
  for (int i = kSafetensorsLengthBytes; i-- > 0;)
    headerBytes = headerBytes << 8 | length[i];
  if (headerBytes > static_cast<uint64_t>(fileBytes - kSafetensorsLengthBytes))
    return damaged(absl::StrCat("says that its header has ", headerBytes, " bytes, but only ",
                                fileBytes - kSafetensorsLengthBytes,
                                " follow; it is cut off or not a safetensors file"));
  if (headerBytes > static_cast<uint64_t>(kMaxSafetensorsHeaderBytes))
    return damaged(absl::StrCat("says that its header has ", headerBytes, " bytes; at most ",
                                kMaxSafetensorsHeaderBytes, " are allowed"));
  std::string text(headerBytes, '\0');
  SPLITCAST_RETURN_IF_ERROR(file.readAt(kSafetensorsLengthBytes, headerBytes, text.data()));
  return text;
}

} // namespace

absl::StatusOr<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  SPLITCAST_ASSIGN_OR_RETURN(File file, File::openForReading(path));
  SPLITCAST_ASSIGN_OR_RETURN(int64_t fileBytes, file.sizeBytes());
  SPLITCAST_ASSIGN_OR_RETURN(std::string text, readHeaderText(file, fileBytes));
  absl::StatusOr<SafetensorsLayout> layout = parseSafetensorsHeader(text, fileBytes);
  if (!layout.ok())
    return fileError(absl::StatusCode::kDataLoss, path,
                     absl::StrCat("its header is not valid: ", std::string(layout.status().message()),
                                  "; get it again or write it with the safetensors library"));
  return SafetensorsFile(std::move(file), std::move(*layout));
}

const StoredTensor *SafetensorsFile::find(const std::string &name) const {
  auto at = std::lower_bound(layout.tensors.begin(), layout.tensors.end(), name,
                             [](const StoredTensor &tensor, const std::string &key) { return tensor.name < key; });
  return at != layout.tensors.end() && at->name == name ? &*at : nullptr;
}

absl::Status SafetensorsFile::read(const std::string &name, int64_t elementOffset, int64_t count, void *to) const {
  const StoredTensor *tensor = find(name);
  if (!tensor)
    return fileError(
        absl::StatusCode::kNotFound, path(),
        absl::StrCat("has no tensor '", name, "' among its ", layout.tensors.size(), "; give one of its names"));
  if (!tensor->type)
    return fileError(absl::StatusCode::kInvalidArgument, path(),
                     absl::StrCat("tensor '", name, "' has dtype ", tensor->dtype,
                                  "; F64, F32, F16, BF16, I64, I32, I8 and BOOL are supported; convert it"));
  if (elementOffset < 0 || count < 0 || elementOffset > tensor->elements || count > tensor->elements - elementOffset)
    return fileError(absl::StatusCode::kInvalidArgument, path(),
                     absl::StrCat(count, " elements from element ", elementOffset, " on of tensor '", name,
                                  "' were asked for; it has ", tensor->elements,
                                  " elements; ask for a range within it"));
  int64_t elementBytes = bytesOf(*tensor->type);
  return file.readAt(tensor->begin + elementOffset * elementBytes, count * elementBytes, to);
}

} // namespace splitcast::runtime
