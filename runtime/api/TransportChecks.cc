#include "runtime/api/TransportChecks.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

namespace splitcast::runtime {
absl::Status checkMessage(const Transport &transport, int64_t peer, int tag, int64_t bytes) {
  if (peer < 0 || peer >= transport.size() || peer == transport.rank())
    return absl::InvalidArgumentError(absl::StrCat("rank ", transport.rank(), " cannot exchange messages with rank ",
                                                   peer, ": peers are the other ranks of ", transport.size()));
  if (tag < 0 || tag > kMaxTag)
    return absl::InvalidArgumentError(absl::StrCat("tag ", tag, " is not in 0..", kMaxTag));
  if (bytes < 0 || bytes > kMaxMessageBytes)
    return absl::InvalidArgumentError(absl::StrCat("a message has 0 to ", kMaxMessageBytes, " bytes, not ", bytes));
  return absl::OkStatus();
}

absl::Status checkGroup(const Transport &transport, const std::vector<int64_t> &ranks) {
  for (int64_t rank : ranks)
    if (rank < 0 || rank >= transport.size())
      return absl::InvalidArgumentError(
          absl::StrCat("there is no rank ", rank, "; the ranks are 0 to ", transport.size() - 1));
  if (std::find(ranks.begin(), ranks.end(), transport.rank()) == ranks.end())
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", transport.rank(), " is not in the group that it wants to make"));
  return absl::OkStatus();
}

absl::Status wrongLength(int64_t arrived, int64_t expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("a message of ", arrived, " bytes arrived where ", expected, " were expected"));
}

std::string placeOf(const Frame &frame) {
  if (frame.session == 0)
    return "no session";
  return frame.run == 0 ? absl::StrCat("session ", frame.session, " before its first run")
                        : absl::StrCat("run ", frame.run, " of session ", frame.session);
}

absl::Status unlikeFrame(const Frame &arrived, const Frame &expected) {
  if (arrived.session != expected.session || arrived.run != expected.run)
    return absl::FailedPreconditionError(absl::StrCat("do not run the same collective (a message of ", placeOf(arrived),
                                                      " arrived where one of ", placeOf(expected), " was expected)"));
  if (arrived.site != expected.site)
    return absl::FailedPreconditionError("do not run the same collective (a message of another call arrived)");
  if (arrived.shape != expected.shape)
    return absl::FailedPreconditionError(
        "do not run the same collective (a message of the same call with other sizes arrived)");
  return absl::FailedPreconditionError("give different values to inputs of which both have the same part");
}

} // namespace splitcast::runtime
