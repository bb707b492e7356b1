#include "runtime/api/LaunchCheck.h"

#include "absl/strings/str_cat.h"

namespace splitcast::runtime {

absl::Status checkBuffers(const std::string &what, absl::Span<const int64_t> argumentBytes,
                          absl::Span<const Buffer> buffers) {
  if (buffers.size() != argumentBytes.size())
    return absl::InvalidArgumentError(
        absl::StrCat(what, " was launched with ", buffers.size(), " buffers; it takes ", argumentBytes.size()));
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].bytes < argumentBytes[i])
      return absl::InvalidArgumentError(absl::StrCat(what, ": buffer ", i, " has ", buffers[i].bytes,
                                                     " bytes; argument ", i, " needs ", argumentBytes[i]));
  return absl::OkStatus();
}

} // namespace splitcast::runtime
