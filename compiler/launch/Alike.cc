#include "compiler/launch/Alike.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/io/File.h"

#include "absl/strings/str_cat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

#include <algorithm>
#include <map>

namespace splitcast {

std::string digest(const std::string &text) {
  llvm::SHA256 hash;
  hash.update(text);
  return llvm::toHex(hash.final());
}

absl::Status checkAlike(const std::vector<std::string> &texts, const std::string &what) {
  std::map<std::string, std::vector<size_t>> ranksOf;
  for (size_t rank = 0; rank < texts.size(); ++rank)
    ranksOf[texts[rank]].push_back(rank);
  if (ranksOf.size() < 2)
    return absl::OkStatus();
  std::string message = absl::StrCat("ranks were started with different ", what, "; start all with the same:");
  for (const auto &[text, ranks] : ranksOf) {
    absl::StrAppend(&message, "\n  rank");
    for (size_t rank : ranks)
      absl::StrAppend(&message, " ", rank);
    absl::StrAppend(&message, ": ", text);
  }
  return absl::FailedPreconditionError(message);
}

absl::StatusOr<std::string> sampleOfFile(const std::string &path) {
  constexpr int64_t kParts = 64, kPartBytes = 4096;
  SPLITCAST_ASSIGN_OR_RETURN(runtime::File file, runtime::File::openForReading(path));
  SPLITCAST_ASSIGN_OR_RETURN(int64_t size, file.sizeBytes());
  std::string sample;
  const int64_t last = std::max<int64_t>(size - kPartBytes, 0); // the begin of the last part
  for (int64_t part = 0; part < kParts; ++part) {
    std::string bytes(std::min(kPartBytes, size), '\0');
    const auto begin = static_cast<int64_t>(static_cast<__int128>(last) * part / (kParts - 1));
    SPLITCAST_RETURN_IF_ERROR(file.readAt(begin, bytes.size(), bytes.data()));
    sample += bytes;
  }
  return absl::StrCat(size, " bytes, of which a sample is ", digest(sample).substr(0, 16));
}

} // namespace splitcast
